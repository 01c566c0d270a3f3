"""Outputs on mixed points z_ij = (x_i + x_j) / 2, reduced pair by pair to the few numbers that the claims speak of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mvsim.kernels import Kernel
from mvsim.losses import AllPairs, ListedPairs

ALL_PAIRS = AllPairs(float(np.nextafter(0.5, 1.0)))
"""Every ordered pair once. At 1/2 exactly a kernel visits i <= j only, and a pointwise loss could not tell which pairs it was shown in vain.

The weights differ from 1/2 by one unit of round-off, which also tells the first point of a pair from the second.
"""


@dataclass(frozen=True, eq=False)
class MixedPoints:
    """What is kept of n mixed points z_ij, with i in N_y and j in N_s; every array is (n,). The order is the same for every c.

    Attributes
    ----------
    y, s : numpy.ndarray
        Classes of the first and the second point; they may be equal.
    own, other : numpy.ndarray
        g_y(z_ij) and g_s(z_ij).
    rest_max : numpy.ndarray
        The largest g_u(z_ij) with u neither y nor s, -inf if there is no such u.
    rest : numpy.ndarray
        log sum_{u != y} exp g_u(z_ij).
    """

    y: np.ndarray
    s: np.ndarray
    own: np.ndarray
    other: np.ndarray
    rest_max: np.ndarray
    rest: np.ndarray

    @property
    def crossed(self) -> np.ndarray:
        """(n,) bool: the two points are of different classes."""
        return self.y != self.s

    @property
    def own_gap(self) -> np.ndarray:
        """(n,): 1 - phi_y(g(z_ij)), without cancellation; A_2 of Equation B.29 on pairs of one class."""
        return _share(self.rest, self.own)

    @property
    def balance(self) -> np.ndarray:
        """(n,): 1 - 2 phi_y(g(z_ij)) = (rest - own) / (rest + own) in exponentials; A_1 of Equation B.28."""
        return np.tanh(0.5 * (self.rest - self.own))

    @property
    def others_balance(self) -> np.ndarray:
        """(n,): the least 1 - 2 phi_u(g(z_ij)) over u neither y nor s; 1 if there is none."""
        return 1.0 - 2.0 * np.exp(self.rest_max - np.logaddexp(self.rest, self.own))


def all_mixed_points(kernel: Kernel, c: np.ndarray) -> MixedPoints:
    """Return the N^2 ordered pairs at correlations c (k, m, k, 2)."""
    probe = _Reducer()
    kernel.loss(c, ALL_PAIRS, probe)
    return probe.found()


def listed_mixed_points(kernel: Kernel, c: np.ndarray, first: np.ndarray, second: np.ndarray) -> MixedPoints:
    """Return the pairs (first, second), (n,) indices each, in that order."""
    probe = _Reducer()
    kernel.loss(c, ListedPairs(first, second, np.full(len(first), ALL_PAIRS.lam)), probe)
    return probe.found()


class _Reducer:
    """A pointwise loss that is always 0 and takes notes: kernels show it the outputs of every point, block by block."""

    def __init__(self) -> None:
        self._parts: list[tuple[np.ndarray, ...]] = []

    def value(self, outputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Reduce the columns of outputs (k, n), whose soft labels (k, n) name the classes of the two points."""
        columns = np.arange(outputs.shape[1])
        y = targets.argmax(axis=0)
        lesser = targets.copy()
        lesser[y, columns] = 0.0
        s = np.where(lesser.max(axis=0) > 0.0, lesser.argmax(axis=0), y)
        own, other = outputs[y, columns], outputs[s, columns]
        left = outputs.copy()
        left[y, columns] = -np.inf
        top = left.max(axis=0)
        rest = top + np.log(np.exp(left - top).sum(axis=0))
        left[s, columns] = -np.inf
        self._parts.append((y, s, own, other, left.max(axis=0), rest))
        return np.zeros(outputs.shape[1])

    def residual(self, outputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Return zeros: the derivative of nothing."""
        return np.zeros_like(outputs)

    def curvature(self, outputs: np.ndarray, targets: np.ndarray, tangent: np.ndarray) -> np.ndarray:
        """Return zeros."""
        return np.zeros_like(outputs)

    def found(self) -> MixedPoints:
        return MixedPoints(*(np.concatenate(arrays) for arrays in zip(*self._parts, strict=True)))


def _share(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return exp(a) / (exp(a) + exp(b))."""
    return np.exp(a - np.logaddexp(a, b))
