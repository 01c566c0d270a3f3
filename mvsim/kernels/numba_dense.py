"""The compiled kernel for arbitrary patches: streams over neurons and batches of points, so its memory is bounded whatever the number of pairs.

For one neuron (y, r) the pre-activations of all patches are a[i, p] = <w_{y,r}, x_i^(p)>, an (N, P) array, and every mixed point needs
sum_p R(lam a[i, p] + (1 - lam) a[j, p]). The pre-activations are formed again for each batch, once for the outputs and once for the
gradient: 2k multiply-adds where each point of the batch costs P activations.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mvsim.data import Dataset
from mvsim.kernels import _compiled as compiled
from mvsim.kernels.base import Kernel, PointwiseLoss
from mvsim.kernels.points import Batch, Points, Unmixed, batches
from mvsim.kernels.threads import check_threads, run_ranges
from mvsim.parameters import Parameters

_BATCH_BYTES = 2**25


class NumbaDenseKernel(Kernel):
    """Any patches, in bounded memory."""

    name = "dense"

    def __init__(self, parameters: Parameters, data: Dataset, threads: int | None) -> None:
        self.labels = data.labels
        patches = data.to_patches()
        self.N, self.P, self.k = patches.shape[:3]
        self.threads = check_threads(threads, self.N * self.P * self.k * parameters.m)
        self._x = patches.reshape(self.N * self.P, 2 * self.k)
        self._size = max(1, _BATCH_BYTES // (8 * self.k))
        self._activation = (parameters.rho, parameters.alpha, compiled.power_tag(parameters.alpha))

    def describe(self, points: Points) -> str:
        """Say in words which algorithm serves these points."""
        return f"numba: arbitrary patches, streamed over neurons in batches of up to {max(self._size, self.N)} mixed points"

    def outputs(self, c: np.ndarray) -> np.ndarray:
        """Return (k, N): g_y(x_i) on the unmixed points."""
        return np.concatenate([self._values(c, batch) for batch in batches(Unmixed(), self.N, self._size)], axis=1)

    def loss(self, c: np.ndarray, points: Points, pointwise: PointwiseLoss) -> float:
        """Return the weighted sum of the pointwise loss over ``points``."""
        total = 0.0
        for batch in batches(points, self.N, self._size):
            total += float(batch.weight @ pointwise.value(self._values(c, batch), batch.soft_labels(self.labels, self.k)))
        return total

    def loss_and_gradient(self, c: np.ndarray, points: Points, pointwise: PointwiseLoss) -> tuple[float, np.ndarray]:
        """Return the loss and its gradient by c, (k, m, k, 2)."""
        loss, gradient = 0.0, np.zeros_like(c)
        for batch in batches(points, self.N, self._size):
            g, targets = self._values(c, batch), batch.soft_labels(self.labels, self.k)
            loss += float(batch.weight @ pointwise.value(g, targets))
            self._add_pull_back(c, batch, batch.weight * pointwise.residual(g, targets), gradient)
        return loss, gradient

    def hessian_vector_product(self, c: np.ndarray, v: np.ndarray, points: Points, pointwise: PointwiseLoss) -> np.ndarray:
        """Return the derivative of the gradient along v, (k, m, k, 2)."""
        product = np.zeros_like(c)
        for batch in batches(points, self.N, self._size):
            g, dg, targets = self._values(c, batch), self._tangents(c, v, batch), batch.soft_labels(self.labels, self.k)
            D, dD = batch.weight * pointwise.residual(g, targets), batch.weight * pointwise.curvature(g, targets, dg)
            self._add_pull_back_tangent(c, v, batch, D, dD, product)
        return product

    def _values(self, c: np.ndarray, batch: Batch) -> np.ndarray:
        """Return (k, n): the outputs on a batch."""
        g = np.zeros((self.k, len(batch.first)))

        def add(y: int, r: int, a: np.ndarray) -> None:
            compiled.mixed_values(a, batch.first, batch.second, batch.lam, g[y], *self._activation)

        self._for_each_neuron(add, c)
        return g

    def _tangents(self, c: np.ndarray, v: np.ndarray, batch: Batch) -> np.ndarray:
        """Return (k, n): the derivative of the outputs along v."""
        dg = np.zeros((self.k, len(batch.first)))

        def add(y: int, r: int, a: np.ndarray, da: np.ndarray) -> None:
            compiled.mixed_tangents(a, da, batch.first, batch.second, batch.lam, dg[y], *self._activation)

        self._for_each_neuron(add, c, v)
        return dg

    def _add_pull_back(self, c: np.ndarray, batch: Batch, D: np.ndarray, gradient: np.ndarray) -> None:
        """Add the adjoint of `_values` at D (k, n) to gradient."""

        def add(y: int, r: int, a: np.ndarray) -> None:
            out = np.zeros_like(a)
            compiled.mixed_pull_back(a, batch.first, batch.second, batch.lam, D[y], out, *self._activation)
            gradient[y, r] += (out.ravel() @ self._x).reshape(self.k, 2)

        self._for_each_neuron(add, c)

    def _add_pull_back_tangent(self, c: np.ndarray, v: np.ndarray, batch: Batch, D: np.ndarray, dD: np.ndarray, product: np.ndarray) -> None:
        """Add the derivative of `_add_pull_back` along (v, dD) to product."""

        def add(y: int, r: int, a: np.ndarray, da: np.ndarray) -> None:
            out = np.zeros_like(a)
            compiled.mixed_pull_back_tangent(a, da, batch.first, batch.second, batch.lam, D[y], dD[y], out, *self._activation)
            product[y, r] += (out.ravel() @ self._x).reshape(self.k, 2)

        self._for_each_neuron(add, c, v)

    def _for_each_neuron(self, work: Callable[..., None], *weights: np.ndarray) -> None:
        """Call work(y, r, a, ...) with the pre-activations (N, P) of every neuron under each of the weights; a thread owns whole classes."""

        def classes(y0: int, y1: int) -> None:
            for y in range(y0, y1):
                for r in range(weights[0].shape[1]):
                    work(y, r, *((self._x @ w[y, r].ravel()).reshape(self.N, self.P) for w in weights))

        run_ranges(self.k, self.threads, classes)
