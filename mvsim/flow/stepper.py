"""Steps of the BDF within the tolerance: the implicit equation, the error test, and the choice of order and step size, the last as in CVODE.

Steps are made in the variable x of `mvsim.flow.clock`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mvsim.base.errors import DivergedError
from mvsim.flow.bdf import LEAST_GROWTH, MAX_ORDER, SAFETY_HIGHER, SAFETY_OTHER, SAFETY_SAME, Coefficients, History
from mvsim.flow.clock import FIRST, LONGEST, in_frame, size_of, time_of, with_smaller_clock
from mvsim.flow.error_size import error_size
from mvsim.flow.interface import Judge, Motion, System
from mvsim.flow.linearisation_cache import LinearisationCache
from mvsim.flow.newton import ImplicitEquation, Solution, solve_by_newton
from mvsim.flow.secants import Secants, solve_by_secants
from mvsim.flow.stepper_state import StepperState
from mvsim.numerics.indexing import with_entries
from mvsim.numerics.norm import largest

MOST_GROWTH_AFTER_FIRST, MOST_GROWTH_LATER = 1e4, 10.0
"""Most growth of the step size after the first step, and after any other, as the error allows it; as in CVODE. The flow allows its steps less."""

LONGEST_INVERSE = 20
"""Steps for which the inverse in the preconditioner is kept; as in CVODE."""

CHANGE_OF_GAMMA = 0.3
"""Relative change of gamma beyond which the inverse is made anew; as in CVODE."""

ATTEMPTS = 40
"""Attempts at one step before it is given up."""

COST_OF_UNSOLVED = 30
"""Products with the Hessian, of two gradients each, that an unsolved equation is counted as, with the short steps after it. Once these have cost as
much since the last escape as the whole Hessian does, a product a column, that is formed: a run pays about twice what the better of the two takes."""

RESTART_AFTER = 3
"""Failed tests of one step after which the past is dropped."""

RESTART_AFTER_UNSOLVED = 20
"""Equations of one step that have not been solved after which the past is dropped: of a system that is 10^25 times stiffer than the step is long it
may say nothing of what comes next."""

EXPENSIVE_HESSIAN = COST_OF_UNSOLVED * RESTART_AFTER_UNSOLVED
"""Products beyond which the whole Hessian of a loss that keeps its residuals is held on to until the next escape: where an equation fails, the step
becomes shorter and it stays. The count of unsolved equations alone would not form it again, as it is dropped with the past."""

LEAST_AFTER_FAILURE, MOST_AFTER_FAILURES = 0.1, 0.2
"""Least part of the size of a step that failed its test that the next attempt has, and the most after two failures, as in CVODE."""

CLEARLY_UNSOUND = 1e3
"""Error assigned to a step that passes the error test and is refused as unsound; it sets how much shorter the next attempt is."""


class Stepper:
    """Makes steps of one system."""

    def __init__(self, system: System) -> None:
        self.system = system
        self._cache = LinearisationCache(system)

    def started(self, y: np.ndarray, integrals: Sequence[float], h: float, velocity: np.ndarray) -> StepperState:
        """Return a beginning without a past, with a first step that takes the time h."""
        clock, behind = h / math.expm1(FIRST), np.asarray(integrals, dtype=float)
        moving = np.concatenate([clock * velocity, np.zeros_like(behind)])
        return StepperState(
            history=History.started(np.concatenate([y, behind]), moving, FIRST),
            most_growth=MOST_GROWTH_AFTER_FIRST,
            steps=0,
            linearised=y,
            linearised_at=-1,
            inverted_at=-1,
            linearised_clock=clock,
            gamma=0.0,
            rate=1.0,
            secants=Secants.none(),
            error=1.0,
            unsolved=0,
            form_hessian=False,
            exact=False,
            clock=clock,
            drift=np.zeros_like(y),
        )

    def step(self, start: StepperState, longest: float, judge: Judge) -> tuple[StepperState, float]:
        """Return where a step from ``start`` ends, with the size of the next step in its history, and the time that it takes, at most ``longest``.

        ``judge`` is asked about each attempt that passed the error test. Raises `GaveUpError` if no attempt succeeds.
        """
        n = len(start.linearised)
        weight, finest = self.system.tolerance(start.history.Z[0, :n])
        now = replace(start, history=start.history.rescaled(min(start.history.h, size_of(longest, start.clock))))
        failures, unsolved, most_growth, reason = 0, 0, now.most_growth, ""
        for _ in range(ATTEMPTS):
            history = now.history
            coefficients = history.coefficients()
            now, solution = self._solve(now, coefficients, finest)
            if solution is None:
                unsolved, most_growth, reason = unsolved + 1, 1.0, "the equation of a step is not solved"
                now = self._after_unsolved(now, unsolved, weight)
                continue
            error = error_size(solution.correction / weight) * coefficients.error
            if error <= 1.0:
                time, clock = time_of(history.h, now.clock), now.clock * math.exp(history.h)
                after = _corrected(history, coefficients, solution, time * now.drift)
                gain = judge(time, _motion(history, now.drift, now.clock), _motion(after, now.drift, clock))
                if gain is not None:
                    after.Z[0, n:] += gain
                    after, ratio = self._next(history, after, coefficients, error, weight, most_growth)
                    drift = self._drift(_motion(after, now.drift, clock))
                    after = in_frame(after, now.drift - drift, clock)
                    after, clock = with_smaller_clock(after.rescaled(min(ratio * history.h, LONGEST)), clock, weight)
                    end = replace(
                        now,
                        history=after,
                        most_growth=MOST_GROWTH_LATER,
                        steps=now.steps + 1,
                        rate=solution.rate,
                        error=error,
                        linearised_clock=min(now.linearised_clock, clock),
                        clock=clock,
                        drift=drift,
                    )
                    return end, time
                error, reason = CLEARLY_UNSOUND, "the loss does not fall as |grad J|^2 says, or a correlation jumps over its threshold"
            else:
                reason = "the error is beyond the tolerance"
            failures, most_growth = failures + 1, 1.0
            now = self._after_failure(now, error, failures, n)
        raise GaveUpError(f"{reason}, even with a step of {time_of(now.history.h, now.clock):.3g}")

    def _solve(self, now: StepperState, c: Coefficients, weight: np.ndarray) -> tuple[StepperState, Solution | None]:
        """Solve the equation of the step; with a new preconditioner if the present one has aged, or does not do."""
        n = len(weight)
        prediction = now.history.predicted()
        gamma = float(now.history.h / c.l[1] * now.clock * math.exp(now.history.h))
        y = prediction[0, :n] + time_of(now.history.h, now.clock) * now.drift
        equation = ImplicitEquation(self.system.rate, gamma, y, prediction[1, :n] / c.l[1] + gamma * now.drift)
        fresh = now.inverted_at < 0 or now.steps >= now.inverted_at + LONGEST_INVERSE or abs(gamma / now.gamma - 1.0) > CHANGE_OF_GAMMA
        outdated = now.linearised_at < 0 or self._cache.is_outdated(now, y)
        while True:
            if outdated:
                try:
                    now, fresh = self._linearised(now, y), True
                except DivergedError:  # the prediction is far outside: a shorter step has another
                    return replace(now, linearised_at=-1), None
            if fresh:
                now = replace(now, inverted_at=now.steps, gamma=gamma, rate=1.0)
            try:
                now, solution = self._solved(now, equation, weight, 1.0 / c.error)
            except (DivergedError, np.linalg.LinAlgError):
                now, solution = replace(now, secants=Secants.none()), None
            if solution is not None:
                return now, solution
            kept = now.exact and self._hessian_is_expensive(now)
            if kept and not now.form_hessian and (now.unsolved + 1) * COST_OF_UNSOLVED < self._cache.products_of_lasting(now):
                return now, None  # a shorter step with the same whole Hessian: without it steps would be far shorter still
            if kept or now.linearised is y:
                return replace(now, linearised_at=-1), None
            outdated = True

    def _linearised(self, now: StepperState, y: np.ndarray) -> StepperState:
        """Return the state linearised at y; with the whole Hessian if all equations that failed have cost as much as it does.

        That is so only where no older linearisation serves: after an equation that failed, or once other coordinates are stepped.
        """
        form_hessian = now.form_hessian or (now.exact and self._hessian_is_expensive(now))
        after = replace(now, linearised=y, linearised_at=now.steps, linearised_clock=now.clock, exact=False, form_hessian=form_hessian)
        known = self._cache.linearisation(after)
        if now.linearised_at >= 0 or known is None or math.isinf(known.products_of_exact):
            return after
        if not now.form_hessian and now.unsolved * COST_OF_UNSOLVED < known.products_of_exact:
            return after
        self.system.spent(int(known.products_of_exact))  # not where it is formed, so that a flow that is resumed counts the same
        return replace(after, exact=True, unsolved=0, form_hessian=False)

    def _solved(self, now: StepperState, equation: ImplicitEquation, weight: np.ndarray, allowed: float) -> tuple[StepperState, Solution | None]:
        """Solve it by secants where the stiff part of the Hessian is known, else by Newton's method."""
        known = self._cache.linearisation(now)
        if known is None:
            return now, solve_by_newton(equation, weight, allowed, now.rate)
        solution, secants = solve_by_secants(equation, known, self._cache.preconditioner(now), weight, allowed, now.rate, now.secants)
        return replace(now, secants=secants), solution

    def _drift(self, end: Motion) -> np.ndarray:
        """Return (n,): the speed of what moves steadily at the end of a step, and 0 for all else."""
        steady = self.system.steady(end.y)
        return with_entries(np.zeros_like(end.y), steady, end.velocity[steady])

    def _after_unsolved(self, now: StepperState, unsolved: int, weight: np.ndarray) -> StepperState:
        """Return where to try again after an equation that was not solved; without a past as far as the field alone goes within the tolerance."""
        shorter = now.history.rescaled(0.25 * now.history.h)
        now = replace(now, history=shorter, unsolved=now.unsolved + 1)
        if unsolved != RESTART_AFTER_UNSOLVED:
            return now
        velocity = self.system.rate(shorter.Z[0, : len(weight)])
        return self._restarted(now, min(time_of(shorter.h, now.clock), 1.0 / max(largest(velocity / weight), 1e-300)), velocity)

    def _restarted(self, now: StepperState, h: float, velocity: np.ndarray) -> StepperState:
        """Return the same place and integrals without a past, with a next step that takes the time h."""
        n, first, expensive = len(velocity), now.history.Z[0], self._hessian_is_expensive(now)
        return replace(
            self.started(first[:n], first[n:].tolist(), h, velocity),
            steps=now.steps,
            unsolved=now.unsolved if expensive else 0,
            form_hessian=expensive and (now.exact or now.form_hessian),
        )

    def _hessian_is_expensive(self, now: StepperState) -> bool:
        """Whether the whole Hessian of a loss that keeps its residuals would not be formed again before the past is dropped."""
        return self._cache.products_of_lasting(now) > EXPENSIVE_HESSIAN

    def _after_failure(self, now: StepperState, error: float, failures: int, n: int) -> StepperState:
        """Return where to try again after a step that was not taken."""
        history = now.history
        if failures > RESTART_AFTER:
            return self._restarted(now, 0.1 * time_of(history.h, now.clock), self.system.rate(history.Z[0, :n]))
        ratio = max(_ratio(SAFETY_SAME * error, history.order + 1), LEAST_AFTER_FAILURE)
        return replace(now, history=history.rescaled(history.h * (ratio if failures < 2 else min(ratio, MOST_AFTER_FAILURES))))

    @staticmethod
    def _next(before: History, after: History, c: Coefficients, error: float, weight: np.ndarray, most_growth: float) -> tuple[History, float]:
        """Return the past at the order of the next step, and by what its size is multiplied."""
        q, n = after.order, len(weight)
        if most_growth == 1.0:
            return replace(after, wait=max(after.wait, 2)), 1.0
        same = _ratio(SAFETY_SAME * error, q + 1)
        if after.wait > 0:
            return after, min(same, most_growth) if same >= LEAST_GROWTH else 1.0
        after = replace(after, wait=2)
        lower = higher = 0.0
        if q > 1:
            lower = _ratio(SAFETY_OTHER * error_size(after.Z[q, :n] / weight) * c.lower, q)
        if q < MAX_ORDER and before.scale > 0.0 and c.scale > 0.0:
            change = after.correction - float((c.scale / before.scale) * (after.past[0] / after.past[1]) ** (q + 1)) * before.correction
            higher = _ratio(SAFETY_HIGHER * error_size(change[:n] / weight) * c.higher, q + 2)
        best = max(lower, same, higher)
        if best < LEAST_GROWTH:
            return after, 1.0
        if best == same:
            return after, min(best, most_growth)
        return after.lowered() if best == lower else after.raised(), min(best, most_growth)


class GaveUpError(Exception):
    """No attempt at a step succeeded."""


def _corrected(history: History, c: Coefficients, solution: Solution, drifted: np.ndarray) -> History:
    """Return the past after a step, the integrals as they were before it."""
    predicted, n = history.predicted(), len(drifted)
    predicted[0, :n] += drifted
    predicted[:, n:] = 0.0
    predicted[0, n:] = history.Z[0, n:]
    return history.corrected(predicted, c, np.concatenate([solution.correction, np.zeros_like(predicted[0, n:])]))


def _ratio(error: float, power: int) -> float:
    """Return the factor by which a step whose error is a ``power`` of its size may change for the error to be 1; at most 1e6, as in CVODE.

    An error that is no number allows nothing.
    """
    return 0.0 if math.isnan(error) else 1.0 / (error ** (1.0 / power) + 1e-6)


def _motion(history: History, drift: np.ndarray, clock: float) -> Motion:
    n = len(drift)
    return Motion(history.Z[0, :n], history.Z[1, :n] / (history.h * clock) + drift)
