"""The cross-entropy of all N^2 pairs of a linear network, by matrix products.

Outputs g (k, N) on the points give those on mixed points: g(z_ij) = lam g_i + mu g_j with mu = 1 - lam. The exponentials factor too. With t_i the
largest output on point i,

    E[y, i] = exp(lam (g[y, i] - t_i)),     E'[y, j] = exp(mu (g[y, j] - t_j)),     Z = E^T E'      (N, N)

so that log sum_y exp g_y(z_ij) = log Z_ij + lam t_i + mu t_j and phi_y(z_ij) = E[y, i] E'[y, j] / Z_ij: 2 k N exponentials instead of k N^2, and
matrix products for the rest. With W_ij = 1 / Z_ij and n_y points of class y, the derivative by g[y, i] is

    N^2 D[y, i] = lam E (E' W^T)[y, i] + mu E' (E W)[y, i] - N (lam^2 + mu^2) 1[y_i = y] - 2 lam mu n_y,

where juxtaposed factors of the same shape are multiplied entry by entry. Along dg the mean change of the outputs of a pair is
T = (lam (E dg)^T E' + mu E^T (E' dg)) W, and

    N^2 dD = lam E (lam dg (E' W^T) + mu (E' dg) W^T - E' (W T)^T) + mu E' (mu dg (E W) + lam (E dg) W - E (W T)).

Rows of Z are formed some at a time. Where outputs are so far apart that an entry of Z could underflow, the generic sum takes over.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from mvsim.losses import AllPairs, CrossEntropy, Unmixed
from mvsim.multi_view.kernels.base import Kernel
from mvsim.multi_view.kernels.sums import GenericSum, NeuronSum, neuron_sum
from mvsim.multi_view.piece_sizes import BLOCK

LARGEST_SPREAD = 600.0
"""Differences of outputs on one point up to which Z does not underflow: its entries are then at least exp(-600)."""


class _Rows(NamedTuple):
    """Some rows of Z."""

    rows: slice  # Which
    Z: np.ndarray  # (n, N)


class _Factors(NamedTuple):
    """The exponentials of the outputs."""

    # first, second: (k, N) E and E'
    first: np.ndarray
    second: np.ndarray
    top: np.ndarray  # (N,) the largest outputs t

    def blocks(self) -> Iterator[_Rows]:
        """Yield all rows of Z."""
        N = self.first.shape[1]
        size = max(1, BLOCK // N)
        for start in range(0, N, size):
            rows = slice(start, min(start + size, N))
            yield _Rows(rows, self.first[:, rows].T @ self.second)


class AllPairsSoftmax:
    """The sum over all pairs."""

    def __init__(self, kernel: Kernel, x: csr_array, labels: np.ndarray, points: AllPairs, pointwise: CrossEntropy) -> None:
        self._kernel, self._x, self._lam = kernel, x, points.share
        self._generic = GenericSum(kernel, points, pointwise)
        N = kernel.N
        mu = 1.0 - self._lam
        self._targets = np.repeat(2.0 * self._lam * mu * np.bincount(labels, minlength=kernel.k)[:, None], N, axis=1)
        self._targets[labels, np.arange(N)] += N * (self._lam**2 + mu**2)

    def loss(self, c: np.ndarray) -> float:
        outputs = self._outputs(c)
        if _too_far_apart(outputs):
            return self._generic.loss(c)
        factors = self._factors(outputs)
        return self._loss(outputs, factors, sum(float(np.log(block.Z).sum()) for block in factors.blocks()))

    def loss_and_gradient(self, c: np.ndarray) -> tuple[float, np.ndarray]:
        outputs = self._outputs(c)
        if _too_far_apart(outputs):
            return self._generic.loss_and_gradient(c)
        E = self._factors(outputs)
        logarithms, as_first, as_second = 0.0, np.empty_like(E.first), np.zeros_like(E.first)
        for rows, Z in E.blocks():
            logarithms += float(np.log(Z).sum())
            W = 1.0 / Z
            as_first[:, rows] = E.second @ W.T
            as_second += E.first[:, rows] @ W
        N, lam = self._kernel.N, self._lam
        D = (lam * E.first * as_first + (1.0 - lam) * E.second * as_second - self._targets) / N**2
        return self._loss(outputs, E, logarithms), self._pulled_back(D, c)

    def hessian_vector_product(self, c: np.ndarray, v: np.ndarray) -> np.ndarray:
        outputs = self._outputs(c)
        if _too_far_apart(outputs):
            return self._generic.hessian_vector_product(c, v)
        E, dg, lam = self._factors(outputs), self._outputs(v), self._lam
        mu = 1.0 - lam
        dE, dF = E.first * dg, E.second * dg
        as_first, as_second = np.empty_like(dg), np.zeros_like(dg)
        for rows, Z in E.blocks():
            W = 1.0 / Z
            WT = W**2 * (lam * dE[:, rows].T @ E.second + mu * E.first[:, rows].T @ dF)
            as_first[:, rows] = lam * dg[:, rows] * (E.second @ W.T) + mu * dF @ W.T - E.second @ WT.T
            as_second += mu * dg * (E.first[:, rows] @ W) + lam * dE[:, rows] @ W - E.first[:, rows] @ WT
        return self._pulled_back((lam * E.first * as_first + mu * E.second * as_second) / self._kernel.N**2, c)

    def of_neurons(self, c: np.ndarray, neurons: np.ndarray) -> NeuronSum:
        return neuron_sum(self, c, neurons)

    def _outputs(self, c: np.ndarray) -> np.ndarray:
        """Return (k, N): g on the points, for c (k, m, F)."""
        return self._kernel.outputs(c, Unmixed())

    def _factors(self, outputs: np.ndarray) -> _Factors:
        top = outputs.max(axis=0)
        below = outputs - top
        return _Factors(np.exp(self._lam * below), np.exp((1.0 - self._lam) * below), top)

    def _loss(self, outputs: np.ndarray, factors: _Factors, logarithms: float) -> float:
        """Return the sum, given the sum of log Z over all pairs; lam t_i + mu t_j adds up to N sum_i t_i."""
        N = self._kernel.N
        return (logarithms + N * float(factors.top.sum()) - float((self._targets * outputs).sum())) / N**2

    def _pulled_back(self, D: np.ndarray, c: np.ndarray) -> np.ndarray:
        """Return (k, m, F): D (k, N) times the points, the same for every neuron of a class."""
        return np.repeat((self._x.T @ D.T).T[:, None], c.shape[1], axis=1)


def _too_far_apart(outputs: np.ndarray) -> bool:
    """Whether an entry of Z could underflow; not so for NaN, which is found later."""
    return bool(np.ptp(outputs, axis=0).max() > LARGEST_SPREAD)
