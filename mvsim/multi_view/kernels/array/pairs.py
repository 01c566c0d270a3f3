"""All pairs at one weight lam, mu = 1 - lam, for points that share noise patterns.

With h_i the pattern of point i and S the signal patches of a point (`mvsim.multi_view.kernels.shared_noise.shared_noise_kernel`),

    g_y(z_ij) = U[y, h_j, i] + V[y, h_i, j] + (P - 2 S) B[y, h_i, h_j] + X[y, ij],

U the table of signal on noise at lam, V at mu (the same at lam = 1/2), B noise on noise, and X, for the few pairs with coinciding signal patches,

    X[y, ij] = sum over coincidences (p, q) of sum_r R(lam a_p + mu a_q) - R(lam a_p + mu n_j) - R(lam n_i + mu a_q) + R(lam n_i + mu n_j).

Points stand in slots: a row of equal width for each pattern. So the pairs of a point i of pattern g with all points are a block of arrays over
(second pattern h, second place b), and no index is needed to find them. A tile is some first places a of one pattern g with all of these.
At lam = 1/2 only pairs i <= j are visited, so that a tile has the patterns h >= g.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from mvsim.losses import AllPairs
from mvsim.multi_view.activations import Activation
from mvsim.multi_view.kernels.array.by_class import ByClass
from mvsim.multi_view.kernels.array.device import Device
from mvsim.multi_view.kernels.array.moment_tables import MomentTable
from mvsim.multi_view.kernels.array.neuron_tables import DirectTable
from mvsim.multi_view.kernels.array.term_sums import TermSums
from mvsim.multi_view.kernels.shared_noise.layout import Layout, Terms, block_terms, noise_terms, plan_pairs, signal_terms


class Values(NamedTuple):
    """What outputs of pairs are sums of, or derivatives by it."""

    # U, V: (k, G, slots); where the pairs are symmetric V is U
    U: Any
    V: Any
    terms: Any  # (k, B + E): noise on noise of each block of two patterns, then the corrections of extra pairs


@dataclass(frozen=True, eq=False)
class Tile:
    """Some pairs: first places of one pattern with all second points. All pairs of a tile are (h, a, b), b fastest."""

    pattern: int  # g, of the first points
    rows: slice  # Slots of the first points
    blocks: slice  # The blocks (g, h), for all second patterns h
    from_pattern: int  # The first of these
    # first_points, second_points: (a,) and (h, b) original indices; those of some point where a slot has none
    first_points: np.ndarray
    second_points: np.ndarray
    weight: Any  # (n,) weight in the mean over all pairs; 0 for pairs that are not visited, and where a slot has no point
    extra: Any  # (e,) which of the pairs have corrections
    extra_pairs: np.ndarray  # (e,) which of the extra pairs of the plan these are
    extra_terms: Any  # (e,) where their corrections stand in `Values.terms`
    correction: Any  # (n,) the place of each pair among the corrections of this tile, e for none

    @property
    def first(self) -> np.ndarray:
        """(n,) original indices i."""
        return np.broadcast_to(self.first_points[None, :, None], self._shape).ravel()

    @property
    def second(self) -> np.ndarray:
        """(n,) original indices j."""
        return np.broadcast_to(self.second_points[:, None, :], self._shape).ravel()

    @property
    def _shape(self) -> tuple[int, int, int]:
        patterns, width = self.second_points.shape
        return patterns, len(self.first_points), width


class Pairs:
    """What is laid out once for all pairs at one weight."""

    def __init__(self, device: Device, layout: Layout, activation: Activation, points: AllPairs) -> None:
        self.device, self.layout = device, layout
        self.lam, self.symmetric = points.share, points.symmetric
        self.N, self.k, self.G = len(layout.labels), layout.k, len(layout.patterns)
        self.width = int(np.diff(layout.start).max())
        self.slots = self.G * self.width
        self.slot_of_point = layout.pattern * self.width + np.arange(self.N) - layout.start[layout.pattern]
        self.point_of_slot = np.full(self.slots, -1)
        self.point_of_slot[self.slot_of_point] = np.arange(self.N)

        elementwise, order = activation.elementwise(device.xp), activation.moment_order
        self.by_class = ByClass(device, layout, self.slot_of_point, self.slots)
        shares = [self.lam] if self.symmetric else [self.lam, 1.0 - self.lam]
        self.tables: list[DirectTable] = [
            DirectTable(device, self.by_class, share, elementwise)
            if order is None
            else MomentTable(device, self.by_class, share, elementwise, activation.scale, order)
            for share in shares
        ]
        self.how = "neuron by neuron" if order is None else "by moments"
        self.plan = plan = plan_pairs(layout, self.lam, self.symmetric)
        terms = Terms.join(block_terms(layout, plan), signal_terms(layout, plan, plan.meetings), noise_terms(layout, plan))
        self.terms = TermSums(device, terms, len(plan.blocks) + len(plan.extra_pairs), layout.features + self.G, elementwise)
        self.extra_slots = self.slot_of_point[plan.extra_pairs]  # (E, 2)

    # Values and their adjoints -----------------------------------------------------------------------------------------------------------

    def values(self, columns: Any) -> Values:
        """Return what the outputs of all pairs are sums of, for columns (k, m, F + G)."""
        tables = [table.values(columns) for table in self.tables]
        return Values(tables[0], tables[-1], self.terms.values(columns))

    def tangents(self, columns: Any, moves: Any) -> Values:
        """Return how `values` change where the columns move."""
        tables = [table.tangents(columns, moves) for table in self.tables]
        return Values(tables[0], tables[-1], self.terms.tangents(columns, moves))

    def pull_back(self, columns: Any, D: Values) -> Any:
        """Return (k, m, F + G): the adjoint of `values` at D."""
        parts = [table.pull_back(columns, at) for table, at in zip(self.tables, D[:2], strict=False)]
        return sum(parts, self.terms.pull_back(columns, D.terms))

    def pull_back_tangent(self, columns: Any, moves: Any, D: Values, dD: Values) -> Any:
        """Return (k, m, F + G): the derivative of `pull_back` along (moves, dD)."""
        both = zip(self.tables, D[:2], dD[:2], strict=False)
        parts = [table.pull_back_tangent(columns, moves, at, change) for table, at, change in both]
        return sum(parts, self.terms.pull_back_tangent(columns, moves, D.terms, dD.terms))

    # Pairs -------------------------------------------------------------------------------------------------------------------------------

    @cached_property
    def tiles(self) -> list[Tile]:
        """All pairs."""
        tiles = []
        for g in range(self.G):
            h0 = g if self.symmetric else 0
            for part in self.device.pieces(self.width, self.k * (self.G - h0) * self.width):
                tiles.append(self._tile(g, h0, slice(g * self.width + part.start, g * self.width + part.stop)))
        return tiles

    def _tile(self, g: int, h0: int, rows: slice) -> Tile:
        patterns, b0 = self.G - h0, g * self.G - (g * (g - 1) // 2 if self.symmetric else 0)
        blocks = slice(b0, b0 + patterns)
        i = np.broadcast_to(self.point_of_slot[rows][None, :, None], (patterns, rows.stop - rows.start, self.width))
        j = np.broadcast_to(self.point_of_slot[h0 * self.width :].reshape(patterns, 1, self.width), i.shape)
        weight = np.ones(i.shape)
        if self.symmetric:
            weight = np.where(i < j, 2.0, np.where(i == j, 1.0, 0.0))
        weight = np.where((i >= 0) & (j >= 0), weight, 0.0) / self.N**2

        start, stop = self.plan.extra_start[b0], self.plan.extra_start[blocks.stop]
        slots = self.extra_slots[start:stop]
        within = np.flatnonzero((slots[:, 0] >= rows.start) & (slots[:, 0] < rows.stop))
        a, second = slots[within, 0] - rows.start, slots[within, 1] - h0 * self.width
        extra = (second // self.width * i.shape[1] + a) * self.width + second % self.width
        correction = np.full(i.size, len(extra))
        correction[extra] = np.arange(len(extra))
        return Tile(
            pattern=g,
            rows=rows,
            blocks=blocks,
            from_pattern=h0,
            first_points=self.layout.order[self.point_of_slot[rows]],
            second_points=self.layout.order[self.point_of_slot[h0 * self.width :]].reshape(patterns, self.width),
            weight=self.device.put(weight.ravel()),
            extra=self.device.put(extra),
            extra_pairs=start + within,
            extra_terms=self.device.put(len(self.plan.blocks) + start + within),
            correction=self.device.put(correction),
        )

    @cached_property
    def labels_of_slots(self) -> Any:
        """(k, slots) 1 where the point in a slot has the class, else 0."""
        labels = np.where(self.point_of_slot >= 0, self.layout.labels[self.point_of_slot], -1)
        return self.device.put((labels == np.arange(self.k)[:, None]).astype(np.float64))

    def targets(self, tile: Tile) -> Any:
        """Return (k, n): the soft labels of a tile."""
        first, second = self.labels_of_slots[:, tile.rows], self.labels_of_slots[:, tile.from_pattern * self.width :]
        xp, h = self.device.xp, self.G - tile.from_pattern
        of_second = xp.reshape((1.0 - self.lam) * second, (self.k, h, 1, self.width))
        return xp.reshape(self.lam * first[:, None, :, None] + of_second, (self.k, -1))

    def gather(self, values: Values, tile: Tile) -> Any:
        """Return (k, n): the outputs of a tile."""
        xp, h0 = self.device.xp, tile.from_pattern
        first = values.U[:, h0:, tile.rows]  # (k, h, a)
        second = xp.reshape(values.V[:, tile.pattern, h0 * self.width :], (self.k, self.G - h0, self.width))
        second = second + self.plan.repeats * values.terms[:, tile.blocks][:, :, None]
        sums = xp.reshape(first[:, :, :, None] + second[:, :, None, :], (self.k, -1))
        corrections = xp.take(values.terms, tile.extra_terms, axis=1)
        with_zero = xp.concat([corrections, self.device.zeros(self.k, 1)], axis=1)
        return sums + xp.take(with_zero, tile.correction, axis=1)


class Adjoint:
    """The derivative of a function of the outputs of all pairs by the values, added up tile by tile."""

    def __init__(self, pairs: Pairs) -> None:
        self._pairs, device = pairs, pairs.device
        self.U = device.zeros(pairs.k, pairs.G, pairs.slots)
        self.V = self.U if pairs.symmetric else device.zeros(pairs.k, pairs.G, pairs.slots)
        self.blocks = device.zeros(pairs.k, len(pairs.plan.blocks))
        self._extras: list[tuple[np.ndarray, Any]] = []

    def add(self, tile: Tile, residual: Any) -> None:
        """Add the adjoint of `Pairs.gather` at residual (k, n)."""
        pairs, xp = self._pairs, self._pairs.device.xp
        cube = xp.reshape(residual, (pairs.k, pairs.G - tile.from_pattern, -1, pairs.width))
        self.add_sums(tile, xp.sum(cube, axis=3), xp.sum(cube, axis=2))
        self._extras.append((tile.extra_pairs, xp.take(residual, tile.extra, axis=1)))

    def add_sums(self, tile: Tile, by_first: Any, by_second: Any) -> None:
        """Add to the tables alone: residuals (k, h, a) summed over second points and (k, h, b) summed over first points."""
        pairs, xp = self._pairs, self._pairs.device.xp
        self.U[:, tile.from_pattern :, tile.rows] += by_first
        self.V[:, tile.pattern, tile.from_pattern * pairs.width :] += xp.reshape(by_second, (pairs.k, -1))
        self.blocks[:, tile.blocks] += pairs.plan.repeats * xp.sum(by_first, axis=2)

    def values(self) -> Values:
        """Return the derivative, with 0 for the corrections of extra pairs of tiles that were not added."""
        pairs, xp = self._pairs, self._pairs.device.xp
        known = np.concatenate([np.zeros(0, np.int64), *(which for which, _ in self._extras)])
        place = np.full(len(pairs.plan.extra_pairs), len(known))  # there stands a zero
        place[known] = np.arange(len(known))
        parts = [*(part for _, part in self._extras), pairs.device.zeros(pairs.k, 1)]
        return Values(self.U, self.V, xp.concat([self.blocks, xp.take(xp.concat(parts, axis=1), pairs.device.put(place), axis=1)], axis=1))
