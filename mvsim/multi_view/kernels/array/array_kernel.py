"""The kernels of this package: a network on a device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mvsim.losses import Points, PointwiseLoss
from mvsim.multi_view.activations import Activation
from mvsim.multi_view.data import Dataset
from mvsim.multi_view.kernels.array.network import SharedNoiseNetwork, outputs_on_data
from mvsim.multi_view.kernels.array.patches import PatchNetwork
from mvsim.multi_view.kernels.base import Evaluation, Kernel
from mvsim.multi_view.kernels.devices import Device, gpu, host
from mvsim.multi_view.kernels.sums import GenericSum, LossSum
from mvsim.multi_view.parameters import Parameters
from mvsim.numerics.arrow_matrix import Curvature


class ArrayPatchesKernel(Kernel):
    """Any patches, on NumPy."""

    name = "array, any patches"
    network: PatchNetwork | SharedNoiseNetwork

    def __init__(self, parameters: Parameters, data: Dataset, threads: int | None, activation: Activation) -> None:
        self.k, self.m, self.N = data.k, parameters.m, data.N
        self.activation = activation
        self.network = self._network_of(data)

    def _network_of(self, data: Any) -> PatchNetwork | SharedNoiseNetwork:
        return PatchNetwork(self.device, data, self.m, self.activation)

    @property
    def device(self) -> Device:
        return host()

    @property
    def features(self) -> int:
        return self.network.features

    def describe(self, points: Points) -> str:
        return f"{self.device.words}: {self.network.describe(points)}"

    def evaluate(self, c: np.ndarray, points: Points, v: np.ndarray | None = None) -> Evaluation:
        device = self.device
        return _OnHost(device, self.network.evaluate(device.put(c), points, None if v is None else device.put(v)))

    def outputs_on_data(self, c: Any) -> Any:
        return outputs_on_data(self.network, self._in_features(c))

    def sum_of(self, points: Points, pointwise: PointwiseLoss) -> LossSum:
        return self.network.fused_sum(points, pointwise) or GenericSum(self.network, points, pointwise)


class ArrayKernel(ArrayPatchesKernel):
    """Points that share noise patterns, on NumPy."""

    name = "array"
    network: SharedNoiseNetwork

    def _network_of(self, data: Any) -> PatchNetwork | SharedNoiseNetwork:
        return SharedNoiseNetwork(self.device, data, self.m, self.activation)

    def stiff_hessian(self, c: Any, points: Points, pointwise: PointwiseLoss, escaped: Any) -> Curvature | None:
        return self.network.stiff_hessian(c, points, pointwise, escaped)


class GpuPatchesKernel(ArrayPatchesKernel):
    """Any patches, on a GPU."""

    name = "gpu, any patches"

    @property
    def device(self) -> Device:
        return gpu()


class GpuKernel(ArrayKernel):
    """Points that share noise patterns, on a GPU."""

    name = "gpu"

    @property
    def device(self) -> Device:
        return gpu()


class _OnHost(Evaluation):
    """An evaluation whose arrays come from a device when they are asked for."""

    def __init__(self, device: Device, there: Evaluation) -> None:
        self._device, self._there = device, there

    def batches(self) -> Iterator[Any]:
        return self._there.batches()

    def targets(self, batch: Any) -> np.ndarray:
        return self._device.fetch(self._there.targets(batch))

    def outputs(self, batch: Any) -> np.ndarray:
        return self._device.fetch(self._there.outputs(batch))

    def tangents(self, batch: Any) -> np.ndarray:
        return self._device.fetch(self._there.tangents(batch))

    def pull_back(self, batch: Any, residual: np.ndarray) -> None:
        self._there.pull_back(batch, self._device.put(residual))

    def pull_back_tangent(self, batch: Any, residual: np.ndarray, change: np.ndarray) -> None:
        self._there.pull_back_tangent(batch, self._device.put(residual), self._device.put(change))

    def gradient(self) -> np.ndarray:
        return self._device.fetch(self._there.gradient())

    def visited(self, batch: Any) -> Any:
        return self._there.visited(batch)

    def mean(self, batch: Any, values: np.ndarray) -> float:
        return float(self._device.fetch(batch.weight) @ values)

    def weighted(self, batch: Any, residual: np.ndarray) -> np.ndarray:
        weighted: np.ndarray = self._device.fetch(batch.weight) * residual
        return weighted
