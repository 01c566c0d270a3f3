"""A sample of Definition 3.1 as the statements of Section 3 need it, what they suppose of it, and how they decide about numbers.

Definition 3.1 has points x = beta v_{y,1} + (1 - beta) v_{y,2} with beta uniform on [0.1, 0.9]. Of N it says that it is large: then every class has
points, with probability 1 - k exp(-Theta(N/k)) or more. The derivations use both: coefficients that add up to 1 make all outputs of the optimal
direction equal, beta >= 0.1 fits every point by one feature, and a class without points has no gradient.

Where every class has a point, the bound of Proposition 3.5 holds: it does so for each point by itself. Proposition 3.4 is about a mean over the
points of a class, of which many are needed: see `LEAST_POINTS`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mvsim.base.errors import UsageError
from mvsim.judging.verdict import Status, Verdict, margin_above, margin_below
from mvsim.multi_view.data import Dataset, sample_dataset
from mvsim.multi_view.objectives import Objective, objective
from mvsim.multi_view.parameters import Parameters

LEAST_POINTS = 60
"""Of the smallest class, for Proposition 3.4. With 60 or more the pull while classes are alike is not positive on 11 of 1513 data sets at k = 3 and
5, on none of 92 at k = 10 and 20. With 100 for each class, the default, the smallest has 60 with probability 0.998 or more up to k = 200."""


def points_of_definition_3_1(parameters: Parameters, seed: int) -> str:
    """Return in what the points of a seed are not those that the results speak of; nothing if they are."""
    deviations = [deviation.statement for deviation in parameters.deviations()]
    if deviations:
        return f"it is about the points of Definition 3.1, and here are others: {'; '.join(deviations)}"
    empty = int((np.bincount(sample_dataset(parameters, seed).labels, minlength=parameters.k) == 0).sum())
    return f"N is to be large, and of N = {parameters.N} points {empty} of {parameters.k} classes have none" if empty else ""


def many_points_of_each_class(parameters: Parameters, seed: int) -> str:
    """Return what `points_of_definition_3_1` does, or which class has fewer points than `LEAST_POINTS`."""
    if lack := points_of_definition_3_1(parameters, seed):
        return lack
    sizes = np.bincount(sample_dataset(parameters, seed).labels, minlength=parameters.k)
    y = int(sizes.argmin())
    return f"N is to be large: class {y} has {sizes[y]} of N = {parameters.N} points, fewer than {LEAST_POINTS}" if sizes[y] < LEAST_POINTS else ""


def check_two_views(parameters: Parameters, what: str, where: str = "") -> None:
    """Raise `UsageError` if classes have another number of views than ``what``, a subject with its verb, is about."""
    if parameters.V != 2:
        raise UsageError(f"{where}V={parameters.V}: {what} about two views of a class, V=2")


def positive(part: str, statement: str, measured: float, least: float, detail: str) -> Verdict:
    """Decide measured > 0; up to ``least`` it counts as 0. NaN fails."""
    status: Status = "holds" if measured > least else "fails"
    return Verdict(part, status, statement, measured, 0.0, margin_above(measured, 0.0), f"{detail}; up to {least:g} counts as 0")


def vanishing(part: str, statement: str, measured: float, least: float, detail: str) -> Verdict:
    """Decide measured = 0 for a number that is not negative but for round-off; up to ``least`` it counts as 0. NaN fails."""
    status: Status = "holds" if abs(measured) <= least else "fails"
    return Verdict(part, status, statement, measured, 0.0, margin_below(abs(measured), 0.0), f"{detail}; up to {least:g} counts as 0")


ONE = 0
"""The class about which statements on one class are made, chosen before the points are drawn: the largest or smallest would spoil a trend in k."""


@dataclass(frozen=True, eq=False)
class Sample:
    """N points x_i = sum_l beta[i, l] v_{y_i, l}."""

    parameters: Parameters  # of a linear model
    seed: int  # Fixes the points

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
