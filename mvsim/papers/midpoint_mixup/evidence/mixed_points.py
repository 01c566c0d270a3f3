"""Outputs on mixed points z_ij = (x_i + x_j) / 2, reduced pair by pair to the few numbers that the claims speak of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mvsim.losses import AllPairs, ListedPairs, Points
from mvsim.multi_view.kernels import Kernel
from mvsim.multi_view.kernels.finite import check_finite

ALL_PAIRS = AllPairs(0.5, both_orders=True)
"""Every ordered pair once."""


@dataclass(frozen=True, eq=False)
class MixedPoints:
    """What is kept of n mixed points z_ij, with i in N_y and j in N_s; every array is (n,). The order is the same for every c."""

    y: np.ndarray  # classes of the first and the second point; they may be equal
    s: np.ndarray
    own: np.ndarray  # g_y(z_ij) and g_s(z_ij)
    other: np.ndarray
    rest_max: np.ndarray  # the largest g_u(z_ij) with u neither y nor s, -inf if there is no such u
    rest: np.ndarray  # log sum_{u != y} exp g_u(z_ij)

    @property
    def crossed(self) -> np.ndarray:
        """(n,) bool: the two points are of different classes."""
        return self.y != self.s

    @property
    def own_gap(self) -> np.ndarray:
        """(n,): 1 - phi_y(g(z_ij)), without cancellation; A_2 of Equation B.29 on pairs of one class."""
        return np.exp(self.rest - np.logaddexp(self.rest, self.own))

    @property
    def balance(self) -> np.ndarray:
        """(n,): 1 - 2 phi_y(g(z_ij)) = (rest - own) / (rest + own) in exponentials; A_1 of Equation B.28."""
        return np.tanh(0.5 * (self.rest - self.own))

    @property
    def others_balance(self) -> np.ndarray:
        """(n,): the least 1 - 2 phi_u(g(z_ij)) over u neither y nor s; 1 if there is none."""
        return 1.0 - 2.0 * np.exp(self.rest_max - np.logaddexp(self.rest, self.own))


def all_mixed_points(kernel: Kernel, labels: np.ndarray, c: np.ndarray) -> MixedPoints:
    """Return the N^2 ordered pairs at correlations c (k, m, k, V)."""
    return _reduced(kernel, labels, c, ALL_PAIRS)


def listed_mixed_points(kernel: Kernel, labels: np.ndarray, c: np.ndarray, first: np.ndarray, second: np.ndarray) -> MixedPoints:
    """Return the pairs (first, second), (n,) indices each, in that order."""
    return _reduced(kernel, labels, c, ListedPairs(first, second, np.full(len(first), 0.5)))


def _reduced(kernel: Kernel, labels: np.ndarray, c: np.ndarray, points: Points) -> MixedPoints:
    with np.errstate(over="ignore", invalid="ignore"):  # what is wrong is said below
        evaluation = kernel.evaluate(c.reshape(kernel.k, kernel.m, -1), points)
        parts = [_of_outputs(evaluation.outputs(batch), labels[batch.first], labels[batch.second]) for batch in evaluation.batches()]
    mixed = MixedPoints(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
    check_finite("outputs of mixed points are", c, mixed.own, mixed.other, mixed.rest)
    return mixed


def _of_outputs(outputs: np.ndarray, y: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the arrays of `MixedPoints` for outputs (k, n) and the classes y and s (n,) of the two points."""
    columns = np.arange(outputs.shape[1])
    own, other = outputs[y, columns], outputs[s, columns]
    left = outputs.copy()
    left[y, columns] = -np.inf
    top = left.max(axis=0)
    rest = top + np.log(np.exp(left - top).sum(axis=0))
    left[s, columns] = -np.inf
    return y, s, own, other, left.max(axis=0), rest
