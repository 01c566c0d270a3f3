"""Outputs on the points themselves when noise is shared: g(x_i) = sum over signal patches + (P - 2 C_P) times the noise pattern of x_i."""

from __future__ import annotations

import numpy as np

from mvsim.kernels import _compiled as compiled
from mvsim.kernels.neuron_sums import Neurons, UnmixedMoments
from mvsim.kernels.pairing import Layout, unmixed_noise_terms, unmixed_signal_terms


class DirectOutputs:
    """Every activation evaluated by itself; has tangents."""

    def __init__(self, layout: Layout, neurons: Neurons) -> None:
        self.neurons, self.noise = neurons, _NoiseShare(layout, neurons)
        self._terms = unmixed_signal_terms(layout)
        self._N = len(layout.labels)

    def values(self, columns: np.ndarray) -> np.ndarray:
        """Return (k, N) outputs."""
        return self.neurons.term_values(columns, self._terms, self._N) + self.noise.values(columns)

    def tangents(self, columns: np.ndarray, moves: np.ndarray) -> np.ndarray:
        """Return (k, N): the derivative of `values` along moves."""
        signal = np.zeros((self.neurons.k, self._N))
        self.neurons.run(compiled.term_tangents, columns, moves, *self._terms.arrays, signal)
        return signal + self.noise.tangents(columns, moves)

    def pull_back(self, columns: np.ndarray, residual: np.ndarray, out: np.ndarray) -> None:
        """Add the adjoint of `values` at residual (k, N) to out, the shape of columns."""
        self.neurons.run(compiled.term_pull_back, columns, *self._terms.arrays, residual, out)
        self.noise.pull_back(columns, residual, out)

    def pull_back_tangent(self, columns: np.ndarray, moves: np.ndarray, residual: np.ndarray, change: np.ndarray, out: np.ndarray) -> None:
        """Add the derivative of `pull_back` along (moves, change) to out."""
        self.neurons.run(compiled.term_pull_back_tangent, columns, moves, *self._terms.arrays, residual, change, out)
        self.noise.pull_back_tangent(columns, moves, residual, change, out)


class MomentOutputs:
    """The signal patches by moments."""

    def __init__(self, layout: Layout, neurons: Neurons) -> None:
        self.signal, self.noise = UnmixedMoments(layout, neurons), _NoiseShare(layout, neurons)

    def values(self, columns: np.ndarray) -> np.ndarray:
        """Return (k, N) outputs."""
        return self.signal.values(columns) + self.noise.values(columns)

    def pull_back(self, columns: np.ndarray, residual: np.ndarray, out: np.ndarray) -> None:
        """Add the adjoint of `values` at residual (k, N) to out, the shape of columns."""
        self.signal.pull_back(columns, residual, out)
        self.noise.pull_back(columns, residual, out)


class _NoiseShare:
    """(P - 2 C_P) sum_r R(n_{g,r}), evaluated once for each pattern and spread over its points, which are consecutive."""

    def __init__(self, layout: Layout, neurons: Neurons) -> None:
        self.neurons = neurons
        self._terms = unmixed_noise_terms(layout)
        self._G = len(layout.patterns)
        self._pattern, self._start = layout.pattern, layout.start[:-1]
        self._times = float(layout.P - layout.signal.shape[1])

    def values(self, columns: np.ndarray) -> np.ndarray:
        return self._times * self.neurons.term_values(columns, self._terms, self._G)[:, self._pattern]

    def tangents(self, columns: np.ndarray, moves: np.ndarray) -> np.ndarray:
        change = np.zeros((self.neurons.k, self._G))
        self.neurons.run(compiled.term_tangents, columns, moves, *self._terms.arrays, change)
        return self._times * change[:, self._pattern]

    def pull_back(self, columns: np.ndarray, residual: np.ndarray, out: np.ndarray) -> None:
        self.neurons.run(compiled.term_pull_back, columns, *self._terms.arrays, self._gathered(residual), out)

    def pull_back_tangent(self, columns: np.ndarray, moves: np.ndarray, residual: np.ndarray, change: np.ndarray, out: np.ndarray) -> None:
        terms = self._terms.arrays
        self.neurons.run(compiled.term_pull_back_tangent, columns, moves, *terms, self._gathered(residual), self._gathered(change), out)

    def _gathered(self, residual: np.ndarray) -> np.ndarray:
        return self._times * np.add.reduceat(residual, self._start, axis=1)
