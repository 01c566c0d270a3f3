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
that the other coordinates need, a = gamma f - velocity.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mvsim.integrators.flow.near import Near
from mvsim.integrators.flow.newton import SOLVED, ImplicitEquation, Solution

KEPT = 8
"""Most directions that are kept."""


EVALUATIONS = 4
"""Most evaluations of f for one step."""

SLOWEST = 1.0
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
        moved = np.zeros((2, len(self.steps), size))
        moved[:, :, self.index] = self.steps, self.responses
        steps, responses = moved[:, :, index]
        return Secants(index, steps, responses)

    def with_one_more(self, step: np.ndarray, response: np.ndarray) -> Secants:
        """Return the last `KEPT` directions, of which the last is given by changes (s,) of y and f."""
        steps = np.concatenate([self.steps, step[None]])[-KEPT:]
        return Secants(self.index, steps, np.concatenate([self.responses, response[None]])[-KEPT:])


def solve_by_secants(
    equation: ImplicitEquation,
    near: Near,
    precondition: Callable[[np.ndarray], np.ndarray],
    weight: np.ndarray,
    allowed: float,
    rate: float,
    secants: Secants,
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
    f, gamma, predicted, velocity = equation
    index, root, enough = near.index, math.sqrt(len(weight)), SOLVED * allowed
    units, start, moving, secants = weight[index], predicted[index], velocity[index], secants.of(index)
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is no solution
        correction, slope = np.zeros_like(start), near.rate(start) if len(index) else np.zeros(0)
        r = precondition(gamma * slope - moving) / units
        changes = precondition(gamma * secants.responses - secants.steps) / units
        size = float(np.linalg.norm(r)) / root
        for evaluation in range(1, EVALUATIONS):
            step = units * (r + _known(secants.steps / units, changes, r))
            if not np.isfinite(step).all():
                return None, Secants.none()
            correction = correction + step
            y = predicted.copy()
            y[index] = start + correction
            is_last = size * min(rate, 1.0) <= enough or evaluation == EVALUATIONS - 1
            everywhere = f(y) if is_last else None
            before, slope = slope, near.rate(y[index]) if everywhere is None else everywhere[index]
            secants = secants.with_one_more(step, slope - before)
            changes = np.concatenate([changes, precondition(gamma * secants.responses[-1:] - secants.steps[-1:]) / units])[-KEPT:]
            r = precondition(gamma * slope - moving - correction) / units
            last_size, size = size, float(np.linalg.norm(r)) / root
            rate = max(FORGOTTEN * rate, size / last_size) if last_size > 0.0 else rate
            if everywhere is not None and size <= enough:
                found = gamma * everywhere - velocity
                found[index] = correction + units * (r + _known(secants.steps / units, changes, r))
                return Solution(found, float(np.linalg.norm(found / weight)) / root, rate), secants
            if not size <= SLOWEST * last_size:
                break
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
