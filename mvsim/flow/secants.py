"""The implicit equation of one step by a fixed-point iteration that learns the Jacobian from its own steps (Anderson's acceleration).

With a = y - predicted, the equation of `mvsim.flow.newton.ImplicitEquation` is r(a) = 0 for the preconditioned residual

    r(a) = P^-1 (gamma f(predicted + a) - velocity - a),        P about 1 - gamma f'.

Were P exact and f linear, r(a + r) = 0. Of the directions d_j in which y has changed before it is known by how much f has changed, e_j; so a step
along d_j changes r by R_j = P^-1 (gamma e_j - d_j), whatever gamma and P are now. The coefficients theta that minimise |r + sum_j theta_j R_j| use
up what is known, and the preconditioner does the rest:

    a <- a + sum_j theta_j d_j + (r + sum_j theta_j R_j).

Each evaluation of f adds a direction. They are kept from step to step, as f' changes slowly but for escapes, and nothing is evaluated for the sake
of f' alone (Anderson, J. ACM 12, 1965; Walker and Ni, SIAM J. Numer. Anal. 49, 2011).

Only some coordinates can be stiff (`mvsim.flow.linearisation`). The iteration is about these, with their own f, at less than the price of the
whole, until it can be expected to have converged. The last evaluation is one of the whole f: it says whether the iteration has converged, and is all
that the other coordinates need, a = gamma f - velocity. Where this moves them by more than a solution may be wrong, f is evaluated once more, there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mvsim.flow.linearisation import Linearisation
from mvsim.flow.newton import FORGOTTEN, SOLVED, ImplicitEquation, Solution
from mvsim.flow.null_directions import Preconditioner
from mvsim.numerics.indexing import entries, lookup, with_entries
from mvsim.numerics.norm import length

MOST_DIRECTIONS = 8
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
    """Directions in which the change of f is known, never written to."""

    index: np.ndarray  # (s,) the coordinates that are looked at
    steps: np.ndarray  # steps, responses: (p, s) changes of y, and those of f, the oldest first
    responses: np.ndarray

    @staticmethod
    def none() -> Secants:
        """Return no direction."""
        return Secants(np.zeros(0, dtype=np.int64), np.zeros((0, 0)), np.zeros((0, 0)))

    def of(self, index: np.ndarray) -> Secants:
        """Return the same directions in other coordinates; in those that were not looked at, nothing has changed."""
        if np.array_equal(index, self.index):
            return self
        place = lookup(self.index, index)
        return Secants(index, entries(self.steps, place), entries(self.responses, place))

    def with_one_more(self, step: np.ndarray, response: np.ndarray) -> Secants:
        """Return the last `MOST_DIRECTIONS` directions, of which the last is given by changes (s,) of y and f."""
        return Secants(self.index, _last(self.steps, step[None, :]), _last(self.responses, response[None, :]))


class _Iteration:
    """Where the iteration is, on the coordinates that can be stiff: a (s,) so far, known directions, residual r (s,) in units of the tolerance."""

    r: np.ndarray

    def __init__(self, equation: ImplicitEquation, known: Linearisation, precondition: Preconditioner, weight: np.ndarray, secants: Secants) -> None:
        self._gamma, self._precondition = equation.gamma, precondition
        self._predicted, self._velocity, self._units = (v[known.index] for v in (equation.predicted, equation.velocity, weight))
        self.correction = np.zeros_like(self._predicted)
        self.secants = secants.of(known.index)
        self._changes = self._change_of_residual(self.secants.steps, self.secants.responses)

    @property
    def y(self) -> np.ndarray:
        """The coordinates (s,) of the iterate."""
        return self._predicted + self.correction

    def evaluate(self, slope: np.ndarray) -> None:
        """Take note of f (s,) at the iterate."""
        self._slope = slope
        self.r = self._precondition(self._gamma * slope - self._velocity - self.correction, self._velocity + self.correction) / self._units

    def next_step(self) -> np.ndarray:
        """Return (s,): the best step from the iterate."""
        return self._units * (self.r + _along_secants(self.secants.steps / self._units, self._changes, self.r))

    def learn(self, step: np.ndarray, slope: np.ndarray) -> None:
        """Take note of a step that was made, at the end of which f is ``slope`` (s,)."""
        response = slope - self._slope
        self.secants = self.secants.with_one_more(step, response)
        self._changes = _last(self._changes, self._change_of_residual(step[None, :], response[None, :]))
        self.evaluate(slope)

    def _change_of_residual(self, steps: np.ndarray, responses: np.ndarray) -> np.ndarray:
        return self._precondition(self._gamma * responses - steps, steps) / self._units


class _Others:
    """The coordinates that cannot be stiff, of which the whole f tells by one substitution where they are: a = gamma f - velocity.

    ``correction`` (n,) is a by the last evaluation, right for these coordinates only, and ``motion`` the root mean square of its distance from where
    f was evaluated, over all n, in units of the tolerance. ``have_moved`` is whether f is now evaluated elsewhere than at their prediction.
    """

    correction: np.ndarray
    motion: float

    def __init__(self, equation: ImplicitEquation, known: Linearisation, weight: np.ndarray) -> None:
        self._equation, self._index, self._weight = equation, known.index, weight
        self._at = np.zeros_like(equation.predicted)
        self.have_moved = False

    def evaluate(self, y: np.ndarray) -> np.ndarray:
        """Return f (s,) of the stiff coordinates, which are at y (s,)."""
        slope = self._equation.f(with_entries(self._equation.predicted + self._at, self._index, y))
        self.correction = self._equation.gamma * slope - self._equation.velocity
        off = (self.correction - self._at) / self._weight
        off[self._index] = 0.0
        self.motion = length(off) / math.sqrt(len(off))
        return slope[self._index]

    def move(self) -> None:
        """Go to where the last evaluation says that they are."""
        self._at, self.have_moved = self.correction, True


def solve_by_secants(
    equation: ImplicitEquation,
    known: Linearisation,
    precondition: Preconditioner,
    weight: np.ndarray,
    allowed: float,
    rate: float,
    secants: Secants,
) -> tuple[Solution | None, Secants]:
    """Return the solution, None if the iteration does not converge, and the directions that are known now.

    ``known`` is the part that can be stiff and ``precondition`` its P^-1; ``weight`` (n,) are tolerances, and the error of the step allows a root
    mean square of a of ``allowed`` of them. ``rate`` is `Solution.rate` of the step before with the same preconditioner, else 1.
    """
    root, enough = math.sqrt(len(weight)), SOLVED * allowed
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is no solution
        iteration = _Iteration(equation, known, precondition, weight, secants)
        iteration.evaluate(known.rate(iteration.y) if len(known.index) else iteration.y)
        size = length(iteration.r) / root
        others = _Others(equation, known, weight)
        for left in range(EVALUATIONS - 2, -1, -1):
            step = iteration.next_step()
            if not np.isfinite(step).all():
                break
            iteration.correction = iteration.correction + step
            whole = left == 0 or others.have_moved or size * min(rate, 1.0) <= enough
            iteration.learn(step, others.evaluate(iteration.y) if whole else known.rate(iteration.y))
            last_size, size = size, length(iteration.r) / root
            rate = max(FORGOTTEN * rate, size / last_size) if last_size > 0.0 else rate
            if not size <= max(DIVERGES * last_size, enough):
                break
            if whole and size <= enough < others.motion:
                others.move()
                iteration.evaluate(others.evaluate(iteration.y))
                size = length(iteration.r) / root
            if whole and size <= enough and others.motion <= enough:
                correction = with_entries(others.correction, known.index, iteration.correction + iteration.next_step())
                return Solution(correction, rate), iteration.secants
    return None, Secants.none()


def _last(rows: np.ndarray, row: np.ndarray) -> np.ndarray:
    """Return the last `MOST_DIRECTIONS` of some rows with one more."""
    return np.concatenate([rows, row])[-MOST_DIRECTIONS:]


def _along_secants(steps: np.ndarray, changes: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Return (s,): sum_j theta_j (d_j + R_j) for the theta that minimise |r + sum_j theta_j R_j|; d and R are (p, s), r is (s,)."""
    if not len(changes):
        return np.zeros_like(r)
    lengths = np.sqrt((changes * changes).sum(axis=1))
    lengths = np.where(lengths > 0.0, lengths, 1.0)
    scaled = changes / lengths[:, None]
    gram, target = scaled @ scaled.T, scaled @ r
    if not (np.isfinite(gram).all() and np.isfinite(target).all()):
        return np.full_like(r, math.nan)
    theta = np.linalg.lstsq(gram, -target, rcond=RANK)[0] / lengths
    return np.asarray(theta @ (steps + changes))
