"""The readable kernel: the definitions written with NumPy on explicit patches. It is the oracle for the compiled kernels and takes any data.

`mvsim.multi_view.kernels.by_batches` has the formulas of the outputs, of the gradient and of the Hessian.
"""

from __future__ import annotations

import numpy as np

from mvsim.losses import Points
from mvsim.losses.points import Batch
from mvsim.multi_view.activations import Activation
from mvsim.multi_view.data import Dataset
from mvsim.multi_view.kernels.base import Kernel
from mvsim.multi_view.kernels.by_batches import BatchEvaluation
from mvsim.multi_view.kernels.evaluation import Evaluation
from mvsim.multi_view.parameters import Parameters
from mvsim.multi_view.piece_sizes import BATCH_BYTES


class OracleKernel(Kernel):
    """Explicit patches, batches of mixed points, no structure used."""

    name = "numpy"

    def __init__(self, parameters: Parameters, data: Dataset, threads: int | None, activation: Activation) -> None:
        self.k, self.m, self.N = parameters.k, parameters.m, data.N
        self.activation = activation
        self.labels = data.labels
        self.patches = data.to_patches().reshape(data.N, data.P, -1)

    @property
    def features(self) -> int:
        return self.patches.shape[2]

    def describe(self, points: Points) -> str:
        return "numpy: explicit patches, the readable oracle"

    def evaluate(self, c: np.ndarray, points: Points, v: np.ndarray | None = None) -> Evaluation:
        return _Evaluation(self, c, points, v)


class _Evaluation(BatchEvaluation):
    """Mixed points are arrays z (n, P, F)."""

    def __init__(self, kernel: OracleKernel, c: np.ndarray, points: Points, v: np.ndarray | None) -> None:
        self._patches = kernel.patches
        _, P, F = kernel.patches.shape
        super().__init__(kernel.labels, kernel.activation, c, points, v, BATCH_BYTES // (8 * P * (F + kernel.k * kernel.m)))

    def _mixed(self, batch: Batch) -> np.ndarray:
        lam, x = batch.lam[:, None, None], self._patches
        return np.asarray(lam * x[batch.first] + (1.0 - lam) * x[batch.second])

    def _pre_activations(self, z: np.ndarray, weights: np.ndarray) -> np.ndarray:
        k, m, F = weights.shape
        n, P, _ = z.shape
        return (weights.reshape(k * m, F) @ z.reshape(n * P, F).T).reshape(k, m, n, P)

    def _pulled_back(self, z: np.ndarray, by_pre_activation: np.ndarray) -> np.ndarray:
        return np.asarray(np.einsum("yrnp,npf->yrf", by_pre_activation, z, optimize=True))
