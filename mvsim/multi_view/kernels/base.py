"""What every kernel offers: the network on one data set, evaluated on mixed points, and pulled back to its correlations.

A kernel knows neurons; losses know only outputs and soft labels (`mvsim.losses`), and `mvsim.multi_view.kernels.sums` brings both together.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from mvsim.losses import Points, PointwiseLoss, Unmixed
from mvsim.multi_view.activations import Activation
from mvsim.multi_view.kernels.evaluation import Evaluation
from mvsim.multi_view.kernels.sums import GenericSum, LossSum, NeuronSum
from mvsim.multi_view.parameters import Parameters
from mvsim.numerics.arrow_matrix import Curvature


class Kernel(ABC):
    """The network on one data set, in correlation coordinates c of shape (k, m, F): F features, each with a class.

    Where c comes with its features laid out in several dimensions, as (k, m, k, V), gradients come back in that shape.

    Arrays that it takes and returns are NumPy's, wherever it computes.
    """

    name: ClassVar[str]  # How it is called
    k: int  # Number of classes
    m: int  # Neurons of each class
    N: int  # Points of the data
    activation: Activation  # Of the neurons

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

    def stiff_hessian(self, c: np.ndarray, points: Points, pointwise: PointwiseLoss, escaped: np.ndarray) -> Curvature | None:
        """Return the stiff part of the Hessian at c (k, m, F) as far as this kernel can tell it cheaply, None if it cannot."""
        return None

    def with_neurons(self, m: int) -> Kernel | None:
        """Return the network with m neurons of each class on the same data, None if this kernel offers no other than its own."""
        return None

    # The network by itself ---------------------------------------------------------------------------------------------------------------

    def visited(self, points: Points) -> tuple[np.ndarray, np.ndarray]:
        """Return (M,) indices i and j of the mixed points in the order of `outputs` and `pull_back`."""
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

    def pull_back(self, c: np.ndarray, points: Points, residual: np.ndarray) -> np.ndarray:
        """Return the shape of c: sum over y and n of residual[y, n] dg_y(z_n)/dc for residual (k, M)."""
        evaluation = self.evaluate(self._in_features(c), points)
        for batch, part in _parts(evaluation, residual):
            evaluation.pull_back(batch, part)
        return evaluation.gradient().reshape(c.shape)

    # With a loss --------------------------------------------------------------------------------------------------------------------------

    def sum_of(self, points: Points, pointwise: PointwiseLoss) -> LossSum:
        """Return the weighted sum of a pointwise loss over points, by the fastest way there is."""
        return self.fused_sum(points, pointwise) or GenericSum(self, points, pointwise)

    def loss(self, c: np.ndarray, points: Points, pointwise: PointwiseLoss) -> float:
        """Return the weighted sum of the pointwise loss over ``points``."""
        return self.sum_of(points, pointwise).loss(self._in_features(c))

    def loss_and_gradient(self, c: np.ndarray, points: Points, pointwise: PointwiseLoss) -> tuple[float, np.ndarray]:
        """Return that sum and its gradient, the shape of c."""
        loss, gradient = self.sum_of(points, pointwise).loss_and_gradient(self._in_features(c))
        return loss, gradient.reshape(c.shape)

    def hessian_vector_product(self, c: np.ndarray, v: np.ndarray, points: Points, pointwise: PointwiseLoss) -> np.ndarray:
        """Return the derivative of the gradient along v."""
        return self.sum_of(points, pointwise).hessian_vector_product(self._in_features(c), self._in_features(v)).reshape(c.shape)

    def of_neurons(self, c: np.ndarray, neurons: np.ndarray, points: Points, pointwise: PointwiseLoss) -> NeuronSum:
        """Return the loss as a function of some neurons alone, see `mvsim.multi_view.kernels.sums.LossSum`."""
        return self.sum_of(points, pointwise).of_neurons(self._in_features(c), neurons)

    def curvature(self, c: np.ndarray, points: Points, pointwise: PointwiseLoss, escaped: np.ndarray) -> Curvature | None:
        """Return the stiff part of the Hessian, None if this kernel cannot tell it cheaply; ``escaped`` (k, m) says which neurons can be stiff."""
        return self.stiff_hessian(self._in_features(c), points, pointwise, escaped)

    @property
    @abstractmethod
    def features(self) -> int:
        """The number F of features."""

    def _in_features(self, c: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(c).reshape(self.k, self.m, self.features)


def _parts(evaluation: Evaluation, residual: np.ndarray) -> Iterator[tuple[Any, np.ndarray]]:
    """Yield every batch with its columns of residual (..., M), zeros in columns that are not visited."""
    start = 0
    for batch in evaluation.batches():
        part = np.zeros((*residual.shape[:-1], len(batch.first)))
        count = part[..., evaluation.visited(batch)].shape[-1]
        part[..., evaluation.visited(batch)] = residual[..., start : start + count]
        start += count
        yield batch, part
