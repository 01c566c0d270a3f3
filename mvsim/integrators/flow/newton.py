"""The implicit equation of one step by Newton's method with preconditioned GMRES."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mvsim.integrators.flow.krylov import gmres

ITERATIONS = 3
"""Most corrections of one step."""

SOLVED = 0.1
"""Part of the allowed error of a step to which its equation is solved."""

LINEARLY = 0.05
"""Part of that to which a linear system is solved."""

DIFFERENCE = 1e-2
"""Distance of the two points of a difference quotient in units of the tolerance. At 1 the slope of the activation is another one."""


class ImplicitEquation(NamedTuple):
    """a = gamma f(predicted + a) - velocity, to be solved for a.

    Attributes
    ----------
    f : callable
        Right-hand side, (n,) -> (n,).
    gamma : float
        Step size over the leading coefficient of the formula.
    predicted : numpy.ndarray
        (n,) prediction of y.
    velocity : numpy.ndarray
        (n,) gamma times its derivative.
    """

    f: Callable[[np.ndarray], np.ndarray]
    gamma: float
    predicted: np.ndarray
    velocity: np.ndarray


@dataclass(frozen=True, eq=False)
class Solution:
    """What Newton's method found.

    Attributes
    ----------
    correction : numpy.ndarray
        (n,) a.
    size : float
        Its root mean square in units of the tolerance.
    rate : float
        Factor by which corrections shrank, an estimate for the next step.
    """

    correction: np.ndarray
    size: float
    rate: float


def solve_step(
    equation: ImplicitEquation, precondition: Callable[[np.ndarray], np.ndarray], weight: np.ndarray, allowed: float, rate: float, most: int
) -> Solution | None:
    """Return the solution, or None if the corrections do not shrink.

    The linear systems (1 - gamma f') x = r are preconditioned from the left, and solved in units of the tolerance.

    Parameters
    ----------
    equation : ImplicitEquation
        What is solved.
    precondition : callable
        About (1 - gamma f')^-1.
    weight : numpy.ndarray
        (n,) tolerances.
    allowed : float
        Root mean square of a that the error of the step allows, in units of the tolerance.
    rate : float
        `Solution.rate` of the step before with the same preconditioner, else 1.
    most : int
        Most products of one linear solve.
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
            step = DIFFERENCE * root / max(float(np.linalg.norm(v)), 1e-300)
            return precondition(direction - gamma * (f(y + step * direction) - slope) / step) / weight

        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is no solution
            defect = precondition(gamma * slope - velocity - correction) / weight
            change, _ = gmres(product, defect, LINEARLY * enough * root, most)
            correction = correction + weight * change
            size = float(np.linalg.norm(change)) / root
        if not math.isfinite(size) or not np.isfinite(defect).all() or (iteration and size > 2.0 * before):
            return None
        if iteration:
            rate = max(0.3 * rate, size / before)
        if size * min(1.0, rate) <= enough:
            total = float(np.linalg.norm(correction / weight)) / root
            return Solution(correction, total, rate)
        before = size
    return None
