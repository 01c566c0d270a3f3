"""A pointwise loss summed over mixed points: from outputs, pull-backs and their tangents alone, whatever the network, the loss and the points."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from mvsim.losses import AllPairs, Points, PointwiseLoss
from mvsim.numerics.namespaces import namespace_of
from mvsim.numerics.primitives import primitives_of
from mvsim.numerics.vectors import flat, integers_like

if TYPE_CHECKING:
    from mvsim.multi_view.kernels.base import Evaluation


class Network(Protocol):
    """What can be evaluated on points."""

    def evaluate(self, c: Any, points: Points, v: Any = None) -> Evaluation:
        """See `mvsim.multi_view.kernels.base.Kernel`."""

    def with_neurons(self, m: int) -> Network | None:
        """See `mvsim.multi_view.kernels.base.Kernel`."""


NeuronSum = Callable[[Any], tuple[float, Any]]
"""Correlations (k, E, F) of E neurons of each class -> a sum, and its gradient by them."""


class LossSum(Protocol):
    """The weighted sum of a loss over points as a function of the correlations c (k, m, F)."""

    def loss(self, c: Any) -> float:
        """Return the sum."""

    def loss_and_gradient(self, c: Any) -> tuple[float, Any]:
        """Return the sum and its gradient, (k, m, F)."""

    def hessian_vector_product(self, c: Any, v: Any) -> Any:
        """Return the derivative of the gradient along v, (k, m, F)."""

    def of_neurons(self, c: Any, neurons: Any) -> NeuronSum:
        """Return the sum as a function of some neurons (k, E) of each class, none twice, while the others are those of c (k, m, F).

        In the place of a neuron stands -1, after all others, where a class has fewer: what is told there is ignored, and the gradient is 0.
        The function serves until another one is asked for.
        """


def neuron_sum(whole: LossSum, c: Any, neurons: Any) -> NeuronSum:
    """Return what `LossSum.of_neurons` describes, by evaluating all neurons."""
    xp, (k, m, F) = namespace_of(c), c.shape
    told = (neurons >= 0)[:, :, None]
    chosen_first = xp.argsort(xp.astype(~_among(neurons, m), xp.int64), axis=1, stable=True)
    neurons = xp.where(told[:, :, 0], neurons, chosen_first[:, : neurons.shape[1]])  # others stand for those that a class has fewer
    index = F * (m * integers_like(k, neurons)[:, None] + neurons)[:, :, None] + integers_like(F, neurons)
    others, places = flat(c), primitives_of(c).places(flat(index))
    at_c = xp.reshape(others[places.index], index.shape)

    def loss_and_gradient(moving: Any) -> tuple[float, Any]:
        moved = flat(xp.where(told, moving, at_c))
        loss, gradient = whole.loss_and_gradient(xp.reshape(places.written(others, moved), c.shape))
        by_moving = xp.reshape(flat(gradient)[places.index], index.shape)
        return loss, xp.where(told, by_moving, xp.zeros_like(by_moving))

    return loss_and_gradient


def _among(neurons: Any, m: int) -> Any:
    """Return (k, m): which neurons are among some (k, E) of each class."""
    return namespace_of(neurons).any(neurons[:, :, None] == integers_like(m, neurons), axis=1)


def without_neurons(c: Any, neurons: Any) -> Any:
    """Return c (k, m, F) with some neurons (k, E) of each class at 0, where they add nothing to the outputs."""
    return namespace_of(c).where(_among(neurons, c.shape[1])[:, :, None], namespace_of(c).zeros_like(c), c)


def ignoring_absent(of_all: NeuronSum, neurons: Any) -> NeuronSum:
    """Return a sum as a function of neurons (k, E) with 0 for what is told where -1 stands, and for the gradient there."""
    xp, told = namespace_of(neurons), (neurons >= 0)[:, :, None]

    def loss_and_gradient(moving: Any) -> tuple[float, Any]:
        loss, gradient = of_all(xp.where(told, moving, xp.zeros_like(moving)))
        return loss, xp.where(told, gradient, xp.zeros_like(gradient))

    return loss_and_gradient


class GenericSum:
    """The sum over batches of points that serves every combination; fused sums are tested against it."""

    def __init__(self, kernel: Network, points: Points, pointwise: PointwiseLoss, beside: Sequence[Any] | None = None) -> None:
        self._kernel, self._points, self._pointwise, self._beside = kernel, points, pointwise, beside

    def _evaluated(self, evaluation: Evaluation) -> Iterator[tuple[Any, Any]]:
        """Yield every batch with its outputs (k, n)."""
        for number, batch in enumerate(evaluation.batches()):
            outputs = evaluation.outputs(batch)
            yield batch, outputs if self._beside is None else outputs + self._beside[number]

    def loss(self, c: Any) -> float:
        """Return the sum."""
        evaluation, loss = self._kernel.evaluate(c, self._points), 0.0
        for batch, outputs in self._evaluated(evaluation):
            loss += evaluation.mean(batch, self._pointwise.value(outputs, evaluation.targets(batch)))
        return loss

    def loss_and_gradient(self, c: Any) -> tuple[float, Any]:
        """Return the sum and its gradient, (k, m, F)."""
        evaluation, loss = self._kernel.evaluate(c, self._points), 0.0
        for batch, outputs in self._evaluated(evaluation):
            targets = evaluation.targets(batch)
            loss += evaluation.mean(batch, self._pointwise.value(outputs, targets))
            evaluation.pull_back(batch, evaluation.weighted(batch, self._pointwise.residual(outputs, targets)))
        return loss, evaluation.gradient()

    def hessian_vector_product(self, c: Any, v: Any) -> Any:
        """Return the derivative of the gradient along v, (k, m, F)."""
        evaluation = self._kernel.evaluate(c, self._points, v)
        for batch, outputs in self._evaluated(evaluation):
            targets = evaluation.targets(batch)
            residual = evaluation.weighted(batch, self._pointwise.residual(outputs, targets))
            change = evaluation.weighted(batch, self._pointwise.curvature(outputs, targets, evaluation.tangents(batch)))
            evaluation.pull_back_tangent(batch, residual, change)
        return evaluation.gradient()

    def of_neurons(self, c: Any, neurons: Any) -> NeuronSum:
        """Return the sum as a function of some neurons; where points are few enough to keep their outputs, those of the others are formed once."""
        few = None if isinstance(self._points, AllPairs) else self._kernel.with_neurons(neurons.shape[1])
        if few is None:
            return neuron_sum(self, c, neurons)
        others = self._kernel.evaluate(without_neurons(c, neurons), self._points)
        beside = GenericSum(few, self._points, self._pointwise, [others.outputs(batch) for batch in others.batches()])
        return ignoring_absent(beside.loss_and_gradient, neurons)
