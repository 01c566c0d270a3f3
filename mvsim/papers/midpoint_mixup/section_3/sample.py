"""A sample of Definition 3.1 as the statements of Section 3 need it: labels and coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mvsim.multi_view.data import Dataset, sample_dataset
from mvsim.multi_view.objectives import Objective, objective
from mvsim.multi_view.parameters import Parameters

ONE = 0
"""The class about which statements on one class are made. All classes have one law, and this one is chosen before the points are drawn: the largest
or the smallest class of a sample would bring its extreme number of points into a trend in k."""


@dataclass(frozen=True, eq=False)
class Sample:
    """N points x_i = sum_l beta[i, l] v_{y_i, l}.

    Attributes
    ----------
    parameters : Parameters
        Of a linear model.
    seed : int
        Fixes the points.
    """

    parameters: Parameters
    seed: int

    @property
    def k(self) -> int:
        """Number of classes."""
        return self.parameters.k

    @cached_property
    def data(self) -> Dataset:
        """The points."""
        return sample_dataset(self.parameters, self.seed)

    @property
    def labels(self) -> np.ndarray:
        """(N,) classes."""
        return self.data.labels

    @cached_property
    def beta(self) -> np.ndarray:
        """(N, 2) coefficients of the features of the own class."""
        return np.concatenate([self.data.own_coefficients(view) for view in range(2)], axis=1)

    @cached_property
    def same_class(self) -> float:
        """The fraction of the N^2 ordered pairs whose points have the same class."""
        share = np.bincount(self.labels, minlength=self.k) / len(self.labels)
        return float(share @ share)

    def objective(self, method: str, **options: Any) -> Objective:
        """Return a training loss on these points."""
        return objective(method, self.parameters, self.data, **options)


def own_only(own: np.ndarray) -> np.ndarray:
    """Return correlations (k, 1, k, 2) with cross-class orthogonality: <w_y, v_{y,l}> = own[y, l], all others 0."""
    k = len(own)
    c = np.zeros((k, 1, k, 2))
    c[np.arange(k), 0, np.arange(k)] = own
    return c
