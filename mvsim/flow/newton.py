"""The implicit equation of one step, and its solution by Newton's method with GMRES where no Jacobian is known."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mvsim.flow.krylov import gmres
from mvsim.numerics.norm import length

ITERATIONS = 3
"""Most corrections of one step."""

SOLVED = 0.1
"""Part of the allowed error of a step to which its equation is solved, in the root mean square: that single coordinates be solved as well as their
errors are bounded costs 20 % more gradients, and no run that was tried gets better by it."""

LINEARLY = 0.05
"""Part of that to which a linear system is solved."""

KRYLOV = 20
"""Most products of one linear solve."""

FORGOTTEN = 0.3
"""Part of the last rate of convergence that counts for the next one, if it converges faster."""

DIFFERENCE = 1e-2
"""Distance of the two points of a difference quotient in units of the tolerance. At 1 the slope of the activation would already differ."""


class ImplicitEquation(NamedTuple):
    """a = gamma f(predicted + a) - velocity, to be solved for a."""

    f: Callable[[np.ndarray], np.ndarray]  # Right-hand side, (n,) -> (n,)
    gamma: float  # Step size over the leading coefficient of the formula
    predicted: np.ndarray  # (n,) prediction of y
    velocity: np.ndarray  # (n,) gamma times its derivative


@dataclass(frozen=True, eq=False)
class Solution:
    """The solution of the equation of a step."""

    correction: np.ndarray  # (n,) a
    rate: float  # Factor by which corrections shrank, an estimate for the next step


def solve_by_newton(equation: ImplicitEquation, weight: np.ndarray, allowed: float, rate: float) -> Solution | None:
    """Return the solution, or None if the corrections do not shrink.

    The linear systems (1 - gamma f') x = r are solved in units of the tolerances ``weight`` (n,). The error of the step allows a root mean square of
    a of ``allowed`` such units; ``rate`` is `Solution.rate` of the step before, 1 at first.
    """
    f, gamma, predicted, velocity = equation
    root = math.sqrt(len(predicted))
    enough = SOLVED * allowed
    correction = np.zeros_like(predicted)
    before = math.inf
    for iteration in range(ITERATIONS):
        y = predicted + correction
        slope = f(y)

        def product(v: np.ndarray, y: np.ndarray = y, slope: np.ndarray = slope) -> np.ndarray:
            direction = v * weight
            step = DIFFERENCE * root / max(length(v), 1e-300)
            return (direction - gamma * (f(y + step * direction) - slope) / step) / weight

        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is no solution
            defect = (gamma * slope - velocity - correction) / weight
            change, _ = gmres(product, defect, LINEARLY * enough * root, KRYLOV)
            correction = correction + weight * change
            size = length(change) / root
        if not math.isfinite(size) or not np.isfinite(defect).all() or (iteration and size > max(2.0 * before, enough)):
            return None
        if iteration:
            rate = max(FORGOTTEN * rate, size / before)
        if size * min(1.0, rate) <= enough:
            return Solution(correction, rate)
        before = size
    return None
