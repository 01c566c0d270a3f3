"""The memory that a kernel takes, in doubles unless bytes are named."""

from __future__ import annotations

from typing import NamedTuple

from mvsim.multi_view.parameters import Parameters

VECTORS_OF_FLOW = 32
"""Vectors of the size of the correlations that the gradient flow holds: 16 from step to step (the past, corrections, where it was linearised), and
about as many while a step is solved. Where no part of the Hessian is known, a linear system may take up to 40 more."""


class Needs(NamedTuple):
    """For one run.

    Attributes
    ----------
    stays : int
        The data, and what is laid out once.
    product : int
        What a Hessian-vector product takes on top.
    stiff_hessian : int
        What the stiff part of the Hessian takes on top, with two neurons of a class escaped.
    """

    stays: int
    product: int
    stiff_hessian: int


def bytes_on_device(needs: Needs, p: Parameters) -> int:
    """Return the bytes that a run of the flow takes on a device of its own, where it needs so much for the loss."""
    return 8 * (needs.stays + max(needs.product, needs.stiff_hessian) + VECTORS_OF_FLOW * p.features * p.k * p.m)


class NeedsOfTest(NamedTuple):
    """For outputs on fresh draws with each view alone.

    Attributes
    ----------
    stays : int
        The draws with each view alone, and what is laid out once.
    once : int
        What drawing them or an evaluation takes on top.
    """

    stays: int
    once: int
