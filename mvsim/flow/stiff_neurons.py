"""The neurons that can be stiff: the loss as a function of them alone, and the inverse of I + gamma H."""

from __future__ import annotations

import numpy as np

from mvsim.flow.base import Field
from mvsim.flow.layout import Layout
from mvsim.numerics.arrow_matrix import Curvature, Shifted
from mvsim.numerics.indexing import with_entries

JOINS = 0.8
"""Part of its threshold from which on a correlation makes its neuron stiff."""

LIFETIME = 20
"""Steps for which a Hessian is kept."""

NEAR_GAMMA = 0.25
"""Relative change of gamma up to which a factorisation serves."""


class StiffNeurons:
    """The stiff neurons of a moment, with the last Hessian and its factorisation, which serve several steps.

    Parameters
    ----------
    field : Field
        J.
    layout : Layout
        Its coordinates.
    c : numpy.ndarray
        (n,) correlations of that moment.

    Attributes
    ----------
    index : numpy.ndarray
        (s,) increasing positions of the correlations of the stiff neurons.
    mask : numpy.ndarray
        (n,) bool: the same.
    age : int
        Steps since the Hessian was made.
    gradients : int
        How many gradients were evaluated.
    """

    def __init__(self, field: Field, layout: Layout, c: np.ndarray) -> None:
        self._field, self._layout = field, layout
        self.mask = np.repeat(stiff_neurons(layout, c), layout.features)
        self.index = np.flatnonzero(self.mask)
        self._hessian: Curvature | None = None
        self._inverse: Shifted | None = None
        self.gamma, self.age, self.gradients = 0.0, 0, 0

    def is_all_at(self, c: np.ndarray) -> bool:
        """Whether no other neuron has become stiff."""
        return not (np.repeat(stiff_neurons(self._layout, c), self._layout.features) & ~self.mask).any()

    def loss_and_gradient(self, c: np.ndarray, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return J and its gradient (n,) where these neurons are at x (s,), all others as in c (n,)."""
        self.gradients += 1
        loss, gradient = self._field.loss_and_gradient(0, self._with(c, x))
        return loss, gradient.ravel()

    @property
    def is_known(self) -> bool:
        """Whether there is a Hessian that is young enough."""
        return self._hessian is not None and self.age < LIFETIME

    def forget(self) -> None:
        """Make the Hessian anew next time."""
        self._hessian = self._inverse = None

    def linearise(self, c: np.ndarray, x: np.ndarray) -> None:
        """Make the Hessian anew where these neurons are at x (s,), all others as in c (n,)."""
        self._hessian, self._inverse, self.age = self._field.curvature(self._with(c, x)), None, 0

    def _with(self, c: np.ndarray, x: np.ndarray) -> np.ndarray:
        return with_entries(c, self.index, x).reshape(self._layout.shape)

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
