"""The compiled kernel for arbitrary patches: streams over neurons and batches of mixed points, so its memory is bounded whatever the number of pairs.

For one neuron (y, r) the pre-activations of all patches are a[i, p] = <w_{y,r}, x_i^(p)>, and every mixed point needs
sum_p R(lam a[i, p] + (1 - lam) a[j, p]). They are formed again for each batch, once for the outputs and once for the gradient: a point has
few features (`PatchDataset`), and each of them costs a multiply-add where each mixed point of the batch costs an activation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from mvsim.data import Dataset, PatchDataset
from mvsim.kernels import _mixed as compiled
from mvsim.kernels._compiled import power_tag
from mvsim.kernels.base import Kernel, PointwiseLoss
from mvsim.kernels.points import Batch, Points, Unmixed, batches
from mvsim.kernels.threads import check_threads, run_ranges
from mvsim.parameters import Parameters

_BATCH_BYTES = 2**25

_CACHED = 2**17
"""Pre-activations of a neuron (1 MiB) that the loops go over at a time."""

_WIDTHS = (64, 256)
"""Patches at a time, at least and at most: below, the loops are too short; above, there is nothing to gain."""


class NumbaDenseKernel(Kernel):
    """Any patches, in bounded memory."""

    name = "dense"

    def __init__(self, parameters: Parameters, data: Dataset, threads: int | None) -> None:
        if not isinstance(data, PatchDataset):
            data = Dataset.from_patches(data.labels, data.to_patches())
        self.labels, self.N, self.k = data.labels, data.N, data.k
        self.threads = check_threads(threads, data.N * data.P * data.k * parameters.m)
        self._points = (data.point, data.feature, data.rows), data.N, _width(data.N, data.P)
        self._size = max(1, _BATCH_BYTES // (8 * self.k))
        self._rho, self._alpha, self._power = parameters.rho, parameters.alpha, power_tag(parameters.alpha)

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
        loss, gradient = 0.0, np.zeros(c.shape)
        for batch in batches(points, self.N, self._size):
            g, targets = self._values(c, batch), batch.soft_labels(self.labels, self.k)
            loss += float(batch.weight @ pointwise.value(g, targets))
            self._add_pull_back(c, batch, batch.weight * pointwise.residual(g, targets), gradient)
        return loss, gradient

    def hessian_vector_product(self, c: np.ndarray, v: np.ndarray, points: Points, pointwise: PointwiseLoss) -> np.ndarray:
        """Return the derivative of the gradient along v, (k, m, k, 2)."""
        product = np.zeros(c.shape)
        for batch in batches(points, self.N, self._size):
            g, dg, targets = self._values(c, batch), self._tangents(c, v, batch), batch.soft_labels(self.labels, self.k)
            D, dD = batch.weight * pointwise.residual(g, targets), batch.weight * pointwise.curvature(g, targets, dg)
            self._add_pull_back_tangent(c, v, batch, D, dD, product)
        return product

    def _values(self, c: np.ndarray, batch: Batch) -> np.ndarray:
        """Return (k, n): the outputs on a batch."""
        g = np.zeros((self.k, len(batch.first)))
        self._run(compiled.mixed_values, self._scaled(c), *self._points, self._pairs(batch), g, self._alpha, self._power)
        return self._rho * g

    def _tangents(self, c: np.ndarray, v: np.ndarray, batch: Batch) -> np.ndarray:
        """Return (k, n): the derivative of the outputs along v."""
        dg = np.zeros((self.k, len(batch.first)))
        self._run(compiled.mixed_tangents, self._scaled(c), self._scaled(v), *self._points, self._pairs(batch), dg, self._power)
        return self._rho * dg

    def _add_pull_back(self, c: np.ndarray, batch: Batch, D: np.ndarray, gradient: np.ndarray) -> None:
        """Add the adjoint of `_values` at D (k, n) to gradient."""
        of_features = gradient.reshape(self.k, -1, 2 * self.k)
        self._run(compiled.mixed_pull_back, self._scaled(c), *self._points, self._pairs(batch), D, of_features, self._power)

    def _add_pull_back_tangent(self, c: np.ndarray, v: np.ndarray, batch: Batch, D: np.ndarray, dD: np.ndarray, product: np.ndarray) -> None:
        """Add the derivative of `_add_pull_back` along (v, dD) to product."""
        of_features = product.reshape(self.k, -1, 2 * self.k)
        weights = self._scaled(c), self._scaled(v)
        self._run(compiled.mixed_pull_back_tangent, *weights, *self._points, self._pairs(batch), D, dD, of_features, self._alpha, self._power)

    def _scaled(self, c: np.ndarray) -> np.ndarray:
        """Return (k, m, 2k): the correlations in units of rho."""
        return np.ascontiguousarray(c).reshape(self.k, -1, 2 * self.k) / self._rho

    def _pairs(self, batch: Batch) -> tuple[np.ndarray, ...]:
        """Return (near, far, ratio, share, scale) of `mvsim.kernels._mixed`."""
        second_is_near = batch.lam < 0.5
        near, far = np.where(second_is_near, batch.second, batch.first), np.where(second_is_near, batch.first, batch.second)
        share, other = np.where(second_is_near, (1.0 - batch.lam, batch.lam), (batch.lam, 1.0 - batch.lam))
        return near, far, other / share, share, share**self._alpha

    def _run(self, loop: Callable[..., None], *arguments: Any) -> None:
        """Call a loop on all classes; a thread owns whole classes."""
        run_ranges(self.k, self.threads, lambda y0, y1: loop(y0, y1, *arguments))


def _width(N: int, P: int) -> int:
    """Return how many patches to take at a time, about the same each time."""
    least, most = _WIDTHS
    return math.ceil(P / math.ceil(P / min(max(_CACHED // N, least), most)))
