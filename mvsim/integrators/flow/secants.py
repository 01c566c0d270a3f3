"""The implicit equation of one step by a fixed-point iteration that learns the Jacobian from its own steps (Anderson's acceleration).

With a = y - predicted, the equation of `mvsim.integrators.flow.newton.ImplicitEquation` is r(a) = 0 for the preconditioned residual

    r(a) = P^-1 (gamma f(predicted + a) - velocity - a),        P about 1 - gamma f'.

Were P exact and f linear, r(a + r) = 0. Of the directions d_j in which y has changed before it is known by how much f has changed, e_j; so a step
along d_j changes r by R_j = P^-1 (gamma e_j - d_j), whatever gamma and P are now. The coefficients theta that minimise |r + sum_j theta_j R_j| use
up what is known, and the preconditioner does the rest:

    a <- a + sum_j theta_j d_j + (r + sum_j theta_j R_j).

Each evaluation of f adds a direction. They are kept from step to step, as f' changes slowly but for escapes, and nothing is evaluated for the sake
of f' alone (Anderson, J. ACM 12, 1965; Walker and Ni, SIAM J. Numer. Anal. 49, 2011).

Only some coordinates can be stiff (`mvsim.integrators.flow.near`). The iteration is about these, with their own f, at less than the price of the
whole, until it can be expected to have converged. The last evaluation is one of the whole f: it says whether the iteration has converged, and is all
that the other coordinates need, a = gamma f - velocity. Where this moves them by more than a solution may be wrong, f is evaluated once more, there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mvsim.integrators.flow.krylov import Operator
from mvsim.integrators.flow.near import Near
from mvsim.integrators.flow.newton import SOLVED, ImplicitEquation, Solution

KEPT = 8
"""Most directions that are kept."""


EVALUATIONS = 6
"""Most evaluations of f for one step."""

SLOWEST = 3.0
"""Factor by which residuals may grow from one evaluation to the next before the iteration is given up."""

FORGOTTEN = 0.3
"""Part of the last rate of convergence that counts for the next one, if it converges faster."""

RANK = 1e-12
"""Eigenvalues of the Gram matrix of the R_j, each scaled to length 1, below this part of the largest count as 0."""


@dataclass(frozen=True, eq=False)
class Secants:
    """Directions in which the change of f is known, never written to.

    Attributes
    ----------
    index : numpy.ndarray
        (s,) the coordinates that are looked at.
    steps, responses : numpy.ndarray
        (p, s) changes of y, and those of f, the oldest first.
    """

    index: np.ndarray
    steps: np.ndarray
    responses: np.ndarray

    @staticmethod
    def none() -> Secants:
        """Return no direction."""
        return Secants(np.zeros(0, np.int64), np.zeros((0, 0)), np.zeros((0, 0)))

    def of(self, index: np.ndarray) -> Secants:
        """Return the same directions in other coordinates; in those that were not looked at, nothing has changed."""
        if np.array_equal(index, self.index):
            return self
        size = 1 + max(int(each.max(initial=-1)) for each in (index, self.index))
        everywhere = np.zeros((2, len(self.steps), size))
        everywhere[:, :, self.index] = self.steps, self.responses
        steps, responses = everywhere[:, :, index]
        return Secants(index, steps, responses)

    def with_one_more(self, step: np.ndarray, response: np.ndarray) -> Secants:
        """Return the last `KEPT` directions, of which the last is given by changes (s,) of y and f."""
        steps = np.concatenate([self.steps, step[None]])[-KEPT:]
        return Secants(self.index, steps, np.concatenate([self.responses, response[None]])[-KEPT:])


class _Iteration:
    """Where the iteration is, on the coordinates that can be stiff.

    Parameters
    ----------
    equation, near, precondition, weight, secants
        See `solve_by_secants`.

    Attributes
    ----------
    correction : numpy.ndarray
        (s,) a so far.
    secants : Secants
        Known directions.
    r : numpy.ndarray
        (s,) preconditioned residual there, in units of the tolerance.
    """

    r: np.ndarray

    def __init__(self, equation: ImplicitEquation, near: Near, precondition: Operator, weight: np.ndarray, secants: Secants) -> None:
        self._gamma, self._precondition = equation.gamma, precondition
        self._predicted, self._velocity = equation.predicted[near.index], equation.velocity[near.index]
        self._units = weight[near.index]
        self.correction = np.zeros_like(self._predicted)
        self.secants = secants.of(near.index)
        self._changes = self._change_of_residual(self.secants.steps, self.secants.responses)

    @property
    def y(self) -> np.ndarray:
        """The coordinates (s,) here."""
        return self._predicted + self.correction

    def arrived(self, slope: np.ndarray) -> None:
        """Take note of f here (s,)."""
        self._slope = slope
        self.r = self._precondition(self._gamma * slope - self._velocity - self.correction) / self._units

    def next_step(self) -> np.ndarray:
        """Return (s,): the best step from here."""
        return self._units * (self.r + _known(self.secants.steps / self._units, self._changes, self.r))

    def learnt(self, step: np.ndarray, slope: np.ndarray) -> None:
        """Make a step, at the end of which f is ``slope`` (s,)."""
        response = slope - self._slope
        self.secants = self.secants.with_one_more(step, response)
        self._changes = np.concatenate([self._changes, self._change_of_residual(step[None], response[None])])[-KEPT:]
        self.arrived(slope)

    def _change_of_residual(self, steps: np.ndarray, responses: np.ndarray) -> np.ndarray:
        return self._precondition(self._gamma * responses - steps) / self._units


class _Others:
    """The coordinates that cannot be stiff, of which the whole f tells by one substitution where they are: a = gamma f - velocity.

    Parameters
    ----------
    equation, weight
        See `solve_by_secants`.
    stiff : numpy.ndarray
        (s,) indices of all others than these.

    Attributes
    ----------
    correction : numpy.ndarray
        (n,) a by the last evaluation, right for these coordinates only.
    motion : float
        Root mean square of its distance from where f was evaluated, over all n, in units of the tolerance.
    have_moved : bool
        Whether f is now evaluated elsewhere than at their prediction.
    """

    correction: np.ndarray
    motion: float

    def __init__(self, equation: ImplicitEquation, stiff: np.ndarray, weight: np.ndarray) -> None:
        self._equation, self._stiff, self._weight = equation, stiff, weight
        self._at = np.zeros_like(equation.predicted)
        self.have_moved = False

    def evaluated(self, y: np.ndarray) -> np.ndarray:
        """Return f (s,) of the stiff coordinates, which are at y (s,)."""
        place = self._equation.predicted + self._at
        place[self._stiff] = y
        slope = self._equation.f(place)
        self.correction = self._equation.gamma * slope - self._equation.velocity
        off = (self.correction - self._at) / self._weight
        off[self._stiff] = 0.0
        self.motion = float(np.linalg.norm(off)) / math.sqrt(len(off))
        return slope[self._stiff]

    def move(self) -> None:
        """Go to where the last evaluation says that they are."""
        self._at, self.have_moved = self.correction, True


def solve_by_secants(
    equation: ImplicitEquation, near: Near, precondition: Operator, weight: np.ndarray, allowed: float, rate: float, secants: Secants
) -> tuple[Solution | None, Secants]:
    """Return the solution, None if the iteration does not converge, and the directions that are known now.

    Parameters
    ----------
    equation : ImplicitEquation
        What is solved.
    near : Near
        The part that can be stiff.
    precondition : callable
        P^-1 for that part.
    weight : numpy.ndarray
        (n,) tolerances.
    allowed : float
        Root mean square of a that the error of the step allows, in units of the tolerance.
    rate : float
        `Solution.rate` of the step before with the same preconditioner, else 1.
    secants : Secants
        Known directions.
    """
    root, enough = math.sqrt(len(weight)), SOLVED * allowed
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is no solution
        iteration = _Iteration(equation, near, precondition, weight, secants)
        iteration.arrived(near.rate(iteration.y) if len(near.index) else iteration.y)
        size = float(np.linalg.norm(iteration.r)) / root
        others = _Others(equation, near.index, weight)
        for left in range(EVALUATIONS - 2, -1, -1):
            step = iteration.next_step()
            if not np.isfinite(step).all():
                break
            iteration.correction = iteration.correction + step
            whole = left == 0 or others.have_moved or size * min(rate, 1.0) <= enough
            iteration.learnt(step, others.evaluated(iteration.y) if whole else near.rate(iteration.y))
            last_size, size = size, float(np.linalg.norm(iteration.r)) / root
            rate = max(FORGOTTEN * rate, size / last_size) if last_size > 0.0 else rate
            if not size <= SLOWEST * last_size:
                break
            if whole and size <= enough < others.motion:
                others.move()
                iteration.arrived(others.evaluated(iteration.y))
                size = float(np.linalg.norm(iteration.r)) / root
            if whole and max(size, others.motion) <= enough:
                correction = others.correction.copy()
                correction[near.index] = iteration.correction + iteration.next_step()
                return Solution(correction, float(np.linalg.norm(correction / weight)) / root, rate), iteration.secants
    return None, Secants.none()


def _known(steps: np.ndarray, changes: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Return (s,): sum_j theta_j (d_j + R_j) for the theta that minimise |r + sum_j theta_j R_j|; d and R are (p, s), r is (s,)."""
    if not len(changes):
        return np.zeros_like(r)
    lengths = np.linalg.norm(changes, axis=1)
    lengths = np.where(lengths > 0.0, lengths, 1.0)
    scaled = changes / lengths[:, None]
    gram, target = scaled @ scaled.T, scaled @ r
    if not (np.isfinite(gram).all() and np.isfinite(target).all()):
        return np.full_like(r, np.nan)
    theta: np.ndarray = np.linalg.lstsq(gram, -target, rcond=RANK)[0] / lengths
    return theta @ (steps + changes)
