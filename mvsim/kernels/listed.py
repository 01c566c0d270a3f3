"""Outputs on given mixed points when noise is shared: signal on noise, signal on signal where they coincide, and noise on noise many times."""

from __future__ import annotations

import numpy as np

from mvsim.kernels import _compiled as compiled
from mvsim.kernels.neuron_sums import Neurons
from mvsim.kernels.pairing import Layout, listed_terms
from mvsim.kernels.points import ListedPairs


class ListedOutputs:
    """Every activation evaluated by itself.

    Parameters
    ----------
    layout : Layout
        The data.
    points : ListedPairs
        The mixed points, by the original indices of the data.
    neurons : Neurons
        Runs the loops.
    """

    def __init__(self, layout: Layout, points: ListedPairs, neurons: Neurons) -> None:
        place = np.empty_like(layout.order)
        place[layout.order] = np.arange(len(layout.order))
        first, second = place[points.first], place[points.second]
        self.neurons, self._count = neurons, len(first)
        self.labels = layout.labels[first], layout.labels[second]
        self._terms = listed_terms(layout, first, second, points.lam).arrays

    def values(self, columns: np.ndarray) -> np.ndarray:
        """Return (k, M) outputs."""
        g = np.zeros((self.neurons.k, self._count))
        self.neurons.run(compiled.term_values, columns, *self._terms, g)
        return g

    def tangents(self, columns: np.ndarray, moves: np.ndarray) -> np.ndarray:
        """Return (k, M): the derivative of `values` along moves."""
        dg = np.zeros((self.neurons.k, self._count))
        self.neurons.run(compiled.term_tangents, columns, moves, *self._terms, dg)
        return dg

    def pull_back(self, columns: np.ndarray, residual: np.ndarray, out: np.ndarray) -> None:
        """Add the adjoint of `values` at residual (k, M) to out, the shape of columns."""
        self.neurons.run(compiled.term_pull_back, columns, *self._terms, residual, out)

    def pull_back_tangent(self, columns: np.ndarray, moves: np.ndarray, residual: np.ndarray, change: np.ndarray, out: np.ndarray) -> None:
        """Add the derivative of `pull_back` along (moves, change) to out."""
        self.neurons.run(compiled.term_pull_back_tangent, columns, moves, *self._terms, residual, change, out)
