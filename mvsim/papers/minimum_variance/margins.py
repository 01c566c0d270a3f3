"""The max-margin solution of a distribution (Definition 2.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mvsim.base.errors import UsageError
from mvsim.base.inputs import check_kind
from mvsim.papers.minimum_variance.distribution import Distribution
from mvsim.papers.minimum_variance.hulls import gap_vector, margin_vector
from mvsim.papers.minimum_variance.laws import Law


@dataclass(frozen=True)
class Joint:
    """The law of (X_L, X_H), independent given y."""

    low: Law
    high: Law

    def mean(self) -> np.ndarray:
        """Return the mean."""
        return np.concatenate([self.low.mean(), self.high.mean()])

    def lowest(self, direction: np.ndarray) -> np.ndarray:
        """Return a point of the support at which the product with ``direction`` is least."""
        return np.concatenate([self.low.lowest(direction[: self.low.dimension]), self.high.lowest(direction[self.low.dimension :])])


@dataclass(frozen=True)
class MaxMargin:
    """The max-margin solution (Definition 2.2), scaled to |w| = 1.

    Attributes
    ----------
    w_L, w_H : numpy.ndarray
        The unit normal vector, in its two blocks of coordinates.
    bias : float
        0 for a hyperplane through the origin.
    margin : float
        Least y (<w, x> + bias) over the support; in the units of the data.
    """

    w_L: np.ndarray
    w_H: np.ndarray
    bias: float
    margin: float


def max_margin(distribution: Distribution, bias: bool = False) -> MaxMargin:
    """Return the max-margin solution, exact to round-off.

    Raises
    ------
    UsageError
        If no hyperplane (through the origin, unless ``bias``) separates the classes.
    """
    check_kind("distribution", distribution, Distribution, "a Distribution")
    laws = {y: Joint(distribution.L[y], distribution.H[y]) for y in (1, -1)}
    vector = gap_vector(laws) if bias else margin_vector(laws)
    length = float(np.linalg.norm(vector))
    if length == 0.0:
        raise UsageError(f"distribution: no hyperplane{'' if bias else ' through the origin'} separates the classes: there is no max-margin solution")
    w, low = vector / length, distribution.L[1].dimension
    offset = -(w @ laws[1].lowest(w) + w @ laws[-1].lowest(-w)) / 2.0 if bias else 0.0
    return MaxMargin(w[:low], w[low:], float(offset), length / 2.0 if bias else length)
