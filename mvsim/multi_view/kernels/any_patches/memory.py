"""How much memory kernels for arbitrary patches take, in doubles."""

from __future__ import annotations

from mvsim.multi_view.data.memory import data_bytes, features_of_point
from mvsim.multi_view.kernels.needs import Needs, NeedsOfTest
from mvsim.multi_view.kernels.pieces import BATCH_BYTES, CACHED, LEAST_WIDTH
from mvsim.multi_view.parameters import Parameters

_BATCH = BATCH_BYTES // 8
"""Doubles in one (k, n) array of a batch of mixed points."""


def needs(p: Parameters, mixes: bool) -> Needs:
    """Return what a run of the compiled kernel takes; on each thread, of which one is counted, it has three arrays of pre-activations."""
    activations = 3 * p.N * min(p.P, max(CACHED // p.N, LEAST_WIDTH))
    return Needs(stored(p, p.N), batch(p, mixes) + activations, 0)


def needs_of_readable(p: Parameters, mixes: bool) -> Needs:
    """Return what a run of the readable kernel takes, which makes explicit patches."""
    return Needs(stored(p, p.N) + p.features * p.N * p.P, batch(p, mixes) + 8 * _batch_of_readable(p), 0)


def batch(p: Parameters, mixes: bool) -> int:
    """Return the doubles in the ten arrays of a batch of mixed points."""
    points = min(p.N * (p.N + 1) // 2, max(p.N, _BATCH // p.k)) if mixes else min(p.N, max(1, _BATCH // p.k))
    return (10 * p.k + 7) * points


def needs_of_test(p: Parameters, points: int) -> NeedsOfTest:
    """Return what outputs on fresh draws take: these stay with each view alone; while they are made, the draws with all are there too."""
    return NeedsOfTest(p.V * _features_with_one_view(p) * points * p.P, stored(p, points))


def needs_of_test_of_readable(p: Parameters, points: int) -> NeedsOfTest:
    """Return the same for the readable kernel: explicit patches stay, and nothing else; the draws are there while these are made."""
    views = p.V * (_features_with_one_view(p) * p.P if p.noise == "patch" else 2 * p.signal_patches) * points
    pre_activations = 4 * min(points * p.P * p.k * (p.V + p.m), _batch_of_readable(p))
    return NeedsOfTest(p.V * p.features * points * p.P, max(views + data_bytes(p, points) // 8, pre_activations))


def _batch_of_readable(p: Parameters) -> int:
    """Return the doubles in the patches and pre-activations of one batch of the readable kernel."""
    return max(_BATCH, p.P * p.k * (p.V + p.m))


def _features_with_one_view(p: Parameters) -> int:
    """Return how many features occur in a point with noise of each patch and one view alone of its own class."""
    return features_of_point(p) - p.V + 1


def stored(p: Parameters, points: int) -> int:
    """Return the doubles that describe points with noise of each patch."""
    return features_of_point(p) * points * p.P
