"""The readable kernel: the definitions written with NumPy on explicit patches. It is the oracle for the compiled kernels and takes any data.

For a batch of mixed points z (n, P, F) with pre-activations a[y, r, n, p] = <w_{y,r}, z^(p)>:

    outputs    g_y(z)                 = sum_r sum_p R(a[y, r, n, p])
    gradient   sum_n D[y, n] dg_y/dc  = sum_n sum_p D[y, n] R'(a[y, r, n, p]) z[n, p]                                    (Calculation A.6)
    Hessian    its derivative along v = sum_n sum_p (dD R'(a) + D R''(a) da) z[n, p],  da = <v_{y,r}, z^(p)>

where D[y, n] is the derivative of the weighted loss by g_y(z_n) (Calculations A.9, A.10) and dD its derivative along the change of outputs.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mvsim.activations import Activation
from mvsim.data import Dataset
from mvsim.kernels.kernel import Evaluation, Kernel
from mvsim.kernels.pieces import BATCH_BYTES
from mvsim.losses import Points
from mvsim.losses.points import Batch
from mvsim.parameters import Parameters


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
        """The number F of features."""
        return self.patches.shape[2]

    def describe(self, points: Points) -> str:
        """Say in words which algorithm serves these points."""
        return "numpy: explicit patches, the readable oracle"

    def evaluate(self, c: np.ndarray, points: Points, v: np.ndarray | None = None) -> Evaluation:
        """Evaluate the network at c (k, m, F), and along v if it is given."""
        return _Evaluation(self, c, points, v)


class _Evaluation(Evaluation):
    """What is wanted of the current batch only is in memory: its patches z and pre-activations a and da."""

    def __init__(self, kernel: OracleKernel, c: np.ndarray, points: Points, v: np.ndarray | None) -> None:
        self._kernel, self._c, self._points, self._v = kernel, c, points, v
        self._activation = kernel.activation
        self._gradient = np.zeros_like(c)

    def batches(self) -> Iterator[Batch]:
        """Yield batches and form their pre-activations."""
        x = self._kernel.patches
        N, P, F = x.shape
        size = max(1, BATCH_BYTES // (8 * P * (F + self._kernel.k * self._kernel.m)))
        for large in self._points.batches(N, size):
            for start in range(0, len(large.first), size):
                batch = large.part(slice(start, start + size))
                lam = batch.lam[:, None, None]
                self._z = lam * x[batch.first] + (1.0 - lam) * x[batch.second]
                self._a = self._pre_activations(self._c)
                if self._v is not None:
                    self._da = self._pre_activations(self._v)
                yield batch

    def targets(self, batch: Batch) -> np.ndarray:
        """Return (k, n): the soft labels."""
        return batch.soft_labels(self._kernel.labels, self._kernel.k)

    def outputs(self, batch: Batch) -> np.ndarray:
        """Return (k, n): the outputs."""
        return self._activation.value(self._a).sum(axis=(1, 3))

    def tangents(self, batch: Batch) -> np.ndarray:
        """Return (k, n): the derivative of the outputs along v."""
        return (self._activation.derivative(self._a) * self._da).sum(axis=(1, 3))

    def pull_back(self, batch: Batch, residual: np.ndarray) -> None:
        """Add the adjoint of `outputs` at residual (k, n)."""
        self._add(residual[:, None, :, None] * self._activation.derivative(self._a))

    def pull_back_tangent(self, batch: Batch, residual: np.ndarray, change: np.ndarray) -> None:
        """Add the derivative of `pull_back` along (v, change)."""
        slope, bend = self._activation.derivative(self._a), self._activation.second_derivative(self._a)
        self._add(change[:, None, :, None] * slope + residual[:, None, :, None] * bend * self._da)

    def gradient(self) -> np.ndarray:
        """Return (k, m, F): the sum of what has been pulled back."""
        return self._gradient

    def _add(self, by_pre_activation: np.ndarray) -> None:
        self._gradient += np.einsum("yrnp,npf->yrf", by_pre_activation, self._z, optimize=True)

    def _pre_activations(self, weights: np.ndarray) -> np.ndarray:
        k, m, F = weights.shape
        n, P, _ = self._z.shape
        return (weights.reshape(k * m, F) @ self._z.reshape(n * P, F).T).reshape(k, m, n, P)
