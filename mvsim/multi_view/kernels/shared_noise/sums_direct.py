"""Which neurons there are, and sums over them one by one: the tables behind the factored kernel for any power.

Everything here and in `sums_by_moments` works on a range y0 .. y1 - 1 of classes and owns these rows of the results, so that a range
can go through several steps on one thread.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy

import numpy as np

from mvsim.multi_view.activations import Activation
from mvsim.multi_view.kernels.jit.threads import run_ranges
from mvsim.multi_view.kernels.shared_noise.layout import Layout, PairPlan, Terms, block_terms, noise_terms, signal_terms
from mvsim.multi_view.kernels.shared_noise.loops import terms as compiled
from mvsim.multi_view.kernels.shared_noise.tables import Derivatives, Values
from mvsim.multi_view.parameters import Parameters


class Neurons:
    """The activation as the compiled loops take it, and the threads on which they run.

    activation    As the compiled loops take it.
    scale         See `mvsim.multi_view.activations.Activation.scale`.
    moment_order  See `mvsim.multi_view.activations.Activation.moment_order`.
    """

    def __init__(self, parameters: Parameters, threads: int, activation: Activation) -> None:
        self.k, self.m = parameters.k, parameters.m
        self.threads = threads
        self.activation, self.scale, self.moment_order = activation.compiled, activation.scale, activation.moment_order

    def of_number(self, m: int) -> Neurons:
        """Return the same with m neurons of each class."""
        others = copy(self)
        others.m = m
        return others

    @property
    def how(self) -> str:
        """How neurons are summed, in words."""
        return "one by one" if self.moment_order is None else "by moments"

    def run(self, work: Callable[[int, int], None]) -> None:
        """Call work(y0, y1) on ranges of classes."""
        run_ranges(self.k, self.threads, work)

    def run_blocks(self, size: int, work: Callable[[int, int], None]) -> None:
        """Call work(start, stop) on ranges of 0 .. size - 1."""
        run_ranges(size, self.threads, work)


class DirectSums:
    """Every activation evaluated by itself."""

    def __init__(self, layout: Layout, plan: PairPlan, neurons: Neurons) -> None:
        self._plan, self._activation = plan, neurons.activation
        self._signals = layout.feature, layout.signal
        self._terms = Terms.join(block_terms(layout, plan), signal_terms(layout, plan, plan.meetings), noise_terms(layout, plan))

    def values(self, y0: int, y1: int, columns: np.ndarray, tables: Values) -> None:
        """Fill the tables at the given columns (k, F + G, m), in units of the scale of the activation."""
        for lam, table in tables.roles(self._plan):
            compiled.table_values(y0, y1, columns, compiled.Signals(*self._signals, lam), table, self._activation)
        tables.terms[y0:y1] = 0.0
        compiled.term_values(y0, y1, columns, self._terms, tables.terms, self._activation)

    def tangents(self, y0: int, y1: int, columns: np.ndarray, moves: np.ndarray, tables: Values) -> None:
        """Fill the tables with the derivative of `values` along moves, in units of the scale of the activation."""
        for lam, table in tables.roles(self._plan):
            compiled.table_tangents(y0, y1, columns, moves, compiled.Signals(*self._signals, lam), table, self._activation)
        tables.terms[y0:y1] = 0.0
        compiled.term_tangents(y0, y1, columns, moves, self._terms, tables.terms, self._activation)

    def pull_back(self, y0: int, y1: int, columns: np.ndarray, D: Derivatives, out: np.ndarray) -> None:
        """Add the adjoint of `values` at D, by the columns times that scale, to out, the shape of columns."""
        for lam, residual in D.roles(self._plan):
            compiled.table_pull_back(y0, y1, columns, compiled.Signals(*self._signals, lam), residual, out, self._activation)
        compiled.term_pull_back(y0, y1, columns, self._terms, D.terms, out, self._activation)

    def pull_back_tangent(self, y0: int, y1: int, columns: np.ndarray, moves: np.ndarray, D: Derivatives, dD: Derivatives, out: np.ndarray) -> None:
        """Add the derivative of `pull_back` along (moves, dD) to out."""
        for (lam, residual), (_, change) in zip(D.roles(self._plan), dD.roles(self._plan), strict=True):
            compiled.table_pull_back_tangent(y0, y1, columns, moves, compiled.Signals(*self._signals, lam), residual, change, out, self._activation)
        compiled.term_pull_back_tangent(y0, y1, columns, moves, self._terms, D.terms, dD.terms, out, self._activation)
