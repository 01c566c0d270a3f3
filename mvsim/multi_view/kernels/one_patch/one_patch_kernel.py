"""The kernel for points that have one patch.

A point is then one vector x of R^F and a mixed point one vector z = lam x_i + (1 - lam) x_j. With the vectors of a batch as the rows of a sparse
matrix Z, which has at most twice as many entries in a row as a point has features,

    pre-activations   a = c Z^T              (k m, n)
    outputs           g = sum_r R(a)         (k, n)
    pull-back         (D R'(a)) Z            (k m, F)      for D (k, n) (Calculation A.6 with one patch)

If R(z) = z the outputs are linear in z too, and the cross-entropy of all pairs needs no vector z at all: see
`mvsim.multi_view.kernels.one_patch.linear_pairs`.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from mvsim.losses import AllPairs, CrossEntropy, Points, PointwiseLoss
from mvsim.losses.points import Batch
from mvsim.multi_view.activations import Activation
from mvsim.multi_view.data import Dataset
from mvsim.multi_view.kernels.base import Kernel
from mvsim.multi_view.kernels.by_batches import BatchEvaluation
from mvsim.multi_view.kernels.evaluation import Evaluation
from mvsim.multi_view.kernels.one_patch.linear_pairs import AllPairsSoftmax
from mvsim.multi_view.kernels.sums import LossSum
from mvsim.multi_view.parameters import Parameters
from mvsim.multi_view.piece_sizes import BATCH_BYTES


class OnePatchKernel(Kernel):
    """One patch in each point, any activation."""

    name = "one patch"

    def __init__(self, parameters: Parameters, data: Dataset, threads: int | None, activation: Activation) -> None:
        self.k, self.m, self.N = data.k, parameters.m, data.N
        self.activation = activation
        self.labels = data.labels
        self.x = csr_array(data.to_patches().reshape(data.N, -1))
        self._fused: dict[AllPairs, LossSum] = {}

    @property
    def features(self) -> int:
        return int(self.x.shape[1])

    def describe(self, points: Points) -> str:
        if self.activation.linear and isinstance(points, AllPairs):
            return "one patch, linear: the softmax sums of all pairs are products of two (k, N) matrices"
        return "one patch: pre-activations are products with the mixed points"

    def evaluate(self, c: np.ndarray, points: Points, v: np.ndarray | None = None) -> Evaluation:
        return _Evaluation(self, c, points, v)

    def fused_sum(self, points: Points, pointwise: PointwiseLoss) -> LossSum | None:
        if not (self.activation.linear and type(pointwise) is CrossEntropy and isinstance(points, AllPairs)):
            return None
        if points not in self._fused:
            self._fused[points] = AllPairsSoftmax(self, self.x, self.labels, points, pointwise)
        return self._fused[points]


class _Evaluation(BatchEvaluation):
    """Mixed points are the rows of a sparse matrix (n, F)."""

    def __init__(self, kernel: OnePatchKernel, c: np.ndarray, points: Points, v: np.ndarray | None) -> None:
        self._x = kernel.x
        super().__init__(kernel.labels, kernel.activation, c, points, v, BATCH_BYTES // (8 * kernel.k * kernel.m))

    def _mixed(self, batch: Batch) -> csr_array:
        return _mixing(batch, self._x.shape[0]) @ self._x

    def _pre_activations(self, z: csr_array, weights: np.ndarray) -> np.ndarray:
        k, m, F = weights.shape
        return np.ascontiguousarray((z @ weights.reshape(k * m, F).T).T).reshape(k, m, -1, 1)

    def _pulled_back(self, z: csr_array, by_pre_activation: np.ndarray) -> np.ndarray:
        k, m, n, _ = by_pre_activation.shape
        return np.asarray(z.T @ by_pre_activation.reshape(k * m, n).T).T.reshape(k, m, -1)


def _mixing(batch: Batch, N: int) -> csr_array:
    """Return the sparse (n, N) matrix that makes the mixed points out of the points; a point mixed with itself stays what it is."""
    n = len(batch.first)
    same = batch.first == batch.second
    weights = np.concatenate([np.where(same, 1.0, batch.lam), np.where(same, 0.0, 1.0 - batch.lam)])
    rows = np.tile(np.arange(n), 2)
    return csr_array((weights, (rows, np.concatenate([batch.first, batch.second]))), shape=(n, N))
