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
from mvsim.multi_view.kernels.shared_noise.point_outputs import Part, parts_of_listed_pairs, parts_of_single_points
from mvsim.multi_view.kernels.shared_noise.sums_direct import Neurons


class Whole(NamedTuple):
    """All points: the original indices of their first and second points, and their soft labels (k, n)."""

    first: np.ndarray
    second: np.ndarray
    targets: np.ndarray


class SeparatePoints:
    """Points in one batch, whose outputs are sums of parts."""

    def __init__(self, neurons: Neurons, columns: Columns, parts: list[Part], whole: Whole, words: str) -> None:
        self.neurons, self.columns, self.parts, self.whole, self._words = neurons, columns, parts, whole, words

    @classmethod
    def single(cls, layout: Layout, neurons: Neurons, columns: Columns, points: Unmixed) -> SeparatePoints:
        """Return the points of the data, sorted by noise pattern."""
        whole = Whole(layout.order, layout.order, soft_labels(neurons.k, layout.labels, layout.labels, 1.0))
        return cls(neurons, columns, parts_of_single_points(layout, neurons), whole, f"shared noise, neurons summed {neurons.how}")

    @classmethod
    def listed(cls, layout: Layout, neurons: Neurons, columns: Columns, points: ListedPairs) -> SeparatePoints:
        """Return given mixed points, in their order."""
        labels, place = layout.labels, np.argsort(layout.order)
        targets = soft_labels(neurons.k, labels[place[points.first]], labels[place[points.second]], points.lam)
        whole, words = Whole(points.first, points.second, targets), f"shared noise, {len(points.first)} mixed points, neurons summed one by one"
        return cls(neurons, columns, parts_of_listed_pairs(layout, neurons, points), whole, words)

    def describe(self) -> str:
        """Say in words which algorithm this is."""
        return self._words

    def evaluate(self, c: np.ndarray, v: np.ndarray | None) -> Evaluation:
        """Evaluate the network at c (k, m, F), and along v if it is given."""
        return _Evaluation(self, c, v)


class _Evaluation(Evaluation):
    """Outputs are formed at once, in one call for each range of classes; what is pulled back waits until the gradient is asked for."""

    def __init__(self, points: SeparatePoints, c: np.ndarray, v: np.ndarray | None) -> None:
        self._of, columns, shape = points, points.columns, points.whole.targets.shape
        self._columns_at_c, self._g = columns.buffer, np.empty(shape)
        self._change: np.ndarray | None = None
        fill = columns.filling(c, self._columns_at_c)
        if v is not None:
            self._moves, self._dg = np.empty(columns.shape), np.empty(shape)
            fill_moves = columns.filling(v, self._moves)

        def forward(y0: int, y1: int) -> None:
            fill(y0, y1)
            self._g[y0:y1] = 0.0
            for part in points.parts:
                part.values(y0, y1, self._columns_at_c, self._g)
            if v is not None:
                fill_moves(y0, y1)
                self._dg[y0:y1] = 0.0
                for part in points.parts:
                    part.tangents(y0, y1, self._columns_at_c, self._moves, self._dg)

        points.neurons.run(forward)

    def batches(self) -> Iterator[Whole]:
        yield self._of.whole

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
        def backward(y0: int, y1: int, out: np.ndarray) -> None:
            for part in self._of.parts:
                if self._change is None:
                    part.pull_back(y0, y1, self._columns_at_c, self._residual, out)
                else:
                    part.pull_back_tangent(y0, y1, self._columns_at_c, self._moves, self._residual, self._change, out)

        return self._of.columns.pulled_back(backward)

    def mean(self, batch: Whole, values: np.ndarray) -> float:
        """Return the mean: all points have the same weight."""
        return float(values.mean())

    def weighted(self, batch: Whole, residual: np.ndarray) -> np.ndarray:
        return residual / residual.shape[1]
