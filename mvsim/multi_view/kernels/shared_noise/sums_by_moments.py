"""The sums of `mvsim.multi_view.kernels.shared_noise.sums_direct` by moments, for integer powers: the same numbers to round-off, sooner.

How much sooner depends on the size: a loss and gradient takes a quarter of the time at k = 20 and 200 points, and less than the sums one by one
already at k = 5 and 30 points. At k = 3 and 10 points, where all takes 0.1 ms, it takes 0.02 ms more, and no rule is made for that.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import comb

import numpy as np

from mvsim.multi_view.kernels.shared_noise.layout import Corrections, Layout, PairPlan, Terms, block_terms, signal_terms
from mvsim.multi_view.kernels.shared_noise.loops import terms as compiled
from mvsim.multi_view.kernels.shared_noise.loops.coincidences import correction_pull_back, correction_values
from mvsim.multi_view.kernels.shared_noise.loops.moments import MomentTable, moment_pull_back, moment_values
from mvsim.multi_view.kernels.shared_noise.loops.moments_tangent import moment_pull_back_tangent, moment_tangents
from mvsim.multi_view.kernels.shared_noise.loops.moments_without_noise import (
    UnmixedTable,
    unmixed_pull_back,
    unmixed_pull_back_tangent,
    unmixed_tangents,
    unmixed_values,
)
from mvsim.multi_view.kernels.shared_noise.sums_direct import Neurons
from mvsim.multi_view.kernels.shared_noise.tables import Derivatives, Tables, Values


class _Rows:
    """The signal patches sorted by feature, then by patch and by point."""

    def __init__(self, layout: Layout) -> None:
        N, S = layout.signal.shape
        feature = layout.feature.T.ravel()
        order = np.argsort(feature, kind="stable")
        self.of = np.empty(N * S, np.int64)  # row of each signal patch of each point
        self.of[order] = np.arange(N * S)
        self.of = self.of.reshape(S, N).T
        self.feature, self.signal, self.point = feature[order], layout.signal.T.ravel()[order], np.tile(np.arange(N), S)[order]
        self.start = np.searchsorted(self.feature, np.arange(layout.features + 1))
        self.low = np.full(layout.features, np.inf)
        self.high = np.full(layout.features, -np.inf)
        np.minimum.at(self.low, self.feature, self.signal)
        np.maximum.at(self.high, self.feature, self.signal)


def moment_table(
    layout: Layout, order: int, lam: float, patches: tuple[np.ndarray, np.ndarray], pattern: np.ndarray, point: np.ndarray
) -> MomentTable:
    """Lay out a table; the single entries are the signal ``patches`` (indices of points, of patches) on ``pattern``, to be taken from ``point``."""
    rows = _Rows(layout)
    place = np.empty(len(layout.labels), np.int64)
    place[np.argsort(layout.labels, kind="stable")] = np.arange(len(place))
    entry_row = rows.of[patches]
    entry_feature = rows.feature[entry_row]
    entries = np.argsort(entry_feature, kind="stable")
    powers = np.stack([comb(order, q) * rows.signal**q for q in range(order + 1)], axis=1)
    of_points = _sums_over_patches(powers, rows.start, layout.class_start, layout.signal.shape[1])
    return MomentTable(
        lam=lam,
        low=rows.low,
        high=rows.high,
        start=rows.start,
        class_start=layout.class_start,
        signal=rows.signal,
        powers=powers,
        of_points=np.concatenate([np.zeros(0), *(each.ravel() for each in of_points)]),
        of_points_start=np.cumsum([0, *(each.size for each in of_points)]),
        place=place,
        entry_start=np.searchsorted(entry_feature[entries], np.arange(layout.features + 1)),
        entry_row=entry_row[entries],
        entry_pattern=pattern[entries],
        entry_point=point[entries],
    )


def _sums_over_patches(powers: np.ndarray, start: np.ndarray, class_start: np.ndarray, signals: int) -> list[np.ndarray]:
    """Return for each class (n, features (order + 1)): for its n points the powers summed over the signal patches with one feature."""
    sums = []
    for f0, f1 in pairwise(class_start):
        points = (start[f1] - start[f0]) // signals
        of_features = [powers[start[f] : start[f + 1]].reshape(-1, points, powers.shape[1]).sum(axis=0) for f in range(f0, f1 if points else f0)]
        sums.append(np.concatenate(of_features, axis=1) if of_features else np.zeros((0, 0)))
    return sums


class UnmixedMoments:
    """The signal part of g(x_i) by moments: a `Part` of `separate_points`, which fills where others add."""

    def __init__(self, layout: Layout, neurons: Neurons, order: int) -> None:
        rows = _Rows(layout)
        self._activation = neurons.activation
        self.table = UnmixedTable(rows.low, rows.high, rows.start, rows.signal, rows.signal**order, rows.point)

    def values(self, y0: int, y1: int, columns: np.ndarray, g: np.ndarray) -> None:
        unmixed_values(y0, y1, columns, self.table, g, self._activation)

    def tangents(self, y0: int, y1: int, columns: np.ndarray, moves: np.ndarray, dg: np.ndarray) -> None:
        unmixed_tangents(y0, y1, columns, moves, self.table, dg, self._activation)

    def pull_back(self, y0: int, y1: int, columns: np.ndarray, residual: np.ndarray, out: np.ndarray) -> None:
        unmixed_pull_back(y0, y1, columns, self.table, residual, out, self._activation)

    def pull_back_tangent(
        self, y0: int, y1: int, columns: np.ndarray, moves: np.ndarray, residual: np.ndarray, change: np.ndarray, out: np.ndarray
    ) -> None:
        unmixed_pull_back_tangent(y0, y1, columns, moves, self.table, residual, change, out, self._activation)


class MomentSums:
    """The sums of `DirectSums`, polynomial and linear regimes by moments, and the corrections read off tables already there; D and dD are used up."""

    def __init__(self, layout: Layout, plan: PairPlan, neurons: Neurons, order: int) -> None:
        self._plan, self._activation, self._shape = plan, neurons.activation, (neurons.k, len(layout.labels))
        meet, blocks = plan.meetings, len(plan.blocks)
        alone = meet.i == meet.j
        met = meet.where(~alone)
        point = blocks + met.pair
        first, second = ((met.i, met.p), layout.pattern[met.j], point), ((met.j, met.q), layout.pattern[met.i], point)
        if plan.symmetric:
            both = (np.concatenate([met.i, met.j]), np.concatenate([met.p, met.q]))
            roles = [(plan.lam, (both, np.concatenate([first[1], second[1]]), np.concatenate([point, point])))]
        else:
            roles = [(plan.lam, first), (1.0 - plan.lam, second)]
        self.tables = [moment_table(layout, order, lam, *entries) for lam, entries in roles]
        self.terms = Terms.join(block_terms(layout, plan), signal_terms(layout, plan, met))
        self.unmixed = UnmixedMoments(layout, neurons, order)
        own_pair = np.empty(len(layout.labels), np.int64)
        own_pair[meet.i[alone]] = blocks + meet.pair[alone]
        # Each meeting gives one noise-on-noise patch back: the term of the pair's block, so many times.
        extra = np.arange(len(plan.extra_pairs))
        block_of_extra = np.searchsorted(plan.extra_start, extra, side="right") - 1
        given_back = np.bincount(meet.pair, minlength=len(extra)).astype(np.float64)
        self.corrections = Corrections(own_pair, layout.pattern, block_of_extra, given_back)

    def values(self, y0: int, y1: int, columns: np.ndarray, tables: Values) -> None:
        tables.terms[y0:y1] = 0.0
        compiled.term_values(y0, y1, columns, self.terms, tables.terms, self._activation)
        for moment, table in self._roles(tables):
            moment_values(y0, y1, columns, moment, table, tables.terms, self._activation)
        own = np.empty(self._shape)
        self.unmixed.values(y0, y1, columns, own)
        correction_values(y0, y1, own, tables.U, tables.V, tables.terms, self.corrections)

    def tangents(self, y0: int, y1: int, columns: np.ndarray, moves: np.ndarray, tables: Values) -> None:
        tables.terms[y0:y1] = 0.0
        compiled.term_tangents(y0, y1, columns, moves, self.terms, tables.terms, self._activation)
        for moment, table in self._roles(tables):
            moment_tangents(y0, y1, columns, moves, moment, table, tables.terms, self._activation)
        own = np.empty(self._shape)
        self.unmixed.tangents(y0, y1, columns, moves, own)
        correction_values(y0, y1, own, tables.U, tables.V, tables.terms, self.corrections)

    def pull_back(self, y0: int, y1: int, columns: np.ndarray, D: Derivatives, out: np.ndarray) -> None:
        own = np.empty(self._shape)
        correction_pull_back(y0, y1, own, D.U, D.V, D.terms, self.corrections)
        self.unmixed.pull_back(y0, y1, columns, own, out)
        for moment, residual in self._roles(D):
            moment_pull_back(y0, y1, columns, moment, residual, D.terms, out, self._activation)
        compiled.term_pull_back(y0, y1, columns, self.terms, D.terms, out, self._activation)

    def pull_back_tangent(self, y0: int, y1: int, columns: np.ndarray, moves: np.ndarray, D: Derivatives, dD: Derivatives, out: np.ndarray) -> None:
        own, own_change = np.empty(self._shape), np.empty(self._shape)
        correction_pull_back(y0, y1, own, D.U, D.V, D.terms, self.corrections)
        correction_pull_back(y0, y1, own_change, dD.U, dD.V, dD.terms, self.corrections)
        self.unmixed.pull_back_tangent(y0, y1, columns, moves, own, own_change, out)
        for (moment, residual), (_, change) in zip(self._roles(D), self._roles(dD), strict=True):
            moment_pull_back_tangent(y0, y1, columns, moves, moment, residual, change, D.terms, dD.terms, out, self._activation)
        compiled.term_pull_back_tangent(y0, y1, columns, moves, self.terms, D.terms, dD.terms, out, self._activation)

    def _roles(self, tables: Tables) -> Iterator[tuple[MomentTable, np.ndarray]]:
        for moment, (_, table) in zip(self.tables, tables.roles(self._plan), strict=True):
            yield moment, table
