"""From correlations to columns, and derivatives by columns back to correlations.

Columns (k, F + G, m) are correlations with the F features, then pre-activations of the G noise patterns, in units of the scale of the activation.
Evaluations work in the same memory again and again: taking it fresh from the system would cost as much as what is computed in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property

import numpy as np

from mvsim.multi_view.kernels.shared_noise.layout import Layout
from mvsim.multi_view.kernels.shared_noise.loops.columns import fill_columns, pull_back_columns
from mvsim.multi_view.kernels.shared_noise.sums_direct import Neurons


class Columns:
    """The columns of one data set."""

    def __init__(self, layout: Layout, neurons: Neurons) -> None:
        self._patterns, self._neurons = layout.patterns, neurons
        self.shape = (neurons.k, layout.features + len(layout.patterns), neurons.m)
        self._keep = True

    @property
    def buffer(self) -> np.ndarray:
        """Memory for the columns at one c, used again and again unless `temporary`."""
        return self._buffer if self._keep else np.empty(self.shape)

    @cached_property
    def _buffer(self) -> np.ndarray:
        return np.empty(self.shape)

    @contextmanager
    def temporary(self) -> Iterator[None]:
        """Work in memory that is not kept."""
        self._keep = False
        try:
            yield
        finally:
            self._keep = True

    @cached_property
    def _derivative_buffer(self) -> np.ndarray:
        return np.empty(self.shape)

    def at(self, c: np.ndarray) -> np.ndarray:
        """Return the columns at c (k, m, F), in memory of their own."""
        columns = np.empty(self.shape)
        self._neurons.run(self.filling(c, columns))
        return columns

    def filling(self, c: np.ndarray, columns: np.ndarray) -> Callable[[int, int], None]:
        """Return what fills the columns of some classes."""
        patterns, over_scale = self._patterns, 1.0 / self._neurons.scale
        return lambda y0, y1: fill_columns(y0, y1, c, patterns, over_scale, columns)

    def pulled_back(self, pull_back: Callable[[int, int, np.ndarray], None]) -> np.ndarray:
        """Return the derivative by c (k, m, F): ``pull_back`` adds that by the columns times the scale for some classes."""
        k, width, m = self.shape
        out, gradient = self._derivative_buffer, np.empty((k, m, width - len(self._patterns)))

        def backward(y0: int, y1: int) -> None:
            out[y0:y1] = 0.0
            pull_back(y0, y1, out)
            pull_back_columns(y0, y1, out, self._patterns, gradient)

        self._neurons.run(backward)
        return gradient
