"""Outputs of points that are evaluated one by one, as sums of parts, each with its derivatives.

    g(x_i) = sum over signal patches + (P - V C_P) times the noise pattern of x_i,

and on mixed points signal on noise, signal on signal where they coincide, and noise on noise many times.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from mvsim.losses import ListedPairs
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


def parts_of_single_points(layout: Layout, neurons: Neurons) -> list[Part]:
    """Return the parts of the outputs on the points of the data, in the order of the layout."""
    order = neurons.moment_order
    signal = TermPart(unmixed_signal_terms(layout), neurons) if order is None else UnmixedMoments(layout, neurons, order)
    return [signal, NoisePart(layout, neurons)]


def parts_of_listed_pairs(layout: Layout, neurons: Neurons, points: ListedPairs) -> list[Part]:
    """Return the parts of the outputs on given mixed points."""
    place = np.argsort(layout.order)
    return [TermPart(listed_terms(layout, place[points.first], place[points.second], points.lam), neurons)]
