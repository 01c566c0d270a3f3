"""Points that are evaluated one by one: those of the data, and given mixed ones. All of them are one batch.

Outputs are sums of parts:

    g(x_i) = sum over signal patches + (P - V C_P) times the noise pattern of x_i,

and on mixed points signal on noise, signal on signal where they coincide, and noise on noise many times.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np

from mvsim.losses import ListedPairs, Unmixed
from mvsim.losses.points import soft_labels
from mvsim.multi_view.kernels.evaluation import Evaluation
from mvsim.multi_view.kernels.shared_noise.columns import Columns
from mvsim.multi_view.kernels.shared_noise.layout import Layout, Terms, listed_terms, unmixed_noise_terms, unmixed_signal_terms
from mvsim.multi_view.kernels.shared_noise.loops import terms as compiled
from mvsim.multi_view.kernels.shared_noise.sums_by_moments import UnmixedMoments
from mvsim.multi_view.kernels.shared_noise.sums_direct import Neurons


class Part(Protocol):
    """A part of the outputs of classes y0 .. y1 - 1, at columns (k, F + G, m)."""

    def values(self, y0: int, y1: int, columns: np.ndarray, g: np.ndarray) -> None:
        """Add the part to g (k, n)."""

    def tangents(self, y0: int, y1: int, columns: np.ndarray, moves: np.ndarray, dg: np.ndarray) -> None:
        """Add the derivative of `values` along moves to dg (k, n)."""

    def pull_back(self, y0: int, y1: int, columns: np.ndarray, residual: np.ndarray, out: np.ndarray) -> None:
        """Add the adjoint of `values` at residual (k, n) to out, the shape of columns."""

    def pull_back_tangent(
        self, y0: int, y1: int, columns: np.ndarray, moves: np.ndarray, residual: np.ndarray, change: np.ndarray, out: np.ndarray
    ) -> None:
        """Add the derivative of `pull_back` along (moves, change) to out."""


class TermPart:
    """Every activation evaluated by itself."""

    def __init__(self, terms: Terms, neurons: Neurons) -> None:
        self._terms, self._activation = terms, neurons.activation

    def values(self, y0: int, y1: int, columns: np.ndarray, g: np.ndarray) -> None:
        compiled.term_values(y0, y1, columns, self._terms, g, self._activation)

    def tangents(self, y0: int, y1: int, columns: np.ndarray, moves: np.ndarray, dg: np.ndarray) -> None:
        compiled.term_tangents(y0, y1, columns, moves, self._terms, dg, self._activation)

    def pull_back(self, y0: int, y1: int, columns: np.ndarray, residual: np.ndarray, out: np.ndarray) -> None:
        compiled.term_pull_back(y0, y1, columns, self._terms, residual, out, self._activation)

    def pull_back_tangent(
        self, y0: int, y1: int, columns: np.ndarray, moves: np.ndarray, residual: np.ndarray, change: np.ndarray, out: np.ndarray
    ) -> None:
        compiled.term_pull_back_tangent(y0, y1, columns, moves, self._terms, residual, change, out, self._activation)


class NoisePart:
    """(P - V C_P) sum_r R(n_{g,r}), evaluated once for each pattern and spread over its points, which are consecutive."""

    def __init__(self, layout: Layout, neurons: Neurons) -> None:
        self._of_patterns, self._shape = TermPart(unmixed_noise_terms(layout), neurons), (neurons.k, len(layout.patterns))
        self._pattern, self._start = layout.pattern, layout.start[:-1]
        self._times = float(layout.P - layout.signal.shape[1])

    def values(self, y0: int, y1: int, columns: np.ndarray, g: np.ndarray) -> None:
        share = np.zeros(self._shape)
        self._of_patterns.values(y0, y1, columns, share)
        g[y0:y1] += self._times * share[y0:y1, self._pattern]

    def tangents(self, y0: int, y1: int, columns: np.ndarray, moves: np.ndarray, dg: np.ndarray) -> None:
        change = np.zeros(self._shape)
        self._of_patterns.tangents(y0, y1, columns, moves, change)
        dg[y0:y1] += self._times * change[y0:y1, self._pattern]

    def pull_back(self, y0: int, y1: int, columns: np.ndarray, residual: np.ndarray, out: np.ndarray) -> None:
        self._of_patterns.pull_back(y0, y1, columns, self._gathered(y0, y1, residual), out)

    def pull_back_tangent(
        self, y0: int, y1: int, columns: np.ndarray, moves: np.ndarray, residual: np.ndarray, change: np.ndarray, out: np.ndarray
    ) -> None:
        gathered = self._gathered(y0, y1, residual), self._gathered(y0, y1, change)
        self._of_patterns.pull_back_tangent(y0, y1, columns, moves, *gathered, out)

    def _gathered(self, y0: int, y1: int, residual: np.ndarray) -> np.ndarray:
        gathered = np.empty(self._shape)
        gathered[y0:y1] = self._times * np.add.reduceat(residual[y0:y1], self._start, axis=1)
        return gathered


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
        order = neurons.moment_order
        signal = TermPart(unmixed_signal_terms(layout), neurons) if order is None else UnmixedMoments(layout, neurons, order)
        whole = Whole(layout.order, layout.order, soft_labels(neurons.k, layout.labels, layout.labels, 1.0))
        return cls(neurons, columns, [signal, NoisePart(layout, neurons)], whole, f"shared noise, neurons summed {neurons.how}")

    @classmethod
    def listed(cls, layout: Layout, neurons: Neurons, columns: Columns, points: ListedPairs) -> SeparatePoints:
        """Return given mixed points, in their order."""
        place = np.argsort(layout.order)
        first, second = place[points.first], place[points.second]
        targets = soft_labels(neurons.k, layout.labels[first], layout.labels[second], points.lam)
        whole, words = Whole(points.first, points.second, targets), f"shared noise, {len(points.first)} mixed points, neurons summed one by one"
        return cls(neurons, columns, [TermPart(listed_terms(layout, first, second, points.lam), neurons)], whole, words)

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
