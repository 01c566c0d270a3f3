"""The kernels of this package: a network on a device."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from mvsim.losses import Points, PointwiseLoss
from mvsim.multi_view.activations import Activation
from mvsim.multi_view.data import Dataset, SharedNoiseDataset
from mvsim.multi_view.kernels.array.device import Device, gpu, host
from mvsim.multi_view.kernels.array.network import SharedNoiseNetwork
from mvsim.multi_view.kernels.array.patches import PatchNetwork
from mvsim.multi_view.kernels.base import Kernel
from mvsim.multi_view.kernels.evaluation import Evaluation
from mvsim.multi_view.kernels.jit.compiling import may_compile
from mvsim.multi_view.kernels.sums import GenericSum, LossSum, NeuronSum, WholeSum, neuron_sum
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

    def sum_of(self, points: Points, pointwise: PointwiseLoss) -> LossSum:
        return _SumOnHost(self.device, self.network.fused_sum(points, pointwise) or GenericSum(self.network, points, pointwise))


class ArrayKernel(ArrayPatchesKernel):
    """Points that share noise patterns, on NumPy."""

    name = "array"
    network: SharedNoiseNetwork

    def __init__(self, parameters: Parameters, data: SharedNoiseDataset, threads: int | None, activation: Activation) -> None:
        super().__init__(parameters, data, threads, activation)
        self._origin = parameters, data, threads, activation

    def _network_of(self, data: Any) -> PatchNetwork | SharedNoiseNetwork:
        return SharedNoiseNetwork(self.device, data, self.m, self.activation)

    @cached_property
    def _compiled(self) -> Kernel:
        from mvsim.multi_view.kernels.shared_noise.shared_noise_kernel import SharedNoiseKernel

        return SharedNoiseKernel(*self._origin)

    def stiff_hessian(self, c: np.ndarray, points: Points, pointwise: PointwiseLoss, escaped: np.ndarray) -> Curvature | None:
        """Return that of the compiled kernel, which forms it on the host; None where nothing may be compiled."""
        return self._compiled.stiff_hessian(c, points, pointwise, escaped) if may_compile() else None


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

    def __init__(self, device: Device, on_device: Evaluation) -> None:
        self._device, self._on_device = device, on_device

    def batches(self) -> Iterator[Any]:
        return self._on_device.batches()

    def targets(self, batch: Any) -> np.ndarray:
        return self._device.fetch(self._on_device.targets(batch))

    def outputs(self, batch: Any) -> np.ndarray:
        return self._device.fetch(self._on_device.outputs(batch))

    def tangents(self, batch: Any) -> np.ndarray:
        return self._device.fetch(self._on_device.tangents(batch))

    def pull_back(self, batch: Any, residual: np.ndarray) -> None:
        self._on_device.pull_back(batch, self._device.put(residual))

    def pull_back_tangent(self, batch: Any, residual: np.ndarray, change: np.ndarray) -> None:
        self._on_device.pull_back_tangent(batch, self._device.put(residual), self._device.put(change))

    def gradient(self) -> np.ndarray:
        return self._device.fetch(self._on_device.gradient())

    def visited(self, batch: Any) -> Any:
        return self._on_device.visited(batch)

    def mean(self, batch: Any, values: np.ndarray) -> float:
        return float(self._device.fetch(batch.weight) @ values)

    def weighted(self, batch: Any, residual: np.ndarray) -> np.ndarray:
        weighted: np.ndarray = self._device.fetch(batch.weight) * residual
        return weighted


class _SumOnHost:
    """A sum whose correlations go to a device, and whose results come from there."""

    def __init__(self, device: Device, on_device: WholeSum) -> None:
        self._device, self._on_device = device, on_device

    def loss(self, c: np.ndarray) -> float:
        return self._on_device.loss(self._device.put(c))

    def loss_and_gradient(self, c: np.ndarray) -> tuple[float, np.ndarray]:
        loss, gradient = self._on_device.loss_and_gradient(self._device.put(c))
        return loss, self._device.fetch(gradient)

    def hessian_vector_product(self, c: np.ndarray, v: np.ndarray) -> np.ndarray:
        return self._device.fetch(self._on_device.hessian_vector_product(self._device.put(c), self._device.put(v)))

    def of_neurons(self, c: np.ndarray, neurons: np.ndarray) -> NeuronSum:
        return neuron_sum(self, c, neurons)
