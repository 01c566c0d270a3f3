"""The sums over neurons behind the factored kernel, and their adjoints: term by term for any power, by moments for integer powers.

Both fill the same `Tables`, to round-off; `DirectSums` also gives derivatives along a direction, which Hessian-vector products need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from mvsim.kernels import _compiled as compiled
from mvsim.kernels._moments import moment_pull_back, moment_values
from mvsim.kernels.pair_blocks import Tables
from mvsim.kernels.pairing import Layout, PairPlan, Terms, block_terms, noise_terms, signal_terms
from mvsim.kernels.threads import run_ranges
from mvsim.parameters import Parameters


class Neurons:
    """Calls compiled loops on ranges of classes, one range for each thread; each range owns its rows of the results.

    Parameters
    ----------
    parameters : Parameters
        k, rho and alpha are used.
    threads : int
        Number of threads.
    """

    def __init__(self, parameters: Parameters, threads: int) -> None:
        self.k = parameters.k
        self.threads = threads
        self.alpha = parameters.alpha
        self._activation = (parameters.rho, parameters.alpha, compiled.power_tag(parameters.alpha))
        # A BLAS with threads of its own would fight with ours for the cores and give bits that depend on their number.
        self._blas = ThreadpoolController()

    @property
    def integer_power(self) -> bool:
        """Whether alpha is an integer small enough for moments."""
        return isinstance(self._activation[2], tuple)

    def run(self, loop: Callable[..., None], *arrays: Any) -> None:
        """Call loop(y0, y1, *arrays, rho, alpha, power)."""
        with self._blas.limit(limits=1, user_api="blas"):
            run_ranges(self.k, self.threads, lambda y0, y1: loop(y0, y1, *arrays, *self._activation))

    def run_blocks(self, size: int, work: Callable[[int, int], None]) -> None:
        """Call work(start, stop) on ranges of 0 .. size - 1."""
        with self._blas.limit(limits=1, user_api="blas"):
            run_ranges(size, self.threads, work)

    def exponential(self, values: np.ndarray) -> np.ndarray:
        """Return exp(values) for values (k, ...)."""
        out = np.empty_like(values)
        run_ranges(self.k, self.threads, lambda y0, y1: np.exp(values[y0:y1], out=out[y0:y1]))
        return out

    def term_values(self, columns: np.ndarray, terms: Terms, count: int) -> np.ndarray:
        """Return (k, count): the sums of the terms of each point."""
        outputs = np.zeros((self.k, count))
        self.run(compiled.term_values, columns, *terms.arrays, outputs)
        return outputs


class DirectSums:
    """Every activation evaluated by itself.

    Parameters
    ----------
    layout : Layout
        The data.
    plan : PairPlan
        The pairs.
    neurons : Neurons
        Runs the loops.
    """

    def __init__(self, layout: Layout, plan: PairPlan, neurons: Neurons) -> None:
        self.layout, self.plan, self.neurons = layout, plan, neurons
        self._terms = Terms.join(block_terms(layout, plan), signal_terms(layout, plan, plan.meetings), noise_terms(layout, plan))

    def values(self, columns: np.ndarray) -> Tables:
        """Return the tables at the given columns (k, 2k + G, m)."""
        tables = Tables.zeros(self.neurons.k, self.layout, self.plan)
        for lam, table in tables.roles(self.plan):
            self.neurons.run(compiled.table_values, columns, self.layout.feature, self.layout.signal, lam, table)
        self.neurons.run(compiled.term_values, columns, *self._terms.arrays, tables.terms)
        return tables

    def tangents(self, columns: np.ndarray, moves: np.ndarray) -> Tables:
        """Return the derivative of `values` along moves."""
        tables = Tables.zeros(self.neurons.k, self.layout, self.plan)
        for lam, table in tables.roles(self.plan):
            self.neurons.run(compiled.table_tangents, columns, moves, self.layout.feature, self.layout.signal, lam, table)
        self.neurons.run(compiled.term_tangents, columns, moves, *self._terms.arrays, tables.terms)
        return tables

    def pull_back(self, columns: np.ndarray, D: Tables, out: np.ndarray) -> None:
        """Add the adjoint of `values` at D to out, the shape of columns."""
        for lam, residual in D.roles(self.plan):
            self.neurons.run(compiled.table_pull_back, columns, self.layout.feature, self.layout.signal, lam, residual, out)
        self.neurons.run(compiled.term_pull_back, columns, *self._terms.arrays, D.terms, out)

    def pull_back_tangent(self, columns: np.ndarray, moves: np.ndarray, D: Tables, dD: Tables, out: np.ndarray) -> None:
        """Add the derivative of `pull_back` along (moves, dD) to out."""
        for (lam, residual), (_, change) in zip(D.roles(self.plan), dD.roles(self.plan), strict=True):
            self.neurons.run(compiled.table_pull_back_tangent, columns, moves, self.layout.feature, self.layout.signal, lam, residual, change, out)
        self.neurons.run(compiled.term_pull_back_tangent, columns, moves, *self._terms.arrays, D.terms, dD.terms, out)


@dataclass(frozen=True)
class MomentTable:
    """The constant arrays of one table of `mvsim.kernels._moments`: points sorted by class, signal patches and single entries by feature."""

    lam: float
    class_start: np.ndarray
    class_points: np.ndarray
    moments: np.ndarray
    low: np.ndarray
    high: np.ndarray
    binomials: np.ndarray
    slot_start: np.ndarray
    slot_row: np.ndarray
    slot_signal: np.ndarray
    entry_start: np.ndarray
    entry_signal: np.ndarray
    entry_pattern: np.ndarray
    entry_point: np.ndarray

    @staticmethod
    def of(layout: Layout, alpha: float, lam: float, at: tuple[np.ndarray, np.ndarray], pattern: np.ndarray, point: np.ndarray) -> MomentTable:
        """Lay out a table; the single entries are the signal patches ``at`` (points, patches) on ``pattern``, to be taken from ``point``."""
        order, (N, S), F = int(alpha), layout.signal.shape, layout.base
        class_points = np.argsort(layout.labels, kind="stable")
        class_start = np.searchsorted(layout.labels[class_points], np.arange(F // 2 + 1))
        by_view = layout.signal[class_points].reshape(N, 2, S // 2)
        row = np.empty(N, np.int64)  # of each point within its class
        row[class_points] = np.arange(N) - class_start[layout.labels[class_points]]
        flat = layout.feature.ravel()
        by_feature = np.argsort(flat, kind="stable")
        low, high = np.full(F, np.inf), np.full(F, -np.inf)
        np.minimum.at(low, flat, layout.signal.ravel())
        np.maximum.at(high, flat, layout.signal.ravel())
        entry_feature = layout.feature[at]
        entries = np.argsort(entry_feature, kind="stable")
        edges = np.arange(F + 1)
        return MomentTable(
            lam=lam,
            class_start=class_start,
            class_points=class_points,
            moments=np.stack([(by_view**q).sum(axis=2) for q in range(order + 1)], axis=1).reshape(N, -1),
            low=low,
            high=high,
            binomials=np.array([comb(order, q) for q in range(order + 1)], dtype=np.float64),
            slot_start=np.searchsorted(flat[by_feature], edges),
            slot_row=row[by_feature // S],
            slot_signal=layout.signal.ravel()[by_feature],
            entry_start=np.searchsorted(entry_feature[entries], edges),
            entry_signal=layout.signal[at][entries],
            entry_pattern=pattern[entries],
            entry_point=point[entries],
        )

    @property
    def arrays(self) -> tuple[Any, ...]:
        """The arrays in the order in which the loops take them."""
        return tuple(getattr(self, name) for name in self.__dataclass_fields__)


_NOWHERE = (np.zeros(0, np.int64), np.zeros(0, np.int64))


class UnmixedMoments:
    """The signal part of g(x_i) by moments: a table at lam = 1 on a single pattern that is zero."""

    def __init__(self, layout: Layout, neurons: Neurons) -> None:
        self.layout, self.neurons = layout, neurons
        self._table = MomentTable.of(layout, neurons.alpha, 1.0, _NOWHERE, *_NOWHERE)
        self._no_entries = np.zeros((neurons.k, 0))

    def values(self, columns: np.ndarray) -> np.ndarray:
        """Return (k, N): sum over the signal patches of R(beta c)."""
        table = np.empty((self.neurons.k, 1, len(self.layout.labels)))
        self.neurons.run(moment_values, self._with_zero_pattern(columns), *self._table.arrays, table, self._no_entries)
        return table[:, 0]

    def pull_back(self, columns: np.ndarray, residual: np.ndarray, out: np.ndarray) -> None:
        """Add the adjoint of `values` at residual (k, N) to out, the shape of columns."""
        extended = self._with_zero_pattern(columns)
        extended_out = np.zeros_like(extended)
        residual = np.ascontiguousarray(residual)[:, None]
        self.neurons.run(moment_pull_back, extended, *self._table.arrays, residual, self._no_entries, extended_out)
        out[:, : self.layout.base] += extended_out[:, : self.layout.base]

    def _with_zero_pattern(self, columns: np.ndarray) -> np.ndarray:
        k, _, m = columns.shape
        return np.concatenate([columns[:, : self.layout.base], np.zeros((k, 1, m))], axis=1)


class MomentSums:
    """The same tables with the polynomial and linear regimes summed by moments, and the corrections read off tables already there.

    Parameters
    ----------
    layout : Layout
        The data.
    plan : PairPlan
        The pairs.
    neurons : Neurons
        Runs the loops; alpha must be an integer.
    """

    def __init__(self, layout: Layout, plan: PairPlan, neurons: Neurons) -> None:
        self.layout, self.plan, self.neurons = layout, plan, neurons
        meet, blocks = plan.meetings, len(plan.blocks)
        alone = meet.i == meet.j
        self._unmixed = UnmixedMoments(layout, neurons)
        self._own_points, first_of = np.unique(meet.i[alone], return_index=True)
        self._own_pairs = blocks + meet.pair[alone][first_of]
        self._own_patterns = layout.pattern[self._own_points]
        met = meet.where(~alone)
        point = blocks + met.pair
        first, second = ((met.i, met.p), layout.pattern[met.j], point), ((met.j, met.q), layout.pattern[met.i], point)
        if plan.symmetric:
            both = (np.concatenate([met.i, met.j]), np.concatenate([met.p, met.q]))
            roles = [(plan.lam, (both, np.concatenate([first[1], second[1]]), np.concatenate([point, point])))]
        else:
            roles = [(plan.lam, first), (1.0 - plan.lam, second)]
        self._tables = [MomentTable.of(layout, neurons.alpha, lam, *entries) for lam, entries in roles]
        self._terms = Terms.join(block_terms(layout, plan), signal_terms(layout, plan, met))
        # Each meeting gives one noise-on-noise patch back: the term of the pair's block, so many times.
        extra = np.arange(len(plan.extra_pairs))
        self._block_of_extra = np.searchsorted(plan.extra_start, extra, side="right") - 1
        self._given_back = np.bincount(meet.pair, minlength=len(extra)).astype(np.float64)

    def values(self, columns: np.ndarray) -> Tables:
        """Return the tables at the given columns (k, 2k + G, m)."""
        tables = Tables.zeros(self.neurons.k, self.layout, self.plan)
        self.neurons.run(compiled.term_values, columns, *self._terms.arrays, tables.terms)
        blocks = len(self.plan.blocks)
        tables.terms[:, blocks:] += self._given_back * tables.terms[:, self._block_of_extra]
        for moment, table in self._roles(tables):
            self.neurons.run(moment_values, columns, *moment.arrays, table, tables.terms)
        # z_ii = x_i: what the tables hold for the pair is replaced by the sum over the signal patches themselves.
        own = self._unmixed.values(columns)[:, self._own_points]
        for table in (tables.U, tables.V):
            own -= table[:, self._own_patterns, self._own_points]
        tables.terms[:, self._own_pairs] += own
        return tables

    def pull_back(self, columns: np.ndarray, D: Tables, out: np.ndarray) -> None:
        """Add the adjoint of `values` at D to out, the shape of columns; D is used up."""
        own = np.zeros((self.neurons.k, len(self.layout.labels)))
        own[:, self._own_points] = D.terms[:, self._own_pairs]
        self._unmixed.pull_back(columns, own, out)
        for table in (D.U, D.V):
            table[:, self._own_patterns, self._own_points] -= own[:, self._own_points]
        for moment, residual in self._roles(D):
            self.neurons.run(moment_pull_back, columns, *moment.arrays, residual, D.terms, out)
        blocks = len(self.plan.blocks)
        given = np.zeros((blocks, self.neurons.k))
        np.add.at(given, self._block_of_extra, (self._given_back * D.terms[:, blocks:]).T)
        D.terms[:, :blocks] += given.T
        self.neurons.run(compiled.term_pull_back, columns, *self._terms.arrays, D.terms, out)

    def _roles(self, tables: Tables) -> Iterator[tuple[MomentTable, np.ndarray]]:
        for moment, (_, table) in zip(self._tables, tables.roles(self.plan), strict=True):
            yield moment, table
