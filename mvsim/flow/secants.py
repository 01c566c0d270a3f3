"""The implicit equation of one step by a fixed-point iteration that learns the Jacobian from its own steps (Anderson's acceleration).

With a = y - predicted, the equation of `mvsim.flow.newton.ImplicitEquation` is r(a) = 0 for the preconditioned residual

    r(a) = P^-1 (gamma f(predicted + a) - velocity - a),        P about 1 - gamma f'.

Were P exact and f linear, r(a + r) = 0. Of the directions d_j in which y has changed before it is known by how much f has changed, e_j; so a step
along d_j changes r by R_j = P^-1 (gamma e_j - d_j), whatever gamma and P are now. The coefficients theta that minimise |r + sum_j theta_j R_j| use
up what is known, and the preconditioner does the rest:

    a <- a + sum_j theta_j d_j + (r + sum_j theta_j R_j).

Each evaluation of f adds a direction. They are kept from step to step, as f' changes slowly but for escapes, and nothing is evaluated for the sake
of f' alone (Anderson, J. ACM 12, 1965; Walker and Ni, SIAM J. Numer. Anal. 49, 2011).

Only some coordinates can be stiff (`mvsim.flow.near`). The iteration is about these, with their own f, at less than the price of the
whole, until it can be expected to have converged. The last evaluation is one of the whole f: it says whether the iteration has converged, and is all
that the other coordinates need, a = gamma f - velocity. Where this moves them by more than a solution may be wrong, f is evaluated once more, there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import device

from mvsim.flow.near import Near
from mvsim.flow.newton import FORGOTTEN, SOLVED, ImplicitEquation, Solution
from mvsim.flow.null_directions import Preconditioner
from mvsim.numerics.namespaces import namespace_of
from mvsim.numerics.primitives import primitives_of
from mvsim.numerics.vectors import all_finite, integers_like, length, same_entries

KEPT = 8
"""Most directions that are kept."""

EVALUATIONS = 6
"""Most evaluations of f for one step, besides one each time that the coordinates that cannot be stiff have moved."""

DIVERGES = 1e3
"""Factor by which residuals may grow from one evaluation to the next before the iteration is given up, unless they are small enough all the same. A
step along a direction that is not known yet can make them much larger; then it is known."""

RANK = 1e-12
"""Eigenvalues of the Gram matrix of the R_j, each scaled to length 1, below this part of the largest count as 0."""


@dataclass(frozen=True, eq=False)
class Secants:
    """Directions in which the change of f is known, never written to.

    Attributes
    ----------
    index : array
        (s,) the coordinates that are looked at.
    steps, responses : array
        (p, s) changes of y, and those of f, the oldest first.
    """

    index: Any
    steps: Any
    responses: Any

    @staticmethod
    def none(like: Any = np.zeros(0)) -> Secants:  # noqa: B008 - nobody writes to it
        """Return no direction, in the namespace and on the device of an array."""
        xp, place = namespace_of(like), device(like)
        empty = xp.zeros((0, 0), dtype=xp.float64, device=place)
        return Secants(integers_like(0, like), empty, empty)

    def of(self, index: Any) -> Secants:
        """Return the same directions in other coordinates; in those that were not looked at, nothing has changed."""
        if same_entries(index, self.index):
            return self
        by, both = primitives_of(index), namespace_of(index).stack([self.steps, self.responses])
        both = by.entries(both, by.lookup(self.index, index))
        return Secants(index, both[0, ...], both[1, ...])

    def with_one_more(self, step: Any, response: Any) -> Secants:
        """Return the last `KEPT` directions, of which the last is given by changes (s,) of y and f."""
        return Secants(self.index, _last(self.steps, step[None, :]), _last(self.responses, response[None, :]))


class _Iteration:
    """Where the iteration is, on the coordinates that can be stiff.

    Parameters
    ----------
    equation, near, precondition, weight, secants
        See `solve_by_secants`.

    Attributes
    ----------
    correction : array
        (s,) a so far.
    secants : Secants
        Known directions.
    r : array
        (s,) preconditioned residual there, in units of the tolerance.
    """

    r: Any

    def __init__(self, equation: ImplicitEquation, near: Near, precondition: Preconditioner, weight: Any, secants: Secants) -> None:
        self._gamma, self._precondition = equation.gamma, precondition
        self._predicted, self._velocity, self._units = (v[near.index] for v in (equation.predicted, equation.velocity, weight))
        self.correction = namespace_of(weight).zeros_like(self._predicted)
        self.secants = secants.of(near.index)
        self._changes = self._change_of_residual(self.secants.steps, self.secants.responses)

    @property
    def y(self) -> Any:
        """The coordinates (s,) here."""
        return self._predicted + self.correction

    def arrived(self, slope: Any) -> None:
        """Take note of f here (s,)."""
        self._slope = slope
        self.r = self._precondition(self._gamma * slope - self._velocity - self.correction, self._velocity + self.correction) / self._units

    def next_step(self) -> Any:
        """Return (s,): the best step from here."""
        return self._units * (self.r + _known(self.secants.steps / self._units, self._changes, self.r))

    def learnt(self, step: Any, slope: Any) -> None:
        """Make a step, at the end of which f is ``slope`` (s,)."""
        response = slope - self._slope
        self.secants = self.secants.with_one_more(step, response)
        self._changes = _last(self._changes, self._change_of_residual(step[None, :], response[None, :]))
        self.arrived(slope)

    def _change_of_residual(self, steps: Any, responses: Any) -> Any:
        return self._precondition(self._gamma * responses - steps, steps) / self._units


class _Others:
    """The coordinates that cannot be stiff, of which the whole f tells by one substitution where they are: a = gamma f - velocity.

    Parameters
    ----------
    equation, near, weight
        See `solve_by_secants`.

    Attributes
    ----------
    correction : array
        (n,) a by the last evaluation, right for these coordinates only.
    motion : float
        Root mean square of its distance from where f was evaluated, over all n, in units of the tolerance.
    have_moved : bool
        Whether f is now evaluated elsewhere than at their prediction.
    """

    correction: Any
    motion: float

    def __init__(self, equation: ImplicitEquation, near: Near, weight: Any) -> None:
        self._equation, self._near, self._weight = equation, near, weight
        self._at = namespace_of(weight).zeros_like(equation.predicted)
        self.have_moved = False

    def evaluated(self, y: Any) -> Any:
        """Return f (s,) of the stiff coordinates, which are at y (s,)."""
        xp, places = namespace_of(y), self._near.places
        slope = self._equation.f(places.written(self._equation.predicted + self._at, y))
        self.correction = self._equation.gamma * slope - self._equation.velocity
        off = places.written((self.correction - self._at) / self._weight, xp.zeros_like(y))
        self.motion = length(off) / math.sqrt(off.shape[0])
        return slope[self._near.index]

    def move(self) -> None:
        """Go to where the last evaluation says that they are."""
        self._at, self.have_moved = self.correction, True


def solve_by_secants(
    equation: ImplicitEquation, near: Near, precondition: Preconditioner, weight: Any, allowed: float, rate: float, secants: Secants
) -> tuple[Solution | None, Secants]:
    """Return the solution, None if the iteration does not converge, and the directions that are known now.

    Parameters
    ----------
    equation : ImplicitEquation
        What is solved.
    near : Near
        The part that can be stiff.
    precondition : Preconditioner
        P^-1 for that part.
    weight : array
        (n,) tolerances.
    allowed : float
        Root mean square of a that the error of the step allows, in units of the tolerance.
    rate : float
        `Solution.rate` of the step before with the same preconditioner, else 1.
    secants : Secants
        Known directions.
    """
    root, enough = math.sqrt(weight.shape[0]), SOLVED * allowed
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is no solution
        iteration = _Iteration(equation, near, precondition, weight, secants)
        iteration.arrived(near.rate(iteration.y) if near.index.shape[0] else iteration.y)
        size = length(iteration.r) / root
        others = _Others(equation, near, weight)
        for left in range(EVALUATIONS - 2, -1, -1):
            step = iteration.next_step()
            if not all_finite(step):
                break
            iteration.correction = iteration.correction + step
            whole = left == 0 or others.have_moved or size * min(rate, 1.0) <= enough
            iteration.learnt(step, others.evaluated(iteration.y) if whole else near.rate(iteration.y))
            last_size, size = size, length(iteration.r) / root
            rate = max(FORGOTTEN * rate, size / last_size) if last_size > 0.0 else rate
            if not size <= max(DIVERGES * last_size, enough):
                break
            if whole and size <= enough < others.motion:
                others.move()
                iteration.arrived(others.evaluated(iteration.y))
                size = length(iteration.r) / root
            if whole and size <= enough and others.motion <= enough:
                correction = near.places.written(others.correction, iteration.correction + iteration.next_step())
                return Solution(correction, rate), iteration.secants
    return None, Secants.none(weight)


def _last(rows: Any, row: Any) -> Any:
    """Return the last `KEPT` of some rows with one more."""
    all_rows = namespace_of(rows).concat([rows, row])
    return all_rows[max(all_rows.shape[0] - KEPT, 0) :, :]


def _known(steps: Any, changes: Any, r: Any) -> Any:
    """Return (s,): sum_j theta_j (d_j + R_j) for the theta that minimise |r + sum_j theta_j R_j|; d and R are (p, s), r is (s,)."""
    xp = namespace_of(r)
    if not changes.shape[0]:
        return xp.zeros_like(r)
    lengths = xp.sqrt(xp.sum(changes * changes, axis=1))
    lengths = xp.where(lengths > 0.0, lengths, xp.ones_like(lengths))
    scaled = changes / lengths[:, None]
    gram, target = xp.matmul(scaled, xp.matrix_transpose(scaled)), xp.matmul(scaled, r)
    if not (all_finite(gram) and all_finite(target)):
        return xp.full_like(r, math.nan)
    theta = primitives_of(gram).least_squares(gram, -target, RANK) / lengths
    return xp.matmul(theta, steps + changes)
