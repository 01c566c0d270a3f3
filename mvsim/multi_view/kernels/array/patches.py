"""Points of any patches: explicit patches, and every product a matrix product.

For a batch of mixed points with patches z (n, P, F), all of them as rows,

    pre-activations   a = z c^T                        (n P, k m)
    outputs           g[y, n] = sum_{r, p} R(a)
    pull-back         (D[y, n] R'(a))^T z              (k m, F)                                                          (Calculation A.6)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from mvsim.losses import Points, PointwiseLoss
from mvsim.multi_view.activations import Activation
from mvsim.multi_view.data import Dataset
from mvsim.multi_view.kernels.array.device import Device
from mvsim.multi_view.kernels.evaluation import Evaluation
from mvsim.multi_view.kernels.sums import WholeSum


class Patches(NamedTuple):
    """Some mixed points, as `mvsim.losses.points.Batch`, with weights and soft labels on the device and z (n P, F)."""

    first: np.ndarray
    second: np.ndarray
    weight: Any
    targets: Any
    z: Any


class PatchNetwork:
    """The network on points of any patches."""

    def __init__(self, device: Device, data: Dataset, m: int, activation: Activation) -> None:
        self.device, self.activation = device, activation.elementwise(device.xp)
        self.k, self.m, self.N, self.P = data.k, m, data.N, data.P
        self.features = len(data.feature_class)
        self._labels = data.labels
        self._x = device.put(data.to_patches().reshape(data.N, data.P, -1))

    def describe(self, points: Points) -> str:
        """Say in words which algorithm serves these points."""
        return "explicit patches, products of matrices"

    def with_neurons(self, m: int) -> None:
        """See `mvsim.multi_view.kernels.base.Kernel`."""

    def evaluate(self, c: Any, points: Points, v: Any = None) -> Evaluation:
        """Evaluate the network at c (k, m, F), and along v if it is given; all arrays are on the device."""
        return _Evaluation(self, c, points, v)

    def fused_sum(self, points: Points, pointwise: PointwiseLoss) -> WholeSum | None:
        """Return None: there is no other way than the generic sum."""
        return None

    def batches(self, points: Points) -> Iterator[Patches]:
        """Mix points in batches."""
        xp, device = self.device.xp, self.device
        size = max(1, device.tile_bytes // (8 * self.P * (self.features + self.k * self.m)))
        for large in points.batches(self.N, size):
            for start in range(0, len(large.first), size):
                batch = large.part(slice(start, start + size))
                lam = device.put(batch.lam)[:, None, None]
                x, other = (xp.take(self._x, device.put(index), axis=0) for index in (batch.first, batch.second))
                z = xp.reshape(lam * x + (1.0 - lam) * other, (-1, self.features))
                yield Patches(batch.first, batch.second, device.put(batch.weight), device.put(batch.soft_labels(self._labels, self.k)), z)


class _Evaluation(Evaluation):
    """Pre-activations are formed when they are asked for."""

    def __init__(self, network: PatchNetwork, c: Any, points: Points, v: Any) -> None:
        self._of, self._xp, self._points = network, network.device.xp, points
        self._shape = c.shape
        self._c = self._xp.reshape(c, (-1, c.shape[2]))
        self._v = None if v is None else self._xp.reshape(v, (-1, c.shape[2]))
        self._gradient = network.device.zeros(*self._c.shape)

    def batches(self) -> Iterator[Patches]:
        for batch in self._of.batches(self._points):
            self._a = self._pre_activations(self._c, batch)
            self._da = None if self._v is None else self._pre_activations(self._v, batch)
            yield batch

    def targets(self, batch: Patches) -> Any:
        return batch.targets

    def outputs(self, batch: Patches) -> Any:
        return self._summed(self._of.activation.value(self._a))

    def tangents(self, batch: Patches) -> Any:
        return self._summed(self._of.activation.slope(self._a) * self._da)

    def pull_back(self, batch: Patches, residual: Any) -> None:
        self._add(batch, self._of_points(residual) * self._of.activation.slope(self._a))

    def pull_back_tangent(self, batch: Patches, residual: Any, change: Any) -> None:
        slope, bend = self._of.activation.slope(self._a), self._of.activation.bend(self._a)
        self._add(batch, self._of_points(change) * slope + self._of_points(residual) * bend * self._da)

    def gradient(self) -> Any:
        return self._xp.reshape(self._gradient, self._shape)

    def _pre_activations(self, weights: Any, batch: Patches) -> Any:
        """Return (n, P, k, m)."""
        return self._xp.reshape(self._xp.matmul(batch.z, self._xp.matrix_transpose(weights)), (-1, self._of.P, self._of.k, self._of.m))

    def _summed(self, values: Any) -> Any:
        return self._xp.matrix_transpose(self._xp.sum(values, axis=(1, 3)))

    def _of_points(self, residual: Any) -> Any:
        """Return (n, 1, k, 1) for (k, n)."""
        return self._xp.matrix_transpose(residual)[:, None, :, None]

    def _add(self, batch: Patches, by_pre_activation: Any) -> None:
        rows = self._xp.reshape(by_pre_activation, (batch.z.shape[0], -1))
        self._gradient = self._gradient + self._xp.matmul(self._xp.matrix_transpose(rows), batch.z)
