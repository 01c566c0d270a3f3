"""Outputs on the points themselves when noise is shared: g(x_i) = sum over signal patches + (P - V C_P) times the noise pattern of x_i."""

from __future__ import annotations

import numpy as np

from mvsim.multi_view.kernels.shared_noise.layout import Layout, unmixed_noise_terms, unmixed_signal_terms
from mvsim.multi_view.kernels.shared_noise.loops import terms as compiled
from mvsim.multi_view.kernels.shared_noise.sums_by_moments import UnmixedMoments
from mvsim.multi_view.kernels.shared_noise.sums_direct import Neurons


class DirectOutputs:
    """Every activation evaluated by itself."""

    def __init__(self, layout: Layout, neurons: Neurons) -> None:
        self._activation, self._noise = neurons.activation, _NoiseShare(layout, neurons)
        self._terms = unmixed_signal_terms(layout)

    def values(self, y0: int, y1: int, columns: np.ndarray, g: np.ndarray) -> None:
        """Fill g (k, N) with the outputs."""
        g[y0:y1] = 0.0
        compiled.term_values(y0, y1, columns, self._terms, g, self._activation)
        self._noise.add_values(y0, y1, columns, g)

    def tangents(self, y0: int, y1: int, columns: np.ndarray, moves: np.ndarray, dg: np.ndarray) -> None:
        """Fill dg (k, N) with the derivative of `values` along moves."""
        dg[y0:y1] = 0.0
        compiled.term_tangents(y0, y1, columns, moves, self._terms, dg, self._activation)
        self._noise.add_tangents(y0, y1, columns, moves, dg)

    def pull_back(self, y0: int, y1: int, columns: np.ndarray, residual: np.ndarray, out: np.ndarray) -> None:
        """Add the adjoint of `values` at residual (k, N) to out, the shape of columns."""
        compiled.term_pull_back(y0, y1, columns, self._terms, residual, out, self._activation)
        self._noise.pull_back(y0, y1, columns, residual, out)

    def pull_back_tangent(
        self, y0: int, y1: int, columns: np.ndarray, moves: np.ndarray, residual: np.ndarray, change: np.ndarray, out: np.ndarray
    ) -> None:
        """Add the derivative of `pull_back` along (moves, change) to out."""
        compiled.term_pull_back_tangent(y0, y1, columns, moves, self._terms, residual, change, out, self._activation)
        self._noise.pull_back_tangent(y0, y1, columns, moves, residual, change, out)


class MomentOutputs:
    """The signal patches by moments."""

    def __init__(self, layout: Layout, neurons: Neurons, order: int) -> None:
        self._signal, self._noise = UnmixedMoments(layout, neurons, order), _NoiseShare(layout, neurons)

    def values(self, y0: int, y1: int, columns: np.ndarray, g: np.ndarray) -> None:
        """Fill g (k, N) with the outputs."""
        self._signal.values(y0, y1, columns, g)
        self._noise.add_values(y0, y1, columns, g)

    def tangents(self, y0: int, y1: int, columns: np.ndarray, moves: np.ndarray, dg: np.ndarray) -> None:
        """Fill dg (k, N) with the derivative of `values` along moves."""
        self._signal.tangents(y0, y1, columns, moves, dg)
        self._noise.add_tangents(y0, y1, columns, moves, dg)

    def pull_back(self, y0: int, y1: int, columns: np.ndarray, residual: np.ndarray, out: np.ndarray) -> None:
        """Add the adjoint of `values` at residual (k, N) to out, the shape of columns."""
        self._signal.pull_back(y0, y1, columns, residual, out)
        self._noise.pull_back(y0, y1, columns, residual, out)

    def pull_back_tangent(
        self, y0: int, y1: int, columns: np.ndarray, moves: np.ndarray, residual: np.ndarray, change: np.ndarray, out: np.ndarray
    ) -> None:
        """Add the derivative of `pull_back` along (moves, change) to out."""
        self._signal.pull_back_tangent(y0, y1, columns, moves, residual, change, out)
        self._noise.pull_back_tangent(y0, y1, columns, moves, residual, change, out)


class _NoiseShare:
    """(P - V C_P) sum_r R(n_{g,r}), evaluated once for each pattern and spread over its points, which are consecutive."""

    def __init__(self, layout: Layout, neurons: Neurons) -> None:
        self._activation, self._shape = neurons.activation, (neurons.k, len(layout.patterns))
        self._terms = unmixed_noise_terms(layout)
        self._pattern, self._start = layout.pattern, layout.start[:-1]
        self._times = float(layout.P - layout.signal.shape[1])

    def add_values(self, y0: int, y1: int, columns: np.ndarray, g: np.ndarray) -> None:
        share = np.zeros(self._shape)
        compiled.term_values(y0, y1, columns, self._terms, share, self._activation)
        g[y0:y1] += self._times * share[y0:y1, self._pattern]

    def add_tangents(self, y0: int, y1: int, columns: np.ndarray, moves: np.ndarray, dg: np.ndarray) -> None:
        change = np.zeros(self._shape)
        compiled.term_tangents(y0, y1, columns, moves, self._terms, change, self._activation)
        dg[y0:y1] += self._times * change[y0:y1, self._pattern]

    def pull_back(self, y0: int, y1: int, columns: np.ndarray, residual: np.ndarray, out: np.ndarray) -> None:
        compiled.term_pull_back(y0, y1, columns, self._terms, self._gathered(y0, y1, residual), out, self._activation)

    def pull_back_tangent(
        self, y0: int, y1: int, columns: np.ndarray, moves: np.ndarray, residual: np.ndarray, change: np.ndarray, out: np.ndarray
    ) -> None:
        gathered = self._gathered(y0, y1, residual), self._gathered(y0, y1, change)
        compiled.term_pull_back_tangent(y0, y1, columns, moves, self._terms, *gathered, out, self._activation)

    def _gathered(self, y0: int, y1: int, residual: np.ndarray) -> np.ndarray:
        gathered = np.empty(self._shape)
        gathered[y0:y1] = self._times * np.add.reduceat(residual[y0:y1], self._start, axis=1)
        return gathered
