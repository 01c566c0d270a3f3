"""The neurons that can be stiff: the loss as a function of them alone, and the inverse of I + gamma H."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mvsim.flow.base import Field
from mvsim.flow.layout import Layout
from mvsim.numerics.arrow_matrix import Curvature, Shifted

JOINS = 0.8
"""Part of its threshold from which on a correlation makes its neuron stiff."""

LIFETIME = 20
"""Steps for which a Hessian is kept."""

NEAR_GAMMA = 0.25
"""Relative change of gamma up to which a factorisation serves."""


class StiffNeurons:
    """Those of a moment; it keeps the last Hessian and its factorisation from step to step.

    Parameters
    ----------
    field : Field
        J.
    layout : Layout
        Its coordinates.
    c : numpy.ndarray
        (n,) where. All other neurons stay there.

    Attributes
    ----------
    index : numpy.ndarray
        (s,) increasing positions of the correlations of the stiff neurons.
    mask : numpy.ndarray
        (n,) bool: the same.
    age : int
        Steps since the Hessian was made.
    gradients, curvatures : int
        How many were evaluated.
    """

    def __init__(self, field: Field, layout: Layout, c: np.ndarray) -> None:
        self._field, self._layout = field, layout
        self.mask = np.repeat(stiff_neurons(layout, c), layout.features)
        self.index = np.flatnonzero(self.mask)
        self._gradient = _restricted(field, layout, c, self.index) if self.index.size else None
        self._hessian: Curvature | None = None
        self._inverse: Shifted | None = None
        self.gamma, self.age, self.gradients, self.curvatures = 0.0, 0, 0, 0

    def is_all_at(self, c: np.ndarray) -> bool:
        """Whether no other neuron has become stiff."""
        return not (np.repeat(stiff_neurons(self._layout, c), self._layout.features) & ~self.mask).any()

    def loss_and_gradient(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return J and its gradient (s,) where they are at x (s,)."""
        self.gradients += 1
        assert self._gradient is not None
        return self._gradient(x)

    @property
    def is_known(self) -> bool:
        """Whether there is a Hessian that is young enough."""
        return self._hessian is not None and self.age < LIFETIME

    def forget(self) -> None:
        """Make the Hessian anew next time."""
        self._hessian = self._inverse = None

    def linearise(self, c: np.ndarray, x: np.ndarray) -> None:
        """Make the Hessian anew at c with x in its place."""
        there = c.copy()
        there[self.index] = x
        self.curvatures += 1
        self._hessian, self._inverse, self.age = self._field.curvature(there.reshape(self._layout.shape)), None, 0

    def solve(self, r: np.ndarray, gamma: float, near: float = NEAR_GAMMA) -> np.ndarray:
        """Return (I + gamma' H)^-1 r, with gamma' within the part ``near`` of gamma."""
        assert self._hessian is not None
        if self._inverse is None or abs(gamma / self.gamma - 1.0) > near:
            self._inverse, self.gamma = self._hessian.shifted(gamma).within(self.index), gamma
        return self._inverse.solve(r)

    def doubt(self, gamma: float) -> float:
        """Return by what part of it a correction may be wrong."""
        return 0.05 + abs(gamma / self.gamma - 1.0) + 0.005 * self.age


def stiff_neurons(layout: Layout, c: np.ndarray) -> np.ndarray:
    """Return (k m,) bool: whether any correlation of each neuron has nearly escaped."""
    return np.asarray(np.any((c > JOINS * layout.threshold).reshape(-1, layout.features), axis=1))


def _restricted(field: Field, layout: Layout, c: np.ndarray, index: np.ndarray) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    """Return J and its gradient as functions of some coordinates, which the field's part contains if it has one."""
    if field.part is None:
        positions, inner = np.arange(layout.size), lambda x: _flat(field.loss_and_gradient(0, x.reshape(layout.shape)))
    else:
        part = field.part(c.reshape(layout.shape))
        positions, inner = part.positions, part.loss_and_gradient
    order = np.argsort(positions, kind="stable")
    places, rest = order[np.searchsorted(positions, index, sorter=order)], c[positions]

    def loss_and_gradient(x: np.ndarray) -> tuple[float, np.ndarray]:
        whole = rest.copy()
        whole[places] = x
        loss, gradient = inner(whole)
        return loss, gradient[places]

    return loss_and_gradient


def _flat(result: tuple[float, np.ndarray]) -> tuple[float, np.ndarray]:
    return result[0], result[1].ravel()
