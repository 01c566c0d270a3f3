"""The cross-entropy of all pairs, fused: tables become exponentials and these become derivatives, without an exponential for every pair and class."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from mvsim.multi_view.kernels.jit.threads import run_together
from mvsim.multi_view.kernels.limits import LARGEST_OUTPUT
from mvsim.multi_view.kernels.shared_noise.all_pairs import PairsOfPoints
from mvsim.multi_view.kernels.shared_noise.few_neurons import FewNeurons
from mvsim.multi_view.kernels.shared_noise.layout import Layout, PairBlocks
from mvsim.multi_view.kernels.shared_noise.loops.fused import Constants, Memory, pair_gradient
from mvsim.multi_view.kernels.shared_noise.pair_softmax import PairProbability, PairSoftmax, probability_and_derivative
from mvsim.multi_view.kernels.shared_noise.sums_by_moments import MomentSums
from mvsim.multi_view.kernels.shared_noise.sums_direct import Neurons
from mvsim.multi_view.kernels.shared_noise.tables import Derivatives, Exponentials, Values
from mvsim.multi_view.kernels.sums import GenericSum, NeuronSum, ignoring_absent, neuron_sum, without_neurons


class PairGradient:
    """The compiled call with its constants and its memory."""

    def __init__(self, layout: Layout, pairs: PairBlocks, neurons: Neurons, sums: MomentSums, targets: Derivatives, values: Values) -> None:
        k, N, blocks = neurons.k, len(layout.labels), len(pairs.blocks)
        self._threads = min(neurons.threads, k)  # one that finds nothing to do only takes time from the others
        self._constants = Constants(
            patterns=layout.patterns,
            over_scale=1.0 / neurons.scale,
            activation=neurons.activation,
            terms=sums.terms,
            first=sums.tables[0],
            second=sums.tables[-1],
            unmixed=sums.unmixed.table,
            corrections=sums.corrections,
            pairs=pairs,
            targets=targets,
        )
        self._width = layout.features + len(layout.patterns)
        self._memory = Memory(
            columns=np.empty((k, self._width, neurons.m)),
            out=np.empty((k, self._width, neurons.m)),
            values=values,
            exponentials=Exponentials(*values),
            derivatives=Derivatives(*values),
            own=np.empty((k, N)),
            largest=np.empty(k),
            linear=np.empty(k),
            sums=np.empty(blocks),
        )

    def loss_and_gradient(self, c: np.ndarray) -> tuple[float, np.ndarray] | None:
        """Return both at c (k, m, F), or None if the outputs are too large for exponentials."""
        return self._summed(c, _NOBODY, self._memory)

    def beside(self, others: Values, count: int) -> Callable[[np.ndarray], tuple[float, np.ndarray] | None]:
        """Return the function of `loss_and_gradient` for c of fewer neurons, (k, count, F), beside neurons whose values are ``others``."""
        shape = len(self._memory.columns), self._width, count
        memory = self._memory._replace(columns=np.empty(shape), out=np.empty(shape))
        return lambda c: self._summed(c, others, memory)

    def _summed(self, c: np.ndarray, others: Values, memory: Memory) -> tuple[float, np.ndarray] | None:
        gradient = np.empty_like(c)
        run_together(self._threads, lambda counters: pair_gradient(counters, c, others, self._constants, memory, gradient))
        if not (memory.largest < LARGEST_OUTPUT).all():
            return None
        return float(memory.sums.sum() - memory.linear.sum()), gradient


_NOBODY = Values(np.empty((0, 0, 0)), np.empty((0, 0, 0)), np.empty((0, 0)))


class SoftmaxSum:
    """The mean cross-entropy of all pairs."""

    def __init__(self, pairs: PairsOfPoints, nonnegative: bool, generic: GenericSum) -> None:
        self._pairs, self._layout, self._neurons, self._columns, self._generic = pairs, pairs.layout, pairs.neurons, pairs.columns, generic
        # Of outputs below 0, sums of exponentials might underflow. Where all labels are alike, a gradient is made of gaps 1 - phi alone, and a
        # difference of sums keeps no digits of them.
        self._by_exponentials = nonnegative and len(np.unique(pairs.layout.labels)) > 1

    def loss(self, c: np.ndarray) -> float:
        softmax = self._exponentials(self._forward(c))
        return self._generic.loss(c) if softmax is None else softmax.loss_and_derivative()[0]

    def loss_and_gradient(self, c: np.ndarray) -> tuple[float, np.ndarray]:
        pairs, in_one_call = self._pairs, self.in_one_call
        fused = None if in_one_call is None else in_one_call.loss_and_gradient(c)
        if fused is not None:
            return fused
        softmax = self._exponentials(self._forward(c))
        if softmax is None:
            return self._generic.loss_and_gradient(c)
        loss, D = softmax.loss_and_derivative()
        columns = self._columns.buffer
        return loss, self._columns.pulled_back(lambda y0, y1, out: pairs.sums.pull_back(y0, y1, columns, D, out))

    def probability_and_derivative(self, c: np.ndarray) -> tuple[PairProbability, Derivatives]:
        """Return the softmax at all pairs for the classes of their points, and the derivative of the loss by the values."""
        forward = self._forward(c)
        softmax = self._exponentials(forward)
        if softmax is not None:
            return softmax.probability_and_derivative()
        self._neurons.run(forward)
        return probability_and_derivative(self._pairs, self._pairs.values_buffer)

    def hessian_vector_product(self, c: np.ndarray, v: np.ndarray) -> np.ndarray:
        pairs, columns, moves = self._pairs, self._columns.buffer, self._columns.at(v)
        tangents, values = pairs.empty_values(), self._forward(c)

        def forward(y0: int, y1: int) -> None:
            values(y0, y1)
            pairs.sums.tangents(y0, y1, columns, moves, tangents)

        softmax = self._exponentials(forward)
        if softmax is None:
            return self._generic.hessian_vector_product(c, v)
        D, dD = softmax.derivative_and_change(tangents)
        return self._columns.pulled_back(lambda y0, y1, out: pairs.sums.pull_back_tangent(y0, y1, columns, moves, D, dD, out))

    def of_neurons(self, c: np.ndarray, neurons: np.ndarray) -> NeuronSum:
        """Return the sum as a function of some neurons: values are sums over neurons, so those of the others are formed once."""
        by_all = neuron_sum(self, c, neurons)
        if self.in_one_call is None:
            return by_all
        values = self._values_of_others
        self._neurons.run(self._pairs.forward(without_neurons(c, neurons), self._columns.buffer, values))
        if self._pairs.plan.symmetric:
            few = self._few_neurons.beside(values, neurons)
            return lambda moving: few(moving) or by_all(moving)
        beside = self.in_one_call.beside(values, neurons.shape[1])
        return ignoring_absent(lambda moving: beside(moving) or by_all(moving), neurons)

    @cached_property
    def _few_neurons(self) -> FewNeurons:
        return FewNeurons(self._layout, self._pairs.plan, self._neurons, self._pairs.targets)

    @cached_property
    def _values_of_others(self) -> Values:
        return self._pairs.empty_values()

    def _forward(self, c: np.ndarray) -> Callable[[int, int], None]:
        return self._pairs.forward(c, self._columns.buffer, self._pairs.values_buffer)

    def _exponentials(self, forward: Callable[[int, int], None]) -> PairSoftmax | None:
        """Run ``forward`` and put exponentials in the place of the values; None, and nothing certain in the buffer, if they do not fit."""
        if not self._by_exponentials:
            return None
        softmax = PairSoftmax(self._neurons, self._pairs.blocks, self._pairs.targets, self._pairs.values_buffer)

        def forward_to_exponentials(y0: int, y1: int) -> None:
            forward(y0, y1)
            softmax.exponentiate(y0, y1)

        self._neurons.run(forward_to_exponentials)
        return softmax if softmax.fits else None

    @cached_property
    def in_one_call(self) -> PairGradient | None:
        """Loss and gradient in one compiled call, where neurons are summed by moments."""
        pairs = self._pairs
        if not self._by_exponentials or not isinstance(pairs.sums, MomentSums):
            return None
        return PairGradient(self._layout, pairs.blocks, self._neurons, pairs.sums, pairs.targets, pairs.values_buffer)
