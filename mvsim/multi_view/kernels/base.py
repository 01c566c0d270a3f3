"""What every kernel offers: the network on one data set, evaluated on mixed points, and pulled back to its correlations.

A kernel knows neurons; losses know only outputs and soft labels (`mvsim.losses`), and `mvsim.multi_view.kernels.sums` brings both together.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, Protocol

import numpy as np

from mvsim.losses import Points, PointwiseLoss, Unmixed
from mvsim.multi_view.activations import Activation
from mvsim.multi_view.kernels.devices import Device, host
from mvsim.multi_view.kernels.sums import GenericSum, LossSum, NeuronSum
from mvsim.multi_view.parameters import Parameters
from mvsim.numerics.arrow_matrix import Curvature
from mvsim.numerics.namespaces import flat, namespace_of


class Batch(Protocol):
    """Some of the mixed points: what `mvsim.losses.points.Batch` has, in whatever form suits the kernel."""

    @property
    def first(self) -> np.ndarray:
        """(n,) indices of the first points."""

    @property
    def second(self) -> np.ndarray:
        """(n,) indices of the second points."""

    @property
    def weight(self) -> np.ndarray:
        """(n,) weights of the points in the loss."""


class Evaluation(ABC):
    """The network at some correlations c, and if wanted along a direction v, on a set of points, batch by batch.

    The caller goes through `batches` and asks for the outputs of each before it takes the next one. Meanwhile it may pull something back through the
    batch, at most once: with `pull_back`, or with `pull_back_tangent` if there is a direction. In the end it may ask for the `gradient`, once, if it
    has pulled back through at least one batch.

    Of one kernel only one evaluation is alive at a time: kernels use their memory again, so that the next one overwrites what this one needs.
    """

    @abstractmethod
    def batches(self) -> Iterator[Any]:
        """Yield every point once, in an order that depends only on the kernel and the points."""

    @abstractmethod
    def targets(self, batch: Any) -> np.ndarray:
        """Return (k, n): the soft labels of a batch."""

    @abstractmethod
    def outputs(self, batch: Any) -> np.ndarray:
        """Return (k, n): g_y(z) on a batch."""

    @abstractmethod
    def tangents(self, batch: Any) -> np.ndarray:
        """Return (k, n): the derivative of the outputs along v."""

    @abstractmethod
    def pull_back(self, batch: Any, residual: np.ndarray) -> None:
        """Add sum_n residual[y, n] dg_y(z_n)/dc to the gradient."""

    @abstractmethod
    def pull_back_tangent(self, batch: Any, residual: np.ndarray, change: np.ndarray) -> None:
        """Add to the gradient the derivative of `pull_back` along v, where the residual moves by ``change``."""

    @abstractmethod
    def gradient(self) -> np.ndarray:
        """Return (k, m, F): the sum of all that has been pulled back. Nothing can be asked of the evaluation after it."""

    def visited(self, batch: Any) -> Any:
        """Return which columns of a batch are visited, as an index: others have weight 0, and what stands there means nothing."""
        return slice(None)

    def mean(self, batch: Any, values: np.ndarray) -> float:
        """Return the weighted sum of values (n,) over a batch."""
        return float(batch.weight @ values)

    def weighted(self, batch: Any, residual: np.ndarray) -> np.ndarray:
        """Return residual (k, n) times the weights of the points of a batch."""
        weighted: np.ndarray = batch.weight * residual
        return weighted


class Kernel(ABC):
    """The network on one data set, in correlation coordinates c of shape (k, m, F): F features, each with a class.

    Where c comes with its features laid out in several dimensions, as (k, m, k, V), gradients come back in that shape.

    The network by itself takes and returns arrays of the host. With a loss, and for the outputs on the points of the data, correlations and
    results are arrays of the kernel's device.

    Attributes
    ----------
    name : str
        How it is called.
    k : int
        Number of classes.
    m : int
        Neurons of each class.
    N : int
        Points of the data.
    activation : Activation
        Of the neurons.
    """

    name: ClassVar[str]
    k: int
    m: int
    N: int
    activation: Activation

    @abstractmethod
    def __init__(self, parameters: Parameters, data: Any, threads: int | None, activation: Activation) -> None:
        """Bind the network to a data set that the kernel serves."""

    @abstractmethod
    def evaluate(self, c: np.ndarray, points: Points, v: np.ndarray | None = None) -> Evaluation:
        """Evaluate the network at c (k, m, F), and along v if it is given. It ends every earlier evaluation of this kernel."""

    @abstractmethod
    def describe(self, points: Points) -> str:
        """Say in words which algorithm serves these points."""

    def fused_sum(self, points: Points, pointwise: PointwiseLoss) -> LossSum | None:
        """Return what computes this loss over these points faster than the generic sum, None if there is nothing."""
        return None

    def stiff_hessian(self, c: Any, points: Points, pointwise: PointwiseLoss, escaped: Any) -> Curvature | None:
        """Return the stiff part of the Hessian at c (k, m, F) as far as this kernel can tell it cheaply, None if it cannot."""
        return None

    def with_neurons(self, m: int) -> Kernel | None:
        """Return the network with m neurons of each class on the same data, None if this kernel offers no other than its own."""
        return None

    @property
    def device(self) -> Device:
        """Where its arrays are."""
        return host()

    # The network by itself ---------------------------------------------------------------------------------------------------------------

    def visited(self, points: Points) -> tuple[np.ndarray, np.ndarray]:
        """Return (M,) indices i and j of the mixed points in the order of `outputs`, `tangents` and `pull_back`."""
        evaluation = self.evaluate(np.zeros((self.k, self.m, self.features)), points)
        pairs = [np.stack([batch.first, batch.second])[:, evaluation.visited(batch)] for batch in evaluation.batches()]
        first, second = np.concatenate(pairs, axis=1)
        return first, second

    def outputs(self, c: np.ndarray, points: Points | None = None) -> np.ndarray:
        """Return the outputs: (k, N) on the points of the data in their order, or (k, M) on mixed points in the order of `visited`."""
        evaluation, parts, order = self.evaluate(self._in_features(c), points or Unmixed()), [], []
        for batch in evaluation.batches():
            parts.append(evaluation.outputs(batch)[:, evaluation.visited(batch)])
            order.append(batch.first)
        outputs = np.concatenate(parts, axis=1)
        if points is not None:
            return outputs
        in_order = np.empty_like(outputs)
        in_order[:, np.concatenate(order)] = outputs
        return in_order

    def tangents(self, c: np.ndarray, v: np.ndarray, points: Points) -> np.ndarray:
        """Return (k, M): the derivative of the outputs along v."""
        evaluation = self.evaluate(self._in_features(c), points, self._in_features(v))
        return np.concatenate([evaluation.tangents(batch)[:, evaluation.visited(batch)] for batch in evaluation.batches()], axis=1)

    def pull_back(self, c: np.ndarray, points: Points, residual: np.ndarray) -> np.ndarray:
        """Return the shape of c: sum over y and n of residual[y, n] dg_y(z_n)/dc for residual (k, M)."""
        evaluation = self.evaluate(self._in_features(c), points)
        for batch, part in _parts(evaluation, residual):
            evaluation.pull_back(batch, part)
        return evaluation.gradient().reshape(c.shape)

    def pull_back_tangent(self, c: np.ndarray, v: np.ndarray, points: Points, residual: np.ndarray, change: np.ndarray) -> np.ndarray:
        """Return the derivative of `pull_back` along v, where the residual moves by ``change`` (k, M)."""
        evaluation = self.evaluate(self._in_features(c), points, self._in_features(v))
        for batch, both in _parts(evaluation, np.stack([residual, change])):
            evaluation.pull_back_tangent(batch, *both)
        return evaluation.gradient().reshape(c.shape)

    # On the device ------------------------------------------------------------------------------------------------------------------------

    def outputs_on_data(self, c: Any) -> Any:
        """Return (k, N): the outputs on the points of the data in their order."""
        return self.outputs(c)

    def sum_of(self, points: Points, pointwise: PointwiseLoss) -> LossSum:
        """Return the weighted sum of a pointwise loss over points, by the fastest way there is."""
        return self.fused_sum(points, pointwise) or GenericSum(self, points, pointwise)

    def loss(self, c: Any, points: Points, pointwise: PointwiseLoss) -> float:
        """Return the weighted sum of the pointwise loss over ``points``."""
        return self.sum_of(points, pointwise).loss(self._in_features(c))

    def loss_and_gradient(self, c: Any, points: Points, pointwise: PointwiseLoss) -> tuple[float, Any]:
        """Evaluate a loss and its gradient.

        Returns
        -------
        loss : float
            The weighted sum of the loss over the points.
        gradient : array
            Its gradient by c, of the shape of c.
        """
        loss, gradient = self.sum_of(points, pointwise).loss_and_gradient(self._in_features(c))
        return loss, namespace_of(c).reshape(gradient, c.shape)

    def hessian_vector_product(self, c: Any, v: Any, points: Points, pointwise: PointwiseLoss) -> Any:
        """Return the derivative of the gradient along v."""
        product = self.sum_of(points, pointwise).hessian_vector_product(self._in_features(c), self._in_features(v))
        return namespace_of(c).reshape(product, c.shape)

    def of_neurons(self, c: Any, neurons: Any, points: Points, pointwise: PointwiseLoss) -> NeuronSum:
        """Return the loss as a function of some neurons alone, see `mvsim.multi_view.kernels.sums.LossSum`."""
        return self.sum_of(points, pointwise).of_neurons(self._in_features(c), neurons)

    def curvature(self, c: Any, points: Points, pointwise: PointwiseLoss, escaped: Any) -> Curvature | None:
        """Return the stiff part of the Hessian, None if it cannot be told cheaply; ``escaped`` (k, m) says which neurons can be stiff."""
        return self.stiff_hessian(self._in_features(c), points, pointwise, escaped)

    @property
    @abstractmethod
    def features(self) -> int:
        """The number F of features."""

    def _in_features(self, c: Any) -> Any:
        return namespace_of(c).reshape(flat(c), (self.k, self.m, self.features))


def _parts(evaluation: Evaluation, residual: np.ndarray) -> Iterator[tuple[Any, np.ndarray]]:
    """Yield every batch with its columns of residual (..., M), zeros in columns that are not visited."""
    start = 0
    for batch in evaluation.batches():
        part = np.zeros((*residual.shape[:-1], len(batch.first)))
        count = part[..., evaluation.visited(batch)].shape[-1]
        part[..., evaluation.visited(batch)] = residual[..., start : start + count]
        start += count
        yield batch, part
