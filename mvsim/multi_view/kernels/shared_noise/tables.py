"""Outputs of all pairs, block by block of two noise patterns: gathered from tables over points, and their adjoints scattered back.

This is the route for any pointwise loss; `mvsim.multi_view.kernels.shared_noise.pair_softmax` is the fast one for the cross-entropy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from mvsim.losses.points import soft_labels
from mvsim.multi_view.kernels.shared_noise.layout import Layout, PairPlan


class Tables(NamedTuple):
    """Three arrays that describe all pairs. One piece of memory holds first `Values`, then `Exponentials` of them, then `Derivatives`."""

    # U, V: (k, G, N) signal on noise for the first and second point of a pair; the same array if the pairs are symmetric
    U: np.ndarray
    V: np.ndarray
    terms: np.ndarray  # (k, B + E) noise on noise for each block, then the corrections of the extra pairs

    @classmethod
    def empty(cls, k: int, layout: Layout, plan: PairPlan) -> Self:
        shape = (k, len(layout.patterns), len(layout.labels))
        U = np.empty(shape)
        return cls(U, U if plan.symmetric else np.empty(shape), np.empty((k, len(plan.blocks) + len(plan.extra_pairs))))

    @classmethod
    def zeros(cls, k: int, layout: Layout, plan: PairPlan) -> Self:
        tables = cls.empty(k, layout, plan)
        for array in tables.distinct:
            array[:] = 0.0
        return tables

    @property
    def distinct(self) -> tuple[np.ndarray, ...]:
        """The different arrays."""
        return (self.U, self.terms) if self.V is self.U else (self.U, self.V, self.terms)

    def roles(self, plan: PairPlan) -> Iterator[tuple[float, np.ndarray]]:
        """Yield the weight of the signal in each table, and the table."""
        yield plan.lam, self.U
        if not plan.symmetric:
            yield 1.0 - plan.lam, self.V


class Values(Tables):
    """Sums over neurons, of which the outputs of every pair are sums; or their derivatives along a direction."""


class Exponentials(Tables):
    """Exponentials of the values, and of ``repeats`` times those of blocks: a product of three or four is the exponential of an output."""


class Derivatives(Tables):
    """The derivatives of a function of the outputs of all pairs by the values."""


@dataclass(frozen=True)
class Block:
    """The pairs (i, j) with i of pattern g and j of pattern h, as the columns of (k, rows * cols) arrays, j fastest."""

    # index, g, h: Number of the block and its patterns
    index: int
    g: int
    h: int
    # rows, cols: Sorted points i and j
    rows: slice
    cols: slice
    order: np.ndarray  # See `Layout`
    weight: np.ndarray  # (rows * cols,) weight of each pair in the mean over all N^2, 0 for those that a symmetric plan does not visit
    targets: np.ndarray  # (k, rows * cols) soft labels
    # extra, extra_column: Columns with coinciding signal patches, and where their corrections stand in ``Tables.terms``
    extra: np.ndarray
    extra_column: np.ndarray
    repeats: float  # How often noise meets noise

    @staticmethod
    def of(layout: Layout, plan: PairPlan, index: int) -> Block:
        """Lay out one block."""
        g, h = plan.blocks[index]
        rows, cols = slice(layout.start[g], layout.start[g + 1]), slice(layout.start[h], layout.start[h + 1])
        N = len(layout.labels)
        i, j = np.meshgrid(np.arange(N)[rows], np.arange(N)[cols], indexing="ij")
        weight = np.where(i < j, 2.0, np.where(i == j, 1.0, 0.0)) if plan.symmetric else np.ones(i.shape)
        targets = soft_labels(layout.k, layout.labels[i.ravel()], layout.labels[j.ravel()], plan.lam)
        span = np.arange(plan.extra_start[index], plan.extra_start[index + 1])
        pairs = plan.extra_pairs[span]
        extra = (pairs[:, 0] - rows.start) * i.shape[1] + pairs[:, 1] - cols.start
        return Block(
            index=index,
            g=g,
            h=h,
            rows=rows,
            cols=cols,
            order=layout.order,
            weight=weight.ravel() / N**2,
            targets=targets,
            extra=extra,
            extra_column=len(plan.blocks) + span,
            repeats=plan.repeats,
        )

    @property
    def places(self) -> tuple[np.ndarray, np.ndarray]:
        """(rows * cols,) places i and j among the sorted points."""
        i, j = np.mgrid[self.rows, self.cols]
        return i.ravel(), j.ravel()

    @property
    def first(self) -> np.ndarray:
        """(rows * cols,) original indices i."""
        return self.order[self.places[0]]

    @property
    def second(self) -> np.ndarray:
        """(rows * cols,) original indices j."""
        return self.order[self.places[1]]

    def gather(self, tables: Values) -> np.ndarray:
        """Return (k, rows * cols): the outputs of the pairs."""
        first, second = tables.U[:, self.h, self.rows], tables.V[:, self.g, self.cols]
        g = (first[:, :, None] + (second + self.repeats * tables.terms[:, self.index, None])[:, None, :]).reshape(len(first), -1)
        g[:, self.extra] += tables.terms[:, self.extra_column]
        return g

    def scatter(self, tables: Derivatives, residual: np.ndarray) -> None:
        """Add the adjoint of `gather` at residual (k, rows * cols) to tables."""
        square = residual.reshape(len(residual), self.rows.stop - self.rows.start, -1)
        by_first = square.sum(axis=2)
        tables.U[:, self.h, self.rows] += by_first
        tables.V[:, self.g, self.cols] += square.sum(axis=1)
        tables.terms[:, self.index] += self.repeats * by_first.sum(axis=1)
        tables.terms[:, self.extra_column] += residual[:, self.extra]
