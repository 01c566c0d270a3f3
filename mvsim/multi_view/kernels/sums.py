"""A pointwise loss summed over mixed points: from outputs, pull-backs and their tangents alone, whatever the network, the loss and the points."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from mvsim.losses import AllPairs, Points, PointwiseLoss
from mvsim.multi_view.kernels.evaluation import Evaluation


class Network(Protocol):
    """What can be evaluated on points."""

    def evaluate(self, c: Any, points: Points, v: Any = None) -> Evaluation:
        """See `mvsim.multi_view.kernels.base.Kernel`."""

    def with_neurons(self, m: int) -> Network | None:
        """See `mvsim.multi_view.kernels.base.Kernel`."""


NeuronSum = Callable[[Any], tuple[float, Any]]
"""Correlations (k, E, F) of E neurons of each class -> a sum, and its gradient by them."""


class WholeSum(Protocol):
    """The weighted sum of a loss over points as a function of the correlations c (k, m, F) of all neurons."""

    def loss(self, c: Any) -> float:
        """Return the sum."""

    def loss_and_gradient(self, c: Any) -> tuple[float, Any]:
        """Return the sum and its gradient, (k, m, F)."""

    def hessian_vector_product(self, c: Any, v: Any) -> Any:
        """Return the derivative of the gradient along v, (k, m, F)."""


class LossSum(WholeSum, Protocol):
    """Such a sum, also as a function of some neurons; its arrays are NumPy's."""

    def of_neurons(self, c: np.ndarray, neurons: np.ndarray) -> NeuronSum:
        """Return the sum as a function of some neurons (k, E) of each class, none twice, while the others are those of c (k, m, F).

        Where a class has fewer, -1 stands in their place: correlations there are ignored, and the gradient is 0. The function serves until another
        one is asked for.
        """


def neuron_sum(whole: WholeSum, c: np.ndarray, neurons: np.ndarray) -> NeuronSum:
    """Return what `LossSum.of_neurons` describes, by evaluating all neurons."""
    y, e = np.nonzero(neurons >= 0)
    r = neurons[y, e]

    def loss_and_gradient(moving: np.ndarray) -> tuple[float, np.ndarray]:
        everywhere, by_moving = c.copy(), np.zeros_like(moving)
        everywhere[y, r] = moving[y, e]
        loss, gradient = whole.loss_and_gradient(everywhere)
        by_moving[y, e] = gradient[y, r]
        return loss, by_moving

    return loss_and_gradient


def without_neurons(c: np.ndarray, neurons: np.ndarray) -> np.ndarray:
    """Return c (k, m, F) with some neurons (k, E) of each class at 0, where they add nothing to the outputs."""
    others, (y, e) = c.copy(), np.nonzero(neurons >= 0)
    others[y, neurons[y, e]] = 0.0
    return others


def ignoring_absent(of_all: NeuronSum, neurons: np.ndarray) -> NeuronSum:
    """Return a sum as a function of neurons (k, E) with 0 for correlations and gradient where -1 stands."""
    present = (neurons >= 0)[:, :, None]

    def loss_and_gradient(moving: np.ndarray) -> tuple[float, np.ndarray]:
        loss, gradient = of_all(np.where(present, moving, 0.0))
        return loss, np.where(present, gradient, 0.0)

    return loss_and_gradient


class GenericSum:
    """The sum over batches of points that serves every combination; fused sums are tested against it."""

    def __init__(self, kernel: Network, points: Points, pointwise: PointwiseLoss, beside: Sequence[Any] | None = None) -> None:
        self._kernel, self._points, self._pointwise, self._beside = kernel, points, pointwise, beside

    def _evaluated(self, evaluation: Evaluation) -> Iterator[tuple[Any, Any]]:
        for number, batch in enumerate(evaluation.batches()):
            outputs = evaluation.outputs(batch)
            yield batch, outputs if self._beside is None else outputs + self._beside[number]

    def loss(self, c: Any) -> float:
        evaluation, loss = self._kernel.evaluate(c, self._points), 0.0
        for batch, outputs in self._evaluated(evaluation):
            loss += evaluation.mean(batch, self._pointwise.value(outputs, evaluation.targets(batch)))
        return loss

    def loss_and_gradient(self, c: Any) -> tuple[float, Any]:
        evaluation, loss = self._kernel.evaluate(c, self._points), 0.0
        for batch, outputs in self._evaluated(evaluation):
            targets = evaluation.targets(batch)
            loss += evaluation.mean(batch, self._pointwise.value(outputs, targets))
            evaluation.pull_back(batch, evaluation.weighted(batch, self._pointwise.residual(outputs, targets)))
        return loss, evaluation.gradient()

    def hessian_vector_product(self, c: Any, v: Any) -> Any:
        evaluation = self._kernel.evaluate(c, self._points, v)
        for batch, outputs in self._evaluated(evaluation):
            targets = evaluation.targets(batch)
            residual = evaluation.weighted(batch, self._pointwise.residual(outputs, targets))
            change = evaluation.weighted(batch, self._pointwise.curvature(outputs, targets, evaluation.tangents(batch)))
            evaluation.pull_back_tangent(batch, residual, change)
        return evaluation.gradient()

    def of_neurons(self, c: np.ndarray, neurons: np.ndarray) -> NeuronSum:
        """Return the sum as a function of some neurons; where points are few enough to keep their outputs, those of the others are formed once."""
        few = None if isinstance(self._points, AllPairs) else self._kernel.with_neurons(neurons.shape[1])
        if few is None:
            return neuron_sum(self, c, neurons)
        others = self._kernel.evaluate(without_neurons(c, neurons), self._points)
        beside = GenericSum(few, self._points, self._pointwise, [others.outputs(batch) for batch in others.batches()])
        return ignoring_absent(beside.loss_and_gradient, neurons)
