"""Outputs on given mixed points when noise is shared: signal on noise, signal on signal where they coincide, and noise on noise many times."""

from __future__ import annotations

import numpy as np

from mvsim.losses.points import ListedPairs
from mvsim.multi_view.kernels.shared_noise.layout import Layout, listed_terms
from mvsim.multi_view.kernels.shared_noise.loops import terms as compiled
from mvsim.multi_view.kernels.shared_noise.sums_direct import Neurons


class ListedOutputs:
    """Every activation evaluated by itself."""

    def __init__(self, layout: Layout, points: ListedPairs, neurons: Neurons) -> None:
        place = np.empty_like(layout.order)
        place[layout.order] = np.arange(len(layout.order))
        first, second = place[points.first], place[points.second]
        self._activation = neurons.activation
        self.labels = layout.labels[first], layout.labels[second]
        self._terms = listed_terms(layout, first, second, points.lam)

    def values(self, y0: int, y1: int, columns: np.ndarray, g: np.ndarray) -> None:
        """Fill g (k, M) with the outputs."""
        g[y0:y1] = 0.0
        compiled.term_values(y0, y1, columns, self._terms, g, self._activation)

    def tangents(self, y0: int, y1: int, columns: np.ndarray, moves: np.ndarray, dg: np.ndarray) -> None:
        """Fill dg (k, M) with the derivative of `values` along moves."""
        dg[y0:y1] = 0.0
        compiled.term_tangents(y0, y1, columns, moves, self._terms, dg, self._activation)

    def pull_back(self, y0: int, y1: int, columns: np.ndarray, residual: np.ndarray, out: np.ndarray) -> None:
        """Add the adjoint of `values` at residual (k, M) to out, the shape of columns."""
        compiled.term_pull_back(y0, y1, columns, self._terms, residual, out, self._activation)

    def pull_back_tangent(
        self, y0: int, y1: int, columns: np.ndarray, moves: np.ndarray, residual: np.ndarray, change: np.ndarray, out: np.ndarray
    ) -> None:
        """Add the derivative of `pull_back` along (moves, change) to out."""
        compiled.term_pull_back_tangent(y0, y1, columns, moves, self._terms, residual, change, out, self._activation)
