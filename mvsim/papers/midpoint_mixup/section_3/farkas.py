"""Whether a linear classifier can be right on all of given points, decided by linear programming and proved in exact rational arithmetic.

A patch-summing linear classifier h_y(x) = sum_p <w_y, x^(p)> sees a point only through s_i = sum_p x_i^(p), a vector of R^F. It is perfect if
h_{y_i}(x_i) > h_s(x_i) for all i and s != y_i. As in Proposition 4.4 there is no b_y.

**It cannot be** if there are weights mu_{i,s} >= 0 for points i and classes s != y_i, not all 0, with

    sum_{i: y_i = c} sum_s mu_{i,s} s_i  =  sum_{i: y_i != c} mu_{i,c} s_i      for every class c:

the scalar products of both sides with w_c, summed over c, differ by sum_{i,s} mu_{i,s} (h_{y_i}(x_i) - h_s(x_i)), which is 0 then, and positive for
a perfect classifier. mu is a Farkas vector of the system of inequalities. Points of a few classes are often enough: with two of them the equations
say that the cones of their points meet. A linear program finds mu in floating point; its support is a basis, on which the equations are solved
again with fractions. The floating-point numbers of the points are fractions themselves, so that a `Certificate` that passes `Certificate.is_valid`
is a proof about exactly these points.

Equations for a b_y, of (s_i, 1) instead of s_i, would spoil this where all noise has one size (delta3 = delta4): the components of every s_i then
add up to one number, so that the linear program takes these equations for consequences of the others. Of fractions they are not, since rounding
makes the sums differ by 1e-17, and a basis that is short of one weight has no exact solution.

**It can be** if a linear program finds weights, for which all inequalities are then checked with fractions too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, islice
from typing import Any

import numpy as np

from mvsim.multi_view.data import Dataset

Vector = list[Fraction]

SUPPORT = 1e-9
"""Weights of the linear program below this are taken for 0."""

SIZES, TRIES = (2, 3, 4, 6, 8), 40
"""How many classes a certificate is sought on, and how many sets of more than two classes are tried. The exact solution takes minutes for more."""

OPTIMAL, INFEASIBLE = 0, 2
"""Answers of scipy's linear program; any other says that it gave up."""

VERTICES = 4
"""How many solutions of the linear program are tried where the first cannot be made exact: noise of one size has vertices at which a weight of the
basis is 0 but for rounding, and what it is with fractions can be negative."""

MARGIN = 1.0
"""Of a separating classifier in the linear program; any positive number, as weights can be scaled."""


@dataclass(frozen=True)
class Certificate:
    """A proof that no linear classifier is right on all of some points."""

    points: tuple[int, ...]  # i of each weight
    against: tuple[int, ...]  # s of each weight
    weights: tuple[Fraction, ...]  # mu_{i,s}, positive; together 1

    def classes(self, data: Dataset) -> list[int]:
        """Return the classes that it is about."""
        return sorted({int(data.labels[i]) for i in self.points} | set(self.against))

    def is_valid(self, data: Dataset) -> bool:
        """Whether all weights are positive and add up to 1, and the equations hold for every class, in exact arithmetic."""
        if min(self.weights, default=0) <= 0 or sum(self.weights) != 1:
            return False
        balance: dict[tuple[int, int], Fraction] = {}
        for i, s, weight in zip(self.points, self.against, self.weights, strict=True):
            y = int(data.labels[i])
            if s == y:
                return False
            for feature, value in exact_sum(data, i).items():
                balance[y, feature] = balance.get((y, feature), Fraction(0)) + weight * value
                balance[s, feature] = balance.get((s, feature), Fraction(0)) - weight * value
        return not any(balance.values())


def exact_sum(data: Dataset, point: int) -> dict[int, Fraction]:
    """Return sum_p x^(p) of one point: feature -> its exact coefficient, for those that occur."""
    total: dict[int, Fraction] = {}
    for feature, coefficient, times in data.terms(point):
        total[feature] = total.get(feature, Fraction(0)) + times * Fraction(coefficient)
    return total


def float_sums(data: Dataset) -> np.ndarray:
    """Return (N, F): the sums over patches of all points, rounded to doubles."""
    sums = np.zeros((data.N, len(data.feature_class)))
    for i in range(data.N):
        for feature, value in exact_sum(data, i).items():
            sums[i, feature] = float(value)
    return sums


def certificate_for(data: Dataset, sums: np.ndarray, classes: Sequence[int]) -> Certificate | None:
    """Return a valid certificate that the points of some classes give, None if they give none or it cannot be made exact."""
    from scipy.optimize import linprog

    pairs = [(int(i), s) for y in classes for i in np.flatnonzero(data.labels == y) for s in classes if s != y]
    if not pairs:
        return None
    # One column for each mu, and for each class but the last, whose equations follow from the others, a block of F rows.
    block = {c: number for number, c in enumerate(classes[:-1])}
    columns = np.zeros((len(pairs), len(block), sums.shape[1]))
    for column, (i, s) in zip(columns, pairs, strict=True):
        for c, sign in ((int(data.labels[i]), 1.0), (s, -1.0)):
            if c in block:
                column[block[c]] = sign * sums[i]
    equations = columns.reshape(len(pairs), -1).T
    used = equations.any(axis=1)
    equations = np.concatenate([equations[used], np.ones((1, len(pairs)))])
    right = np.append(np.zeros(int(used.sum())), 1.0)
    for vertex in range(VERTICES):
        # Any objective will do, as long as each leads to another vertex; the first is 0.
        objective = np.sin(vertex * np.arange(1.0, len(pairs) + 1.0))
        solution = linprog(objective, A_eq=equations, b_eq=right, bounds=(0.0, None), method="highs-ds")
        if not solution.success:
            return None
        support = [pair for pair, mu in zip(pairs, solution.x, strict=True) if mu > SUPPORT]
        weights = _exact_weights(data, support, classes[:-1])
        certificate = None if weights is None else Certificate(tuple(i for i, _ in support), tuple(s for _, s in support), tuple(weights))
        if certificate is not None and certificate.is_valid(data):
            return certificate
    return None


def certificates(data: Dataset, size: int, tries: int | None = None) -> Iterator[Certificate]:
    """Yield a certificate for every set of so many classes that has one; of the sets, in lexical order, at most ``tries`` are tried."""
    sums = float_sums(data)
    for classes in islice(combinations(range(data.k), size), tries):
        certificate = certificate_for(data, sums, classes)
        if certificate is not None:
            yield certificate


def any_certificate(data: Dataset, sizes: Sequence[int] = SIZES) -> Certificate | None:
    """Return a certificate on so many classes, the first that is found: all pairs are tried, and `TRIES` sets of each larger size; else None."""
    for size in dict.fromkeys(min(size, data.k) for size in sizes):
        certificate = next(certificates(data, size, None if size == 2 else TRIES), None)
        if certificate is not None:
            return certificate
    return None


def separating_classifier(data: Dataset) -> np.ndarray | None:
    """Return weights (k, F) of a linear classifier without b_y that is right on all points, checked exactly; None if none is found."""
    solution = _program(data)
    if not solution.success:
        return None
    weights = np.asarray(solution.x).reshape(data.k, -1)
    return weights if is_perfect(data, weights) else None


def separable(data: Dataset) -> bool | None:
    """Say whether a linear classifier without b_y is right on all points, as the linear program has it in floating point; None if it gives up."""
    return {OPTIMAL: True, INFEASIBLE: False}.get(_program(data).status)


def _program(data: Dataset) -> Any:
    """Solve for the weights of a classifier, k F of them, right on all points with a margin: scipy's result, by the first solver that ends."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    sums, (k, N) = float_sums(data), (data.k, data.N)
    F = sums.shape[1]
    own = np.repeat(data.labels, k - 1)
    others = np.concatenate([np.delete(np.arange(k), y) for y in data.labels])
    point, feature = np.nonzero(sums)
    entries = sums[point, feature]
    # Row (i, s): -h_{y_i} + h_s <= -margin.
    row = np.arange(N * (k - 1)).reshape(N, k - 1)[point]
    rows = np.concatenate([row, row]).ravel()
    columns = np.concatenate([own[row] * F + feature[:, None], others[row] * F + feature[:, None]]).ravel()
    values = np.concatenate([np.repeat(-entries[:, None], k - 1, axis=1), np.repeat(entries[:, None], k - 1, axis=1)]).ravel()
    matrix = csr_array((values, (rows, columns)), shape=(N * (k - 1), k * F))
    right = np.full(N * (k - 1), -MARGIN)
    for method in ("highs", "highs-ipm"):
        solution = linprog(np.zeros(k * F), A_ub=matrix, b_ub=right, bounds=(None, None), method=method)
        if solution.status in (OPTIMAL, INFEASIBLE):
            break
    return solution


def is_perfect(data: Dataset, weights: np.ndarray) -> bool:
    """Whether the classifier with weights (k, F) has h_{y_i}(x_i) > h_s(x_i) for all points and s != y_i, in exact arithmetic."""
    for i in range(data.N):
        total = exact_sum(data, i)
        h = [sum((Fraction(float(w[feature])) * value for feature, value in total.items()), Fraction(0)) for w in weights]
        y = int(data.labels[i])
        if max(value for s, value in enumerate(h) if s != y) >= h[y]:
            return False
    return True


def _exact_weights(data: Dataset, support: Sequence[tuple[int, int]], classes: Sequence[int]) -> Vector | None:
    """Solve the equations of a certificate for these classes on its support with fractions; None if they have no solution or more than one."""
    vectors = {i: exact_sum(data, i) for i, _ in support}
    signs = [[int(data.labels[i] == c) - int(s == c) for i, s in support] for c in classes]
    features = sorted({feature for vector in vectors.values() for feature in vector})
    rows = [
        [*(sign * vectors[i].get(feature, Fraction(0)) for sign, (i, _) in zip(of_class, support, strict=True)), Fraction(0)]
        for of_class in signs
        for feature in features
    ]
    return solved([row for row in rows if any(row)] + [[Fraction(1)] * (len(support) + 1)])


def solved(rows: list[Vector]) -> Vector | None:
    """Return the only x with A x = b for rows (A | b) of fractions, by Gaussian elimination; None if there is none or more than one."""
    n = len(rows[0]) - 1
    left = [list(row) for row in rows]
    for column in range(n):
        pivot = next((i for i in range(column, len(left)) if left[i][column]), None)
        if pivot is None:
            return None
        left[column], left[pivot] = left[pivot], left[column]
        scale = left[column][column]
        left[column] = [value / scale for value in left[column]]
        for i, row in enumerate(left):
            if i != column and row[column]:
                factor = row[column]
                left[i] = [a - factor * b for a, b in zip(row, left[column], strict=True)]
    if any(row[n] for row in left[n:]):
        return None
    return [left[i][n] for i in range(n)]
