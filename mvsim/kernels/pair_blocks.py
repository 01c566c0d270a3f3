"""Outputs of all pairs, block by block of two noise patterns: gathered from tables over points, and their adjoints scattered back.

This is the route for any pointwise loss and for second derivatives; `mvsim.kernels._pair_softmax` is the fast one for the cross-entropy and its gradient.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mvsim.kernels.pairing import Layout, PairPlan
from mvsim.kernels.points import soft_labels


@dataclass(frozen=True)
class Tables:
    """Sums over neurons from which the outputs of every pair are put together, or the derivatives of the loss by them.

    Attributes
    ----------
    U, V : numpy.ndarray
        (k, G, N) signal on noise for the first and second point of a pair; the same array if the pairs are symmetric.
    terms : numpy.ndarray
        (k, B + E) noise on noise for each block, then the corrections of the extra pairs.
    """

    U: np.ndarray
    V: np.ndarray
    terms: np.ndarray

    @staticmethod
    def zeros(k: int, layout: Layout, plan: PairPlan) -> Tables:
        """Return tables of zeros."""
        shape = (k, len(layout.patterns), len(layout.labels))
        U = np.zeros(shape)
        return Tables(U, U if plan.symmetric else np.zeros(shape), np.zeros((k, len(plan.blocks) + len(plan.extra_pairs))))

    def negative(self) -> Tables:
        """Return minus these tables, U and V one array if they are here."""
        U = -self.U
        return Tables(U, U if self.V is self.U else -self.V, -self.terms)

    def dot(self, other: Tables) -> float:
        """Return the sum of the products of all entries, shared ones once."""
        total = np.vdot(self.U, other.U) + np.vdot(self.terms, other.terms)
        return float(total if self.V is self.U else total + np.vdot(self.V, other.V))

    def roles(self, plan: PairPlan) -> Iterator[tuple[float, np.ndarray]]:
        """Yield the weight of the signal in each table, and the table."""
        yield plan.lam, self.U
        if not plan.symmetric:
            yield 1.0 - plan.lam, self.V


@dataclass(frozen=True)
class Block:
    """The pairs (i, j) with i of pattern g and j of pattern h, as n columns.

    Attributes
    ----------
    index, g, h : int
        Number of the block and its patterns.
    first, second : numpy.ndarray
        (n,) sorted points of the pairs.
    weight : numpy.ndarray
        (n,) weight of each pair in the mean over all N^2.
    targets : numpy.ndarray
        (k, n) soft labels.
    extra, extra_column : numpy.ndarray
        Columns with coinciding signal patches, and where their corrections stand in ``Tables.terms``.
    repeats : float
        How often noise meets noise.
    """

    index: int
    g: int
    h: int
    first: np.ndarray
    second: np.ndarray
    weight: np.ndarray
    targets: np.ndarray
    extra: np.ndarray
    extra_column: np.ndarray
    repeats: float

    @staticmethod
    def of(layout: Layout, plan: PairPlan, index: int) -> Block:
        """Lay out one block."""
        g, h = plan.blocks[index]
        first, second = np.meshgrid(np.arange(layout.start[g], layout.start[g + 1]), np.arange(layout.start[h], layout.start[h + 1]), indexing="ij")
        first, second = first.ravel(), second.ravel()
        if plan.symmetric and g == h:
            first, second = first[first <= second], second[first <= second]
        N = len(layout.labels)
        weight = np.where(plan.symmetric & (first != second), 2.0, 1.0)
        span = np.arange(plan.extra_start[index], plan.extra_start[index + 1])
        extra = np.searchsorted(first * N + second, plan.extra_pairs[span] @ np.array([N, 1]))
        targets = soft_labels(layout.base // 2, layout.labels[first], layout.labels[second], plan.lam)
        return Block(index, g, h, first, second, weight / N**2, targets, extra, len(plan.blocks) + span, plan.repeats)

    def gather(self, tables: Tables) -> np.ndarray:
        """Return (k, n): the outputs of the pairs."""
        g = tables.U[:, self.h, self.first] + tables.V[:, self.g, self.second] + self.repeats * tables.terms[:, self.index, None]
        g[:, self.extra] += tables.terms[:, self.extra_column]
        return g

    def scatter(self, tables: Tables, residual: np.ndarray) -> None:
        """Add the adjoint of `gather` at residual (k, n) to tables."""
        for table, points, pattern in ((tables.U, self.first, self.h), (tables.V, self.second, self.g)):
            lowest = points.min()
            sums = np.zeros((points.max() - lowest + 1, len(residual)))
            np.add.at(sums, points - lowest, residual.T)
            table[:, pattern, lowest : lowest + len(sums)] += sums.T
        tables.terms[:, self.index] += self.repeats * residual.sum(axis=1)
        tables.terms[:, self.extra_column] += residual[:, self.extra]
