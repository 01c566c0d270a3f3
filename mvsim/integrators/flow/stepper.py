"""Steps of the BDF within the tolerance: the implicit equation, the error test, and the choice of order and step size, the last as in CVODE.

Steps are made in the variable x of `mvsim.integrators.flow.clock`. All vectors are in the namespace of y and on its device; decisions are
taken on the host, from single numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from mvsim.errors import DivergedError
from mvsim.integrators.base import Units
from mvsim.integrators.flow.bdf import LEAST_GROWTH, MAX_ORDER, SAFETY_HIGHER, SAFETY_OTHER, SAFETY_SAME, Coefficients, History
from mvsim.integrators.flow.clock import FIRST, LONGEST, in_frame, size_of, time_of, wound
from mvsim.integrators.flow.error_size import error_size
from mvsim.integrators.flow.near import Near
from mvsim.integrators.flow.newton import ImplicitEquation, Solution, solve_by_newton
from mvsim.integrators.flow.secants import Secants, solve_by_secants
from mvsim.linalg.namespaces import namespace_of
from mvsim.linalg.primitives import primitives_of
from mvsim.linalg.vectors import integers_like, like, numbers

MOST_GROWTH_AFTER_FIRST, MOST_GROWTH_LATER = 1e4, 10.0
"""Most growth of the step size after the first step, and after any other, as the error allows it."""

LONGEST_INVERSE = 20
"""Steps for which the inverse in the preconditioner is kept."""

DRIFT = 0.3
"""Relative change of gamma beyond which the inverse is made anew."""

OUTGROWN = 6.0
"""Growth of the clock after which the system is linearised anew. Residuals, and with them the Hessian, fall as the time since an escape grows. With
a Hessian that is far too large an iteration takes small steps, and ends because they are small: with a whole Hessian that was kept for tens of steps,
honest runs of ERM err by more than their replay allows. The whole Hessian of a loss that keeps its residuals is kept for all of its time: made anew
at each such growth, it takes most of the gradients of Midpoint Mixup at d = k^20 (study `flow_hessians` in `validation/`)."""

ATTEMPTS = 40
"""Attempts at one step before it is given up."""

COST_OF_UNSOLVED = 30
"""Products with the Hessian, of two gradients each, that an unsolved equation is counted as: its own gradients, and those of the short steps after
it. Where steps are far longer than neurons take to relax, the part of the Hessian that `Near.curvature` leaves out is stiff too, and equations fail
every few steps. Once they have cost as much since the last escape as the whole Hessian does, a product a column, that is formed. So a run pays about
twice what it would with the better of the two, as far as this count is right (study `flow_creeping`)."""

RESTART_AFTER = 3
"""Failed tests of one step after which the past is dropped."""

CLEARLY_UNSOUND = 1e3
"""Error assigned to a step that passes the error test and is refused as unsound; it sets how much shorter the next attempt is."""


class Motion(NamedTuple):
    """One end of a step: y and its velocity, (n,) each."""

    y: Any
    velocity: Any


Judge = Callable[[float, Motion, Motion], np.ndarray | None]
"""(size of a step, its beginning, its end) -> what integrals along the trajectory gain in it, or None if the step must not be taken."""


class System(Protocol):
    """What a stepper integrates: y' = rate(y) on (n,) arrays."""

    def rate(self, y: Any) -> Any:
        """Return y'; raise `DivergedError` if it is not finite."""

    def tolerance(self, y: Any) -> Units:
        """Return the errors, (n,) each, that a step at y and what is left of its equation may have."""

    def near(self, y: Any) -> Near | None:
        """Return what is known of the system near y, None if it tells nothing."""

    def spent(self, products: int) -> None:
        """Count products with the Hessian."""

    def steady(self, y: Any) -> Any:
        """Return (a,): coordinates that move at almost constant speed at y."""


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
    linearised : array
        (n,) y near which the system is known.
    linearised_at, inverted_at : int
        Steps at which that and the preconditioner were made; -1: they have to be made.
    linearised_clock : float
        Least clock since the system was linearised.
    gamma : float
        Of the preconditioner.
    rate : float
        At which the corrections of the last equation shrank.
    secants : Secants
        What is known of the Jacobian.
    error : float
        Of the last step, 1 for what is allowed.
    unsolved : int
        Count of equations that have not been solved since the last escape, since the whole Hessian was last formed, or since the past was last
        dropped, whichever came last; see `COST_OF_UNSOLVED`.
    exact : bool
        Whether the preconditioner is made of the whole Hessian.
    clock : float
        B of the variable x; the history is one in x.
    drift : array
        (n,) velocity in t of the frame in which the history holds each coordinate; 0, a frame at rest, for those that do not move steadily.
    """

    history: History
    most_growth: float
    steps: int
    linearised: Any
    linearised_at: int
    inverted_at: int
    linearised_clock: float
    gamma: float
    rate: float
    secants: Secants
    error: float
    unsolved: int
    exact: bool
    clock: float
    drift: Any


def laid_out(state: StepperState, at: Any, y: Any, velocity: Any, steady: Any) -> StepperState:
    """Return the state of a stepper for other coordinates: some of its own, and some that were not stepped before.

    The past of the latter is motion at constant speed. What was known of the system near some place is to be found out anew.

    Parameters
    ----------
    state : StepperState
        Before.
    at : array
        (a,) where each of the coordinates stood among those before, -1 for a new one.
    y, velocity : array
        (a,) values and their derivatives; they are used of new ones.
    steady : array
        (s,) those of the coordinates that move at almost constant speed, as `System.steady` tells.
    """
    xp, by, n = namespace_of(y), primitives_of(y), state.linearised.shape[0]
    history, velocity_of_new = state.history, xp.where(at < 0, velocity, xp.zeros_like(velocity))
    drifting = by.places(steady).among(0.0, velocity_of_new[steady], y)

    def of_both(rows: Any, first: Any = None) -> Any:
        kept = by.entries(rows[..., :n], at)
        return xp.concat([kept if first is None else xp.where(at < 0, first, kept), rows[..., n:]], axis=-1)

    Z = xp.concat([of_both(history.Z[0, :], y)[None, :], of_both(history.Z[1:, :])])
    history = in_frame(replace(history, Z=Z, correction=of_both(history.correction)), velocity_of_new - drifting, state.clock)
    return replace(
        state,
        history=history,
        linearised=y,
        linearised_at=-1,
        secants=replace(state.secants.of(at), index=integers_like(at.shape[0], at)),
        drift=by.entries(state.drift, at) + drifting,
    )


class Stepper:
    """Makes steps of one system.

    Parameters
    ----------
    system : System
        What is integrated.
    """

    def __init__(self, system: System) -> None:
        self.system = system
        self._known = _Known(system)

    def started(self, y: Any, integrals: Sequence[float], h: float, velocity: Any) -> StepperState:
        """Return a beginning without a past, with a first step that takes the time h."""
        xp, clock, behind = namespace_of(y), h / math.expm1(FIRST), like(integrals, y)
        moving = xp.concat([clock * velocity, xp.zeros_like(behind)])
        return StepperState(
            history=History.started(xp.concat([y, behind]), moving, FIRST),
            most_growth=MOST_GROWTH_AFTER_FIRST,
            steps=0,
            linearised=y,
            linearised_at=-1,
            inverted_at=-1,
            linearised_clock=clock,
            gamma=0.0,
            rate=1.0,
            secants=Secants.none(y),
            error=1.0,
            unsolved=0,
            exact=False,
            clock=clock,
            drift=xp.zeros_like(y),
        )

    def step(self, start: StepperState, longest: float, judge: Judge) -> tuple[StepperState, float]:
        """Make one step.

        Parameters
        ----------
        start : StepperState
            Where to step from.
        longest : float
            Longest time that the step may take.
        judge : callable
            Asked about each step that passed the error test.

        Returns
        -------
        StepperState
            Where the step ends; its history has the size of the next step.
        float
            Time that it takes.

        Raises
        ------
        GaveUpError
            If no attempt succeeded.
        """
        n = start.linearised.shape[0]
        begin = start.history.Z[0, :n]
        weight, finest = self.system.tolerance(begin)
        now = replace(start, history=start.history.rescaled(min(start.history.h, size_of(longest, start.clock))))
        failures, most_growth, reason = 0, now.most_growth, ""
        for _ in range(ATTEMPTS):
            history = now.history
            coefficients = history.coefficients()
            now, solution = self._solve(now, coefficients, finest)
            if solution is None:
                most_growth, reason = 1.0, "its equation is not solved"
                now = replace(now, history=history.rescaled(0.25 * history.h), unsolved=now.unsolved + 1)
                continue
            error = error_size(solution.correction / weight) * coefficients.error
            if error <= 1.0:
                time, clock = time_of(history.h, now.clock), now.clock * math.exp(history.h)
                after = self._corrected(history, coefficients, solution, time * now.drift)
                gain = judge(time, _motion(history, now.drift, now.clock), _motion(after, now.drift, clock))
                if gain is not None:
                    after.Z[0, n:] += like(gain, after.Z)
                    after, ratio = self._next(history, after, coefficients, error, weight, most_growth)
                    drift = self._drift(_motion(after, now.drift, clock))
                    after = in_frame(after, now.drift - drift, clock)
                    after, clock = wound(after.rescaled(min(ratio * history.h, LONGEST)), clock, weight)
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

    def _solve(self, now: StepperState, c: Coefficients, weight: Any) -> tuple[StepperState, Solution | None]:
        """Solve the equation of the step; with a new preconditioner if the one there is has aged, or does not do."""
        n = weight.shape[0]
        prediction = now.history.predicted()
        gamma = float(now.history.h / c.l[1] * now.clock * math.exp(now.history.h))
        y = prediction[0, :n] + time_of(now.history.h, now.clock) * now.drift
        equation = ImplicitEquation(self.system.rate, gamma, y, prediction[1, :n] / float(c.l[1]) + gamma * now.drift)
        fresh = now.inverted_at < 0 or now.steps >= now.inverted_at + LONGEST_INVERSE or abs(gamma / now.gamma - 1.0) > DRIFT
        outdated = now.linearised_at < 0 or self._known.is_outdated(now, y)
        while True:
            if outdated:
                now, fresh = self._linearised(now, y), True
            if fresh:
                now = replace(now, inverted_at=now.steps, gamma=gamma, rate=1.0)
            try:
                now, solution = self._solved(now, equation, weight, 1.0 / c.error)
            except (DivergedError, np.linalg.LinAlgError):
                now, solution = replace(now, secants=Secants.none(y)), None
            if solution is not None:
                return now, solution
            if now.linearised is y:
                return replace(now, linearised_at=-1), None
            outdated = True

    def _linearised(self, now: StepperState, y: Any) -> StepperState:
        """Return the state linearised at y; with the whole Hessian if all equations that failed have cost as much as it does.

        That is so only where no older linearisation serves: after an equation that failed, or once other coordinates are stepped.
        """
        there = replace(now, linearised=y, linearised_at=now.steps, linearised_clock=now.clock, exact=False)
        near = self._known.near(there)
        if now.linearised_at >= 0 or near is None or now.unsolved * COST_OF_UNSOLVED < near.products_of_exact:
            return there
        self.system.spent(int(near.products_of_exact))  # here, so that a flow that is resumed, and forms it again, counts the same
        return replace(there, exact=True, unsolved=0)

    def _solved(self, now: StepperState, equation: ImplicitEquation, weight: Any, allowed: float) -> tuple[StepperState, Solution | None]:
        """Solve it by secants where the stiff part of the Hessian is known, else by Newton's method."""
        near = self._known.near(now)
        if near is None:
            return now, solve_by_newton(equation, weight, allowed, now.rate)
        solution, secants = solve_by_secants(equation, near, self._known.preconditioner(now), weight, allowed, now.rate, now.secants)
        return replace(now, secants=secants), solution

    def _drift(self, end: Motion) -> Any:
        """Return (n,): the speed of what moves steadily at the end of a step, and 0 for all else."""
        steady = self.system.steady(end.y)
        return primitives_of(end.y).places(steady).among(0.0, end.velocity[steady], end.y)

    def _corrected(self, history: History, c: Coefficients, solution: Solution, drifted: Any) -> History:
        """Return the past after a step, the integrals as they were before it."""
        xp, predicted, n = namespace_of(drifted), history.predicted(), drifted.shape[0]
        predicted[0, :n] += drifted
        predicted[:, n:] = 0.0
        predicted[0, n:] = history.Z[0, n:]
        return history.corrected(predicted, c, xp.concat([solution.correction, xp.zeros_like(predicted[0, n:])]))

    def _after_failure(self, now: StepperState, error: float, failures: int, n: int) -> StepperState:
        """Return where to try again after a step that was not taken."""
        history = now.history
        if failures > RESTART_AFTER:
            y, integrals = history.Z[0, :n], numbers(history.Z[0, n:])
            return replace(self.started(y, integrals, 0.1 * time_of(history.h, now.clock), self.system.rate(y)), steps=now.steps)
        ratio = _ratio(SAFETY_SAME * error, history.order + 1)
        return replace(now, history=history.rescaled(history.h * min(max(ratio, 0.1), 0.9 if failures < 2 else 0.2)))

    def _next(self, before: History, after: History, c: Coefficients, error: float, weight: Any, most_growth: float) -> tuple[History, float]:
        """Return the past at the order of the next step, and by what its size is multiplied."""
        q, n = after.order, weight.shape[0]
        if most_growth == 1.0:
            return replace(after, wait=max(after.wait, 2)), 1.0
        same = _ratio(SAFETY_SAME * error, q + 1)
        if after.wait > 0:
            return after, min(same, most_growth) if same >= LEAST_GROWTH else 1.0
        after = replace(after, wait=2)
        lower = higher = 0.0
        if q > 1:
            lower = _ratio(SAFETY_OTHER * error_size(after.Z[q, :n] / weight) * c.lower, q)
        if q < MAX_ORDER and before.scale > 0.0:
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


class _Known:
    """The linearisation and the preconditioner, formed again only when a state names another place or another gamma."""

    def __init__(self, system: System) -> None:
        self._system = system
        self._place: Any = None
        self._near: Near | None = None
        self._gamma = math.nan

    def near(self, now: StepperState) -> Near | None:
        """Return what is known where a state was linearised."""
        if self._place is not now.linearised:
            self._place, self._near, self._gamma = now.linearised, self._system.near(now.linearised), math.nan
        return self._near

    def preconditioner(self, now: StepperState) -> Callable[[Any], Any]:
        """Return the preconditioner of a state."""
        near = self.near(now)
        assert near is not None
        if self._gamma != now.gamma:
            self._preconditioner, self._gamma = near.preconditioner(now.gamma, now.exact), now.gamma
        return self._preconditioner

    def is_outdated(self, now: StepperState, y: Any) -> bool:
        """Whether that should be made anew for a step to y."""
        near, outgrown = self.near(now), now.clock > OUTGROWN * now.linearised_clock
        if near is None:
            return outgrown
        old = now.steps >= now.linearised_at + near.hessian(now.exact).lifetime
        return old or (outgrown and not (now.exact and near.lasting)) or not near.serves_at(y)


def _ratio(error: float, power: int) -> float:
    """Return the factor by which a step whose error is a ``power`` of its size may change for the error to be 1; at most 1e6, as in CVODE."""
    return 1.0 / (error ** (1.0 / power) + 1e-6)


def _motion(history: History, drift: Any, clock: float) -> Motion:
    n = drift.shape[0]
    return Motion(history.Z[0, :n], history.Z[1, :n] / (history.h * clock) + drift)
