"""All pairs of points with one weight, from tables over noise patterns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np

from mvsim.losses import AllPairs
from mvsim.multi_view.kernels.evaluation import Evaluation
from mvsim.multi_view.kernels.shared_noise.columns import Columns
from mvsim.multi_view.kernels.shared_noise.layout import Layout, Meetings, PairBlocks, PairPlan, by_classes, plan_pairs
from mvsim.multi_view.kernels.shared_noise.sums_by_moments import MomentSums
from mvsim.multi_view.kernels.shared_noise.sums_direct import DirectSums, Neurons
from mvsim.multi_view.kernels.shared_noise.tables import Block, Derivatives, Values


class PairsOfPoints:
    """What is laid out once for all pairs."""

    def __init__(self, layout: Layout, neurons: Neurons, columns: Columns, points: AllPairs) -> None:
        self.layout, self.neurons, self.columns = layout, neurons, columns
        self.plan: PairPlan = plan_pairs(layout, points.share, points.symmetric)
        self.blocks = PairBlocks.of(layout, self.plan)
        order = neurons.moment_order
        self.sums = DirectSums(layout, self.plan, neurons) if order is None else MomentSums(layout, self.plan, neurons, order)

    def describe(self) -> str:
        """Say in words which algorithm this is."""
        return (
            f"all pairs factored over {len(self.layout.patterns)} noise patterns, neurons summed {self.neurons.how}, "
            f"{len(self.plan.extra_pairs)} pairs with coinciding signal patches"
        )

    def evaluate(self, c: np.ndarray, v: np.ndarray | None) -> Evaluation:
        """Evaluate the network at c (k, m, F), and along v if it is given."""
        return _Evaluation(self, c, v)

    def forward(self, c: np.ndarray, columns: np.ndarray, values: Values) -> Callable[[int, int], None]:
        """Return what fills the columns and the values of some classes at c (k, m, F)."""
        fill = self.columns.filling(c, columns)

        def forward(y0: int, y1: int) -> None:
            fill(y0, y1)
            self.sums.values(y0, y1, columns, values)

        return forward

    def empty_values(self) -> Values:
        return Values.empty(self.neurons.k, self.layout, self.plan)

    def no_derivatives(self) -> Derivatives:
        return Derivatives.zeros(self.neurons.k, self.layout, self.plan)

    @cached_property
    def values_buffer(self) -> Values:
        """Memory for the values at one c, used again and again."""
        return self.empty_values()

    @cached_property
    def meetings_by_classes(self) -> tuple[Meetings, np.ndarray]:
        """See `by_classes`."""
        return by_classes(self.layout, self.plan)

    @cached_property
    def targets(self) -> Derivatives:
        """The derivatives of the mean of soft label times output: constants of the data."""
        targets = self.no_derivatives()
        for block in self._each_block():
            block.scatter(targets, block.weight * block.targets)
        return targets

    @cached_property
    def written_out(self) -> list[Block]:
        """The pairs as columns, block by block."""
        return list(self._each_block())

    def _each_block(self) -> Iterator[Block]:
        """Lay out the pairs as columns, block by block, without keeping them."""
        return (Block.of(self.layout, self.plan, index) for index in range(len(self.plan.blocks)))


class _Evaluation(Evaluation):
    """Values are formed at once; outputs are put together from them block by block, and derivatives by the values are added up."""

    def __init__(self, pairs: PairsOfPoints, c: np.ndarray, v: np.ndarray | None) -> None:
        self._pairs = pairs
        self._columns_at_c, self._values = pairs.columns.buffer, pairs.values_buffer
        self._D, self._dD = pairs.no_derivatives(), None if v is None else pairs.no_derivatives()
        pairs.neurons.run(pairs.forward(c, self._columns_at_c, self._values))
        if v is not None:
            self._moves, self._tangents = pairs.columns.at(v), pairs.empty_values()
            pairs.neurons.run(lambda y0, y1: pairs.sums.tangents(y0, y1, self._columns_at_c, self._moves, self._tangents))

    def batches(self) -> Iterator[Block]:
        return iter(self._pairs.written_out)

    def targets(self, batch: Block) -> np.ndarray:
        return batch.targets

    def outputs(self, batch: Block) -> np.ndarray:
        return batch.gather(self._values)

    def tangents(self, batch: Block) -> np.ndarray:
        return batch.gather(self._tangents)

    def pull_back(self, batch: Block, residual: np.ndarray) -> None:
        batch.scatter(self._D, residual)

    def pull_back_tangent(self, batch: Block, residual: np.ndarray, change: np.ndarray) -> None:
        assert self._dD is not None
        batch.scatter(self._D, residual)
        batch.scatter(self._dD, change)

    def visited(self, batch: Block) -> np.ndarray:
        return batch.weight > 0.0

    def gradient(self) -> np.ndarray:
        pairs, columns, D, dD = self._pairs, self._columns_at_c, self._D, self._dD
        if dD is None:
            return pairs.columns.pulled_back(lambda y0, y1, out: pairs.sums.pull_back(y0, y1, columns, D, out))
        return pairs.columns.pulled_back(lambda y0, y1, out: pairs.sums.pull_back_tangent(y0, y1, columns, self._moves, D, dD, out))
