"""Points that are evaluated one by one: those of the data, and given mixed ones. All of them are one batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from mvsim.losses import ListedPairs, Unmixed
from mvsim.losses.points import soft_labels
from mvsim.multi_view.kernels.evaluation import Evaluation
from mvsim.multi_view.kernels.shared_noise.columns import Columns
from mvsim.multi_view.kernels.shared_noise.layout import Layout
from mvsim.multi_view.kernels.shared_noise.listed_outputs import ListedOutputs
from mvsim.multi_view.kernels.shared_noise.single_outputs import DirectOutputs, MomentOutputs
from mvsim.multi_view.kernels.shared_noise.sums_direct import Neurons

Outputs = DirectOutputs | MomentOutputs | ListedOutputs


class Whole(NamedTuple):
    """All points: the original indices of their first and second points, and their soft labels (k, n)."""

    first: np.ndarray
    second: np.ndarray
    targets: np.ndarray


class SinglePoints:
    """The points of the data, sorted by noise pattern."""

    def __init__(self, layout: Layout, neurons: Neurons, columns: Columns, points: Unmixed) -> None:
        self._neurons, self._columns = neurons, columns
        order = neurons.moment_order
        self._outputs = DirectOutputs(layout, neurons) if order is None else MomentOutputs(layout, neurons, order)
        self._whole = Whole(layout.order, layout.order, soft_labels(neurons.k, layout.labels, layout.labels, 1.0))

    def describe(self) -> str:
        """Say in words which algorithm this is."""
        return f"shared noise, neurons summed {self._neurons.how}"

    def evaluate(self, c: np.ndarray, v: np.ndarray | None) -> Evaluation:
        """Evaluate the network at c (k, m, F), and along v if it is given."""
        return _Evaluation(self._neurons, self._columns, self._outputs, self._whole, c, v)


class ListedMixtures:
    """Given mixed points, in their order."""

    def __init__(self, layout: Layout, neurons: Neurons, columns: Columns, points: ListedPairs) -> None:
        self._neurons, self._columns = neurons, columns
        self._outputs = ListedOutputs(layout, points, neurons)
        self._whole = Whole(points.first, points.second, soft_labels(neurons.k, *self._outputs.labels, points.lam))

    def describe(self) -> str:
        """Say in words which algorithm this is."""
        return f"shared noise, {len(self._whole.first)} mixed points, neurons summed one by one"

    def evaluate(self, c: np.ndarray, v: np.ndarray | None) -> Evaluation:
        """Evaluate the network at c (k, m, F), and along v if it is given."""
        return _Evaluation(self._neurons, self._columns, self._outputs, self._whole, c, v)


class _Evaluation(Evaluation):
    """Outputs are formed at once, in one call for each range of classes; what is pulled back waits until the gradient is asked for."""

    def __init__(self, neurons: Neurons, columns: Columns, outputs: Outputs, whole: Whole, c: np.ndarray, v: np.ndarray | None) -> None:
        self._neurons, self._columns, self._of, self._whole = neurons, columns, outputs, whole
        self._columns_at_c = columns.buffer
        self._g = np.empty(whole.targets.shape)
        self._change: np.ndarray | None = None
        fill = columns.filling(c, self._columns_at_c)
        if v is None:

            def forward(y0: int, y1: int) -> None:
                fill(y0, y1)
                outputs.values(y0, y1, self._columns_at_c, self._g)

        else:
            self._moves, self._dg = np.empty(columns.shape), np.empty(whole.targets.shape)
            fill_moves = columns.filling(v, self._moves)

            def forward(y0: int, y1: int) -> None:
                fill(y0, y1)
                fill_moves(y0, y1)
                outputs.values(y0, y1, self._columns_at_c, self._g)
                outputs.tangents(y0, y1, self._columns_at_c, self._moves, self._dg)

        neurons.run(forward)

    def batches(self) -> Iterator[Whole]:
        yield self._whole

    def targets(self, batch: Whole) -> np.ndarray:
        return batch.targets

    def outputs(self, batch: Whole) -> np.ndarray:
        return self._g

    def tangents(self, batch: Whole) -> np.ndarray:
        return self._dg

    # No function is kept that knows this object: it would be freed late, and its arrays with it.

    def pull_back(self, batch: Whole, residual: np.ndarray) -> None:
        self._residual, self._change = residual, None

    def pull_back_tangent(self, batch: Whole, residual: np.ndarray, change: np.ndarray) -> None:
        self._residual, self._change = residual, change

    def gradient(self) -> np.ndarray:
        of, columns, residual, change = self._of, self._columns_at_c, self._residual, self._change
        if change is None:
            return self._columns.pulled_back(lambda y0, y1, out: of.pull_back(y0, y1, columns, residual, out))
        return self._columns.pulled_back(lambda y0, y1, out: of.pull_back_tangent(y0, y1, columns, self._moves, residual, change, out))

    def mean(self, batch: Whole, values: np.ndarray) -> float:
        return float(values.mean())

    def weighted(self, batch: Whole, residual: np.ndarray) -> np.ndarray:
        return residual / residual.shape[1]
