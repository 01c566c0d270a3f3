"""Steps of the BDF within the tolerance: Newton's method, the error test, and the choice of order and step size, as in CVODE."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np

from mvsim.errors import DivergedError
from mvsim.integrators.flow.bdf import LEAST_GROWTH, MAX_ORDER, SAFETY_HIGHER, SAFETY_OTHER, SAFETY_SAME, Coefficients, History
from mvsim.integrators.flow.newton import ImplicitEquation, Solution, solve_step
from mvsim.linalg.arrow_matrix import Curvature, Shifted

MOST_GROWTH_AFTER_FIRST, MOST_GROWTH_LATER = 1e4, 10.0
"""Most growth of the step size after the first step, and after any other, as the error allows it."""

KRYLOV = 20
"""Most products of one linear solve."""

LONGEST_INVERSE = 20
"""Steps for which the inverse in the preconditioner is kept."""

DRIFT = 0.3
"""Relative change of gamma beyond which the inverse is made anew."""

ATTEMPTS = 40
"""Attempts at one step before it is given up."""

RESTART_AFTER = 3
"""Failed tests of one step after which the past is dropped."""

CLEARLY_UNSOUND = 1e3
"""Error assigned to a step that passes the error test and is refused as unsound; it sets how much shorter the next attempt is."""


class Motion(NamedTuple):
    """One end of a step: y and its velocity, (n,) each."""

    y: np.ndarray
    velocity: np.ndarray


Judge = Callable[[float, Motion, Motion], np.ndarray | None]
"""(size of a step, its beginning, its end) -> what integrals along the trajectory gain in it, or None if the step must not be taken."""


class System(Protocol):
    """What a stepper integrates: y' = rate(y) on (n,) arrays."""

    def rate(self, y: np.ndarray) -> np.ndarray:
        """Return y'; raise `DivergedError` if it is not finite."""

    def tolerance(self, y: np.ndarray) -> np.ndarray:
        """Return (n,): the allowed error of each coordinate at y."""

    def curvature(self, y: np.ndarray) -> Curvature | None:
        """Return the stiff part of the Hessian by c, or None."""

    def slope(self, y: np.ndarray) -> np.ndarray:
        """Return (n,): dy/dc."""


@dataclass(frozen=True, eq=False)
class StepperState:
    """Where a stepper is, and everything that its next step depends on. Never written to.

    Attributes
    ----------
    history : History
        The past of y and, behind it, the integrals, without a past.
    most_growth : float
        Most growth of the next step.
    steps : int
        Steps since the beginning.
    linearised : numpy.ndarray
        (n,) y at which the Hessian of the preconditioner was taken.
    linearised_at, inverted_at : int
        Steps at which Hessian and inverse were made; -1: they have to be made.
    gamma : float
        Of the inverse.
    lifetime : int
        Steps after which the Hessian is made anew.
    rate : float
        At which Newton's corrections shrank.
    """

    history: History
    most_growth: float
    steps: int
    linearised: np.ndarray
    linearised_at: int
    inverted_at: int
    gamma: float
    lifetime: int
    rate: float


class Stepper:
    """Makes steps of one system.

    Parameters
    ----------
    system : System
        What is integrated.
    """

    def __init__(self, system: System) -> None:
        self.system = system
        self._inverse: _Inverse | None = None

    def started(self, y: np.ndarray, integrals: np.ndarray, h: float, velocity: np.ndarray) -> StepperState:
        """Return a beginning without a past, with a first step of size h."""
        moving = np.concatenate([velocity, np.zeros_like(integrals)])
        return StepperState(
            history=History.started(np.concatenate([y, integrals]), moving, h),
            most_growth=MOST_GROWTH_AFTER_FIRST,
            steps=0,
            linearised=y,
            linearised_at=-1,
            inverted_at=-1,
            gamma=0.0,
            lifetime=1,
            rate=1.0,
        )

    def step(self, start: StepperState, longest: float, judge: Judge) -> tuple[StepperState, float]:
        """Make one step.

        Parameters
        ----------
        start : StepperState
            Where to step from.
        longest : float
            Largest step size.
        judge : callable
            Asked about each step that passed the error test.

        Returns
        -------
        StepperState
            Where the step ends; its history has the size of the next step.
        float
            Size of the step.

        Raises
        ------
        GaveUpError
            If no attempt succeeded.
        """
        n = len(start.linearised)
        begin = start.history.Z[0]
        weight = self.system.tolerance(begin[:n])
        now = replace(start, history=start.history.rescaled(min(start.history.h, longest)))
        failures, most_growth, reason = 0, now.most_growth, ""
        for _ in range(ATTEMPTS):
            history = now.history
            coefficients = history.coefficients()
            now, solution = self._solve(now, coefficients, weight)
            if solution is None:
                most_growth, reason = 1.0, "Newton's method does not converge"
                now = replace(now, history=history.rescaled(0.25 * history.h))
                continue
            error = solution.size * coefficients.error
            if error <= 1.0:
                after = self._corrected(history, coefficients, solution)
                gain = judge(history.h, _motion(history, n), _motion(after, n))
                if gain is not None:
                    after.Z[0, n:] += gain
                    after, ratio = self._next(history, after, coefficients, error, weight, most_growth)
                    after = after.rescaled(ratio * history.h)
                    return replace(now, history=after, most_growth=MOST_GROWTH_LATER, steps=now.steps + 1, rate=solution.rate), history.h
                error, reason = CLEARLY_UNSOUND, "the loss does not fall as |grad J|^2 says, or a correlation jumps over its threshold"
            else:
                reason = "the error is beyond the tolerance"
            failures, most_growth = failures + 1, 1.0
            now = self._after_failure(now, error, failures, n)
        raise GaveUpError(f"{reason}, even with a step of {now.history.h:.3g}")

    def _solve(self, now: StepperState, c: Coefficients, weight: np.ndarray) -> tuple[StepperState, Solution | None]:
        """Solve the equation of the step; with a new preconditioner if the one there is has aged, or does not do."""
        n = len(weight)
        prediction = now.history.predicted()
        y, moving = prediction[0, :n].copy(), prediction[1, :n]
        gamma = now.history.h / c.l[1]
        fresh = now.inverted_at < 0 or now.steps >= now.inverted_at + LONGEST_INVERSE or abs(gamma / now.gamma - 1.0) > DRIFT
        while True:
            if now.linearised_at < 0 or now.steps >= now.linearised_at + now.lifetime:
                now, fresh = replace(now, linearised=y, linearised_at=now.steps), True
            if fresh:
                now = replace(now, inverted_at=now.steps, gamma=gamma, rate=1.0)
            try:
                inverse = self._inverse_of(now)
                now = replace(now, lifetime=inverse.lifetime)
                implicit = ImplicitEquation(self.system.rate, gamma, y, moving / c.l[1])
                solution = solve_step(implicit, inverse.solve, weight, 1.0 / c.error, now.rate, KRYLOV)
            except (DivergedError, np.linalg.LinAlgError):
                solution = None
            if solution is not None or now.linearised is y:
                return now, solution
            now = replace(now, linearised_at=-1)

    def _inverse_of(self, now: StepperState) -> _Inverse:
        if self._inverse is None or not self._inverse.serves(now):
            self._inverse = _Inverse(self.system, now, self._inverse)
        return self._inverse

    def _corrected(self, history: History, c: Coefficients, solution: Solution) -> History:
        """Return the past after a step, the integrals as they were before it."""
        predicted, n = history.predicted(), len(solution.correction)
        predicted[:, n:] = 0.0
        predicted[0, n:] = history.Z[0, n:]
        return history.corrected(predicted, c, np.concatenate([solution.correction, np.zeros(predicted.shape[1] - n)]))

    def _after_failure(self, now: StepperState, error: float, failures: int, n: int) -> StepperState:
        """Return where to try again after a step that was not taken."""
        history = now.history
        if failures > RESTART_AFTER:
            y, integrals = history.Z[0, :n], history.Z[0, n:]
            return replace(self.started(y, integrals, 0.1 * history.h, self.system.rate(y)), steps=now.steps, most_growth=1.0)
        ratio = 1.0 / ((SAFETY_SAME * error) ** (1.0 / (history.order + 1)) + 1e-6)
        return replace(now, history=history.rescaled(history.h * min(max(ratio, 0.1), 0.9 if failures < 2 else 0.2)))

    def _next(self, before: History, after: History, c: Coefficients, error: float, weight: np.ndarray, most_growth: float) -> tuple[History, float]:
        """Return the past at the order of the next step, and by what its size is multiplied."""
        q, n = after.order, len(weight)
        if most_growth == 1.0:
            return replace(after, wait=max(after.wait, 2)), 1.0
        same = 1.0 / ((SAFETY_SAME * error) ** (1.0 / (q + 1)) + 1e-6)
        if after.wait > 0:
            return after, min(same, most_growth) if same >= LEAST_GROWTH else 1.0
        after = replace(after, wait=2)
        lower = higher = 0.0
        if q > 1:
            lower = 1.0 / ((SAFETY_OTHER * _norm(after.Z[q, :n] / weight) * c.lower) ** (1.0 / q) + 1e-6)
        if q < MAX_ORDER and before.scale > 0.0:
            change = after.correction - (c.scale / before.scale) * (after.past[0] / after.past[1]) ** (q + 1) * before.correction
            higher = 1.0 / ((SAFETY_HIGHER * _norm(change[:n] / weight) * c.higher) ** (1.0 / (q + 2)) + 1e-6)
        best = max(lower, same, higher)
        if best < LEAST_GROWTH:
            return after, 1.0
        if best == same:
            return after, min(best, most_growth)
        return after.lowered() if best == lower else after.raised(), min(best, most_growth)


class GaveUpError(Exception):
    """No attempt at a step succeeded."""


class _Inverse:
    """An approximation of (1 + gamma D H D^-1)^-1, the preconditioner; D = dy/dc turns the Hessian by c into one by y."""

    def __init__(self, system: System, now: StepperState, before: _Inverse | None) -> None:
        self._linearised, self._gamma = now.linearised, now.gamma
        self._curvature: Curvature | None
        self._slope: np.ndarray
        if before is not None and before._linearised is now.linearised:
            self._curvature, self._slope = before._curvature, before._slope
        else:
            self._curvature, self._slope = system.curvature(now.linearised), system.slope(now.linearised)
        self._shifted: Shifted | None = None if self._curvature is None else self._curvature.shifted(now.gamma)

    @property
    def lifetime(self) -> int:
        """Steps after which the Hessian is made anew."""
        return 1 if self._curvature is None else self._curvature.lifetime

    def serves(self, now: StepperState) -> bool:
        """Whether it is the one that ``now`` asks for."""
        return self._linearised is now.linearised and self._gamma == now.gamma

    def solve(self, r: np.ndarray) -> np.ndarray:
        """Apply it."""
        return r if self._shifted is None else self._slope * self._shifted.solve(r / self._slope)


def _motion(history: History, n: int) -> Motion:
    return Motion(history.Z[0, :n], history.Z[1, :n] / history.h)


def _norm(v: np.ndarray) -> float:
    return math.sqrt(float(v @ v) / len(v))
