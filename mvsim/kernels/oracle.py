"""The readable kernel: the definitions written with NumPy on explicit patches. It is the oracle for the compiled kernels and takes any data.

For a batch of mixed points z (n, P, k, 2) with pre-activations a[y, r, n, p] = <w_{y,r}, z^(p)>:

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
from mvsim.kernels.kernel import Kernel
from mvsim.losses import PointwiseLoss
from mvsim.losses.points import Points, Unmixed, batches
from mvsim.parameters import Parameters

_BATCH_BYTES = 2**25


class NumpyDenseKernel(Kernel):
    """Explicit patches, batches of mixed points, no structure used."""

    name = "numpy"

    def __init__(self, parameters: Parameters, data: Dataset, threads: int | None, activation: Activation) -> None:
        self.m = parameters.m
        self.activation = activation
        self.labels = data.labels
        self.patches = data.to_patches()

    def describe(self, points: Points) -> str:
        """Say in words which algorithm serves these points."""
        return "numpy: explicit patches, the readable oracle"

    def outputs(self, c: np.ndarray) -> np.ndarray:
        """Return (k, N): g_y(x_i) on the unmixed points."""
        return np.concatenate([self._outputs(c, z) for z, _, _ in self._batches(Unmixed())], axis=1)

    def loss(self, c: np.ndarray, points: Points, pointwise: PointwiseLoss) -> float:
        """Return the weighted sum of the pointwise loss over ``points``."""
        return float(sum(weight @ pointwise.value(self._outputs(c, z), targets) for z, targets, weight in self._batches(points)))

    def loss_and_gradient(self, c: np.ndarray, points: Points, pointwise: PointwiseLoss) -> tuple[float, np.ndarray]:
        """Return the loss and its gradient by c, (k, m, k, 2)."""
        loss, gradient = 0.0, np.zeros_like(c)
        for z, targets, weight in self._batches(points):
            a = self._pre_activations(c, z)
            g = self.activation.value(a).sum(axis=(1, 3))
            loss += float(weight @ pointwise.value(g, targets))
            D = weight * pointwise.residual(g, targets)
            slope = self.activation.derivative(a)
            gradient += np.einsum("yrnp,npsl->yrsl", D[:, None, :, None] * slope, z, optimize=True)
        return loss, gradient

    def hessian_vector_product(self, c: np.ndarray, v: np.ndarray, points: Points, pointwise: PointwiseLoss) -> np.ndarray:
        """Return the derivative of the gradient along v, (k, m, k, 2)."""
        product = np.zeros_like(c)
        for z, targets, weight in self._batches(points):
            a, da = self._pre_activations(c, z), self._pre_activations(v, z)
            g = self.activation.value(a).sum(axis=(1, 3))
            slope = self.activation.derivative(a)
            dg = (slope * da).sum(axis=(1, 3))
            D = weight * pointwise.residual(g, targets)
            dD = weight * pointwise.curvature(g, targets, dg)
            bend = self.activation.second_derivative(a)
            product += np.einsum("yrnp,npsl->yrsl", dD[:, None, :, None] * slope + D[:, None, :, None] * bend * da, z, optimize=True)
        return product

    def _pre_activations(self, c: np.ndarray, z: np.ndarray) -> np.ndarray:
        k, m = c.shape[:2]
        n, P = z.shape[:2]
        return (c.reshape(k * m, -1) @ z.reshape(n * P, -1).T).reshape(k, m, n, P)

    def _outputs(self, c: np.ndarray, z: np.ndarray) -> np.ndarray:
        return self.activation.value(self._pre_activations(c, z)).sum(axis=(1, 3))

    def _batches(self, points: Points) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield (z, soft labels, weights) until all points have been visited."""
        x = self.patches
        N, P, k, _ = x.shape
        size = max(1, _BATCH_BYTES // (8 * P * k * (2 + self.m)))
        for batch in batches(points, N, size):
            for start in range(0, len(batch.first), size):
                part = slice(start, start + size)
                lam = batch.lam[part, None, None, None]
                z = lam * x[batch.first[part]] + (1.0 - lam) * x[batch.second[part]]
                yield z, batch.soft_labels(self.labels, k)[:, part], batch.weight[part]
