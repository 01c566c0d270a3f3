"""Which points a loss is summed over. Every point is a mixture z = lam x_i + (1 - lam) x_j.

The soft label of a mixture is lam e_{y_i} + (1 - lam) e_{y_j}. To add a set of points: write a subclass of `Points`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Batch:
    """Some of the points, written out."""

    # first, second: (n,) int64 indices i and j
    first: np.ndarray
    second: np.ndarray
    lam: np.ndarray  # (n,) weights of the first point in the mixture
    weight: np.ndarray  # (n,) weights of the points in the loss

    def soft_labels(self, labels: np.ndarray, k: int) -> np.ndarray:
        """Return (k, n): lam 1[y_i = y] + (1 - lam) 1[y_j = y]."""
        return soft_labels(k, labels[self.first], labels[self.second], self.lam)

    def part(self, part: slice) -> Batch:
        """Return some of these points."""
        return Batch(self.first[part], self.second[part], self.lam[part], self.weight[part])


class Points(ABC):
    """A set of mixed points with weights that add up to 1."""

    mixes: bool = True
    """Whether any point is made of two."""

    recurs: bool = True
    """Whether the set is the same at every evaluation, so that tables made for it are kept."""

    @property
    @abstractmethod
    def lam(self) -> np.ndarray:
        """The weights of the first points: (n,), or (1,) if one serves all."""

    @abstractmethod
    def per_single(self, N: int) -> float:
        """Return how many points there are for each that is a training point by itself: 1 for single points, N for pairs."""

    @abstractmethod
    def batches(self, N: int, size: int) -> Iterator[Batch]:
        """Write out all points in batches of about ``size``."""

    @property
    def partners(self) -> tuple[np.ndarray, ...]:
        """The weights of a training point that is paired with another one: lam where it is the first, 1 - lam where it is the second."""
        return (self.lam, 1.0 - self.lam) if self.mixes else ()


@dataclass(frozen=True)
class Unmixed(Points):
    """The N points themselves, each with weight 1/N."""

    mixes = False

    @property
    def lam(self) -> np.ndarray:
        return np.ones(1)

    def per_single(self, N: int) -> float:
        return 1.0

    def batches(self, N: int, size: int) -> Iterator[Batch]:
        everyone = np.arange(N)
        return _pieces(Batch(everyone, everyone, np.ones(N), np.full(N, 1.0 / N)), size)


@dataclass(frozen=True)
class AllPairs(Points):
    """All N^2 ordered pairs, i = j included, mixed with one weight of the first point, each with weight 1/N^2.

    At 1/2 the pairs (i, j) and (j, i) are the same point, so it is enough to visit i <= j and count i < j twice.
    """

    share: float  # Weight of the first point
    both_orders: bool = False  # Visit every ordered pair, at 1/2 too

    @property
    def symmetric(self) -> bool:
        """Whether only one of (i, j) and (j, i) is visited."""
        return self.share == 0.5 and not self.both_orders

    @property
    def lam(self) -> np.ndarray:
        return np.array([self.share])

    def per_single(self, N: int) -> float:
        return float(N)

    def batches(self, N: int, size: int) -> Iterator[Batch]:
        rows = max(1, size // N)
        for start in range(0, N, rows):
            i, j = np.meshgrid(np.arange(start, min(start + rows, N)), np.arange(N), indexing="ij")
            visited = i <= j if self.symmetric else np.ones(i.shape, dtype=bool)
            first, second = i[visited], j[visited]
            twice = 2.0 if self.symmetric else 1.0
            yield Batch(first, second, np.full(len(first), self.share), np.where(first == second, 1.0, twice) / N**2)


@dataclass(frozen=True, eq=False)
class ListedPairs(Points):
    """M given mixed points, each with weight 1/M."""

    # first, second: (M,) int64 indices i and j
    first: np.ndarray
    second: np.ndarray
    shares: np.ndarray  # (M,) weights of the first point

    recurs = False

    @property
    def lam(self) -> np.ndarray:
        return self.shares

    def per_single(self, N: int) -> float:
        return float(N)

    def batches(self, N: int, size: int) -> Iterator[Batch]:
        M = len(self.first)
        return _pieces(Batch(self.first, self.second, self.lam, np.full(M, 1.0 / M)), size)


def _pieces(whole: Batch, size: int) -> Iterator[Batch]:
    for start in range(0, len(whole.first), size):
        yield whole.part(slice(start, start + size))


def soft_labels(k: int, first: np.ndarray, second: np.ndarray, lam: np.ndarray | float) -> np.ndarray:
    """Return (k, n): lam 1[first = y] + (1 - lam) 1[second = y]."""
    columns = np.arange(len(first))
    targets = np.zeros((k, len(first)))
    np.add.at(targets, (first, columns), lam)
    np.add.at(targets, (second, columns), 1.0 - lam)
    return targets
