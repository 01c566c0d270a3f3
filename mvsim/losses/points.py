"""Which points a loss is summed over. Every point is a mixture z = lam x_i + (1 - lam) x_j.

The soft label of a mixture is lam e_{y_i} + (1 - lam) e_{y_j}.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Unmixed:
    """The N points themselves, each with weight 1/N."""

    @property
    def weights(self) -> np.ndarray:
        """The weights of the first point: one, for all."""
        return np.ones(1)


@dataclass(frozen=True)
class AllPairs:
    """All N^2 ordered pairs, i = j included, mixed with one ``lam``, each with weight 1/N^2.

    For lam = 1/2 the pairs (i, j) and (j, i) are the same point, so it is enough to visit i <= j and count i < j twice.
    """

    lam: float

    @property
    def symmetric(self) -> bool:
        """Whether (i, j) and (j, i) are the same mixed point."""
        return self.lam == 0.5

    @property
    def weights(self) -> np.ndarray:
        """The weights of the first point: one, for all."""
        return np.array([self.lam])


@dataclass(frozen=True, eq=False)
class ListedPairs:
    """M given mixed points, each with weight 1/M.

    Attributes
    ----------
    first, second : numpy.ndarray
        (M,) int64 indices i and j.
    lam : numpy.ndarray
        (M,) weights of the first point.
    """

    first: np.ndarray
    second: np.ndarray
    lam: np.ndarray

    @property
    def weights(self) -> np.ndarray:
        """The weights of the first points."""
        return self.lam


Points = Unmixed | AllPairs | ListedPairs


@dataclass(frozen=True)
class Batch:
    """Some of the points, written out.

    Attributes
    ----------
    first, second : numpy.ndarray
        (n,) int64 indices i and j.
    lam : numpy.ndarray
        (n,) weights of the first point in the mixture.
    weight : numpy.ndarray
        (n,) weights of the points in the loss.
    """

    first: np.ndarray
    second: np.ndarray
    lam: np.ndarray
    weight: np.ndarray

    def soft_labels(self, labels: np.ndarray, k: int) -> np.ndarray:
        """Return (k, n): lam 1[y_i = y] + (1 - lam) 1[y_j = y]."""
        return soft_labels(k, labels[self.first], labels[self.second], self.lam)


def batches(points: Points, N: int, size: int) -> Iterator[Batch]:
    """Write out all points in batches of at most ``size`` (of at least one row i of pairs)."""
    if isinstance(points, AllPairs):
        rows = max(1, size // N)
        for i0 in range(0, N, rows):
            i, j = np.meshgrid(np.arange(i0, min(i0 + rows, N)), np.arange(N), indexing="ij")
            chosen = i <= j if points.symmetric else np.ones(i.shape, dtype=bool)
            first, second = i[chosen], j[chosen]
            twice = 2.0 if points.symmetric else 1.0
            yield Batch(first, second, np.full(len(first), points.lam), np.where(first == second, 1.0, twice) / N**2)
        return
    if isinstance(points, Unmixed):
        everyone = np.arange(N)
        whole = Batch(everyone, everyone, np.ones(N), np.full(N, 1.0 / N))
    else:
        M = len(points.first)
        whole = Batch(points.first, points.second, points.lam, np.full(M, 1.0 / M))
    for start in range(0, len(whole.first), size):
        part = slice(start, start + size)
        yield Batch(whole.first[part], whole.second[part], whole.lam[part], whole.weight[part])


def soft_labels(k: int, first: np.ndarray, second: np.ndarray, lam: np.ndarray | float) -> np.ndarray:
    """Return (k, n): lam 1[first = y] + (1 - lam) 1[second = y]."""
    columns = np.arange(len(first))
    targets = np.zeros((k, len(first)))
    np.add.at(targets, (first, columns), lam)
    np.add.at(targets, (second, columns), 1.0 - lam)
    return targets
