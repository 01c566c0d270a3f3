"""Which points a loss is summed over. Every point is a mixture z = lam x_i + (1 - lam) x_j with soft label lam e_{y_i} + (1 - lam) e_{y_j}."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Unmixed:
    """The N points themselves, each with weight 1/N."""


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


Points = Unmixed | AllPairs


def soft_labels(k: int, first: np.ndarray, second: np.ndarray, lam: float) -> np.ndarray:
    """Return (k, n): lam 1[first = y] + (1 - lam) 1[second = y]."""
    columns = np.arange(len(first))
    targets = np.zeros((k, len(first)))
    np.add.at(targets, (first, columns), lam)
    np.add.at(targets, (second, columns), 1.0 - lam)
    return targets
