"""The gradient flow c' = -grad J(c), the limit of gradient descent for eta -> 0, with its error controlled (CVODE: variable-order BDF).

Three things make the flow of these losses hard, and each has its answer here.

1. *Blow-ups.* A correlation that is to escape grows unseen for nearly all the time there is and then within a moment. `EscapeChart` changes
   to variables that move at constant speed through both, and no step goes further than a part of the way to the next escape.
2. *Stiffness.* Neurons that have escaped settle on time scales that stay the same while everything else takes 10^3 to 10^50 times as long.
   Implicit steps (BDF) with a Newton-Krylov iteration (GMRES) pass over them; the preconditioner is (I + gamma H)^-1 with the part of the
   Hessian that is stiff, which the field tells (`Curvature`). What a linear solve leaves along a stiff direction is a force, H times the
   error, that the next steps take for a motion. Late in a trajectory it can outweigh the forces that are really there, and steps stay short:
   the trajectory creeps. A segment after one that creeps is careful: it solves the linear systems closer (`validation/flow/creep.py` measures
   what that brings).
3. *Clocks.* A step of 1 at t = 10^50 is lost in the clock. Every segment of the trajectory counts its own time from 0.

A segment ends `SEGMENT` steps after it has warmed up, or earlier where an own correlation comes near the threshold (it gets another chart and
other tolerances then), where steps become too short for its clock, or where the solver gives up, after which it begins with short steps. The
solver starts anew in every segment, from the state alone, so that a trajectory that is resumed at the start of a segment is the one that was
never interrupted, bit for bit.

The local error of every step is kept below atol_i + rtol |y_i| in the root mean square over the coordinates, atol being rtol times the
threshold for coordinates on the chart (so that own correlations are resolved relative to themselves however small they are) and rtol / 10
times the largest correlation of the same neuron for the others.
"""

from __future__ import annotations

import io
import math
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, redirect_stdout
from dataclasses import replace
from typing import Any

import numpy as np
from sksundae.cvode import CVODE, CVODEJacTimes, CVODEPrecond
from threadpoolctl import ThreadpoolController

from mvsim.diagnostics import own_correlations
from mvsim.errors import DivergedError, StalledError, UsageError
from mvsim.integrators.base import MARKS_PER_DECADE, Field, Integrator, State, Visit
from mvsim.integrators.escape_chart import EscapeChart
from mvsim.linalg.arrow_matrix import Curvature, Shifted
from mvsim.parameters import Deviation

RTOL = 1e-3
"""Relative tolerance unless another is given."""

LAST_TIME = 1e250
"""Time at which the flow is left unless another is given; escapes take of the order of (rho / c(0))^(alpha - 2)."""

SEGMENT = 100
"""Steps of one segment after it has got back to the step size of the one before: with these warming-up steps, what a run that is killed loses."""

LONGEST = 4 * SEGMENT
"""Most steps of one segment."""

MARK_EVERY = 20
"""Steps between two marks where time hardly moves; where it does, marks are as close as `MARKS_PER_DECADE`."""

APPROACH = 0.7
"""Part of the way to the next escape that one step may go."""

ESCAPING = 0.3
"""Part of the threshold at which a new segment begins."""

GROWTH = 1.5
"""Most growth from one step to the next: what a neuron still reads in noise dies away as a power of time, which steps must not outrun."""

WARM_UP = 1e3
"""The same while a segment gets back to the step size that the one before it had reached."""

CREEP, CREEPING = 1.01, 20.0
"""A trajectory is stuck when time has grown by less than this factor in that many steps over rtol. While neurons escape time stands still, and
at the literal d of k = 10 that takes nearly ten times as many steps when rtol is a tenth."""

KRYLOV, KRYLOV_CLOSE = 20, 60
"""Most products in one linear solve, and in one of a careful segment."""

STILL, CAREFUL, CAREFREE = 1e-10, 1e-4, 1e-3
"""A whole segment creeps if log t grows by `STILL` to `CAREFUL` a step although a force is left over; the next segments are careful until it grows
by more than `CAREFREE` a step. Without that force, or where time stands still, neurons escape, and care would only cost."""

LEFT_OVER = 2.0
"""A force is left over where the rate at the end of a step is more than this times the velocity of the step."""

CLOSER = 0.01
"""Part of the solver's own tolerance to which careful segments solve the linear systems. The solver has no option for it. It stops GMRES where the
residual, preconditioned from the left, is small enough, so a preconditioner that is larger by 1 / `CLOSER` does it. Systems that the solver takes
for solved before it starts, and fields that do not tell their curvature, are left as they are."""

DIFFERENCE = 1e-6
"""Distance of the two points of a difference quotient in units of the tolerance. At the solver's own choice, 1, R' is another function."""


FAR = 1e6
"""Correlations beyond it are seen as this: an iterate of Newton's method that wild does not converge, and the solver shortens the step."""


class GradientFlow(Integrator):
    """c' = -grad J(c) with local error control.

    Parameters
    ----------
    field : Field
        What is followed.
    rtol : float, optional
        Relative tolerance, from 1e-10 to 0.1; default `RTOL`.
    """

    name = "flow"
    option = "rtol"
    letter = "rtol"

    def __init__(self, field: Field, rtol: float | None = None) -> None:
        super().__init__(field)
        if not field.fixed:
            raise UsageError("integrator='flow': the loss is drawn afresh at every step, so there is no flow; use integrator gd, or redraw once")
        self.rtol = self.check_option(RTOL if rtol is None else rtol)
        self._blas = ThreadpoolController()

    @staticmethod
    def check_option(value: Any) -> float:
        """Return a relative tolerance as a float, or raise `UsageError`."""
        if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)) or not 1e-10 <= value <= 0.1:
            raise UsageError(f"rtol={value!r}: must be a number from 1e-10 to 0.1")
        return float(value)

    def options(self) -> dict[str, Any]:
        """Return what fixes the steps."""
        return {"name": self.name, "rtol": self.rtol}

    def deviations(self) -> list[Deviation]:
        """Name the limit."""
        return [Deviation("eta", "0", "O(1/poly(k))", "gradient flow, the limit of gradient descent for eta -> 0")]

    def horizon(self, t_end: float | None) -> float:
        """Return the time to stop at, by default `LAST_TIME`."""
        return LAST_TIME if t_end is None else t_end

    def is_mark(self, state: State) -> bool:
        """Whether it is a mark: the start of a segment always is."""
        return True

    def clock(self, state: State) -> str:
        """Say how many steps and evaluations."""
        return f"{state.step} steps and {state.evaluations} gradients of the gradient flow with rtol = {self.rtol:g}"

    def trajectory(self, state: State, t_end: float) -> Iterator[Visit]:
        """Yield every step, segment by segment."""
        moved = state
        while state.time < t_end:
            begun = state
            if state.time > CREEP * moved.time:
                moved = state
            elif state.step - moved.step > CREEPING / self.rtol:
                raise StalledError(self._creeping(moved, state))
            try:
                for visit in self._segment(begun, t_end):
                    state = visit.state
                    yield visit
            except (_GaveUpError, DivergedError) as error:
                if state is not begun or begun.step_size:
                    state = replace(state, step_size=0.0)  # so that the next segment starts with short steps, without a warm-up
                elif begun.careful:
                    state = replace(state, careful=False)
                else:
                    raise error if isinstance(error, DivergedError) else StalledError(str(error)) from None
                yield Visit(state, mark=False, resumable=True)

    def _creeping(self, moved: State, state: State) -> str:
        """Say that many steps brought a trajectory hardly further."""
        chart = EscapeChart(state.c, self.field.threshold, self.field.alpha)
        system = _System(self.field, chart, self.rtol, self._absolute_tolerance(state.c, chart))
        what = f"{state.step - moved.step} steps since t = {moved.time:.6g}"
        return self._where(what, system, state.time, state.step_size, chart.to_y(state.c.ravel()))

    def _segment(self, start: State, t_end: float) -> Iterator[Visit]:
        chart = EscapeChart(start.c, self.field.threshold, self.field.alpha)
        atol = self._absolute_tolerance(start.c, chart)
        system, y = _System(self.field, chart, self.rtol, atol, CLOSER if start.careful else 1.0), chart.to_y(start.c.ravel())
        rate = np.empty_like(y)
        system.rate(0.0, y, rate)
        left = t_end - start.time
        # No component may move by more than its tolerance: where the fast part is at rest, what is left of its rate is round-off.
        first = min(0.1 * left, 0.3 * start.step_size or math.inf, 1.0 / max(system.size(rate, y).max(), 1e-300))
        solver = self._solver(system, first, y, KRYLOV_CLOSE if start.careful else KRYLOV)
        near = ESCAPING * self.field.threshold
        far = own_correlations(start.c) < near
        begin, elapsed, limit, marked, warm = y, 0.0, left, start.time, 0
        for n in range(1, LONGEST + 1):
            before, since = y, elapsed
            y, elapsed = self._step(solver, system, start, since, min(limit, left - since), y)
            size = elapsed - since
            if self._leapt(chart, before, y):
                raise _GaveUpError(self._where("a correlation leaps over the threshold", system, start.time + since, size, before))
            done = elapsed >= left * (1.0 - 1e-14)
            c = chart.to_c(y).reshape(start.c.shape)
            time = t_end if done else start.time + elapsed
            state = State(start.step + n, time, c, start.evaluations + system.evaluations, size, start.careful)
            if done:
                yield Visit(state, mark=True, resumable=False)
                return
            if n == SEGMENT and size <= 10.0 * first and system.size(y - begin, y).max() < 1.0:
                raise StalledError(self._where(f"{SEGMENT} steps led nowhere", system, state.time, size, y))
            warm += warm > 0 or size >= start.step_size
            if warm > SEGMENT or n == LONGEST:
                state = replace(state, careful=self._goes_on_carefully(start, state, system.left_over(y, (y - before) / size)))
                break
            if size < 1e-9 * elapsed or (far & (own_correlations(c) >= near)).any():
                break
            mark = n % MARK_EVERY == 0 or state.time > marked * 10.0 ** (1.0 / MARKS_PER_DECADE)
            marked = state.time if mark else marked
            yield Visit(state, mark=mark, resumable=False)
            limit = min(self._way_to_escape(chart, before, y, size), (GROWTH if warm else WARM_UP) * size)
        yield Visit(state, mark=True, resumable=True)

    @staticmethod
    def _goes_on_carefully(start: State, end: State, left_over: float) -> bool:
        """Whether a whole segment crept, or was careful and had steps that are still short."""
        grown = math.log(end.time / start.time) / (end.step - start.step) if start.time else math.inf
        return grown < CAREFREE if start.careful else STILL < grown < CAREFUL and left_over > LEFT_OVER

    def _solver(self, system: _System, first: float, y: np.ndarray, krylov: int) -> CVODE:
        """Return the solver at time 0 and y."""
        with self._one_thread(), _silenced():
            solver = CVODE(
                system.rate,
                method="BDF",
                linsolver="gmres",
                krylov_dim=krylov,
                rtol=self.rtol,
                atol=system.atol,
                first_step=first,
                jactimes=CVODEJacTimes(None, system.jacobian_vector_product),
                precond=system.preconditioner(),
            )
            solver.init_step(0.0, y)
        return solver

    def _step(self, solver: CVODE, system: _System, start: State, since: float, limit: float, y: np.ndarray) -> tuple[np.ndarray, float]:
        """Take one step, of at most ``limit``."""
        with self._one_thread(), redirect_stdout(io.StringIO()):  # where the solver's failures are printed, which the result tells as well
            result = solver.step(1e300, method="onestep", tstop=since + limit)
        reached = float(np.ravel(result.t)[-1])
        if not result.success or not reached > since:
            raise _GaveUpError(self._where(f"the solver failed ({result.message})", system, start.time + since, limit, y))
        return np.array(result.y).reshape(-1), reached

    def _way_to_escape(self, chart: EscapeChart, before: np.ndarray, y: np.ndarray, size: float) -> float:
        """Return how long the next step may be: a part of the way to the next escape at the present speeds."""
        at, b = y[chart.index], chart.threshold
        speed = (at - before[chart.index]) / size
        approaching = (at < -b) & (speed > 0.0)
        return APPROACH * float(((b - at[approaching]) / speed[approaching]).min()) if approaching.any() else math.inf

    def _leapt(self, chart: EscapeChart, before: np.ndarray, y: np.ndarray) -> bool:
        """Whether a coordinate went from far below the threshold to far above it in one step.

        Its tolerance was that of where it came from, which can be 10^20 times what is right above the threshold. That happens where noise
        carries a small correlation, so that it does not move at a constant speed, and no step foresees its escape.
        """
        b = chart.threshold
        return bool(((before[chart.index] < -b) & (y[chart.index] > b)).any())

    def _absolute_tolerance(self, c: np.ndarray, chart: EscapeChart) -> np.ndarray:
        """Return (n,) absolute tolerances."""
        atol = 0.1 * self.rtol * np.broadcast_to(np.abs(c).max(axis=(2, 3), keepdims=True), c.shape).ravel()
        atol[chart.index] = self.rtol * chart.threshold
        return np.maximum(atol, 1e-300)

    def _where(self, what: str, system: _System, time: float, size: float, y: np.ndarray) -> str:
        """Say where a trajectory stopped, and which correlation moves most for its tolerance."""
        rate = np.empty_like(y)
        system.rate(0.0, y, rate)
        worst = int(np.argmax(system.size(rate, y)))
        c, component = system.chart.to_c(y)[worst], ", ".join(str(int(i)) for i in np.unravel_index(worst, system.chart.shape))
        return (
            f"{what} at t = {time:.6g}, with steps of at most {size:.3g}; hardest to follow is c[{component}] = {c:.4g}; "
            "another rtol may help, or integrator gd"
        )

    def _one_thread(self) -> AbstractContextManager[object]:
        """Keep the BLAS of the solver to one thread: two pools of threads on the same cores are slower than none."""
        return self._blas.limit(limits=1, user_api="blas")


class _GaveUpError(Exception):
    """The solver failed in one step; with shorter ones it may not."""


class _System:
    """What the solver calls, in the coordinates of a chart."""

    def __init__(self, field: Field, chart: EscapeChart, rtol: float, atol: np.ndarray, closer: float = 1.0) -> None:
        self.field, self.chart, self.rtol, self.atol, self.closer, self.evaluations = field, chart, rtol, atol, closer, 0
        self._curvature: Curvature | None = None
        self._shifted: Shifted | None = None
        self._slope = np.ones(0)

    def size(self, change: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return (n,): a change in units of the tolerance at y."""
        return np.abs(change) / (self.rtol * np.abs(y) + self.atol)

    def rate(self, t: float, y: np.ndarray, out: np.ndarray) -> None:
        """Write y' to out: -dy/dc times the gradient."""
        c = np.clip(self.chart.to_c(np.asarray(y)), -FAR, FAR)
        with np.errstate(over="ignore", invalid="ignore"):  # the next line names what numpy would only warn of
            rate = -self.chart.slope(c) * self.field.gradient(0, c.reshape(self.chart.shape)).ravel()
        self.evaluations += 1
        if not np.isfinite(rate).all():  # left to itself the solver would never return
            raise DivergedError(f"the gradient is not finite (largest correlation {np.abs(c).max():.3g}); use a smaller rtol")
        out[:] = rate

    def left_over(self, y: np.ndarray, velocity: np.ndarray) -> float:
        """Return how many times as large as a velocity the rate at y is, in units of the tolerance: about 1 unless a force is left over."""
        rate = np.empty_like(y)
        self.rate(0.0, y, rate)
        return float(np.linalg.norm(self.size(rate, y))) / max(float(np.linalg.norm(self.size(velocity, y))), 1e-300)

    def jacobian_vector_product(self, t: float, y: np.ndarray, rate: np.ndarray, v: np.ndarray, out: np.ndarray) -> None:
        """Write the derivative of the rate along v to out: a difference over `DIFFERENCE` of the tolerance."""
        size = math.sqrt(np.mean(self.size(v, y) ** 2))
        if not size > 0.0:
            out[:] = 0.0
            return
        step = DIFFERENCE / size
        moved = np.empty_like(y)
        self.rate(t, y + step * v, moved)
        out[:] = (moved - rate) / step

    def preconditioner(self) -> CVODEPrecond | None:
        """Return the solver's preconditioner, if the field tells its curvature."""
        k, m = self.chart.shape[:2]
        if self.field.curvature(np.zeros((k, m, k, 2))) is None:
            return None
        return CVODEPrecond(self._set_up, self._solve)

    def _set_up(self, t: float, y: np.ndarray, rate: np.ndarray, same: bool, renewed: list[int], gamma: float) -> None:
        """Prepare I + gamma H; ``same`` says that the H of last time will do."""
        renewed[0] = 0
        if not same or self._curvature is None:
            renewed[0] = 1
            c = self.chart.to_c(np.asarray(y))
            self._curvature, self._slope = self.field.curvature(c.reshape(self.chart.shape)), self.chart.slope(c)
        assert self._curvature is not None
        self._shifted = self._curvature.shifted(gamma)

    def _solve(self, t: float, y: np.ndarray, rate: np.ndarray, r: np.ndarray, out: np.ndarray, gamma: float, delta: float, side: int) -> None:
        """Write z / closer, (I + gamma D H D^-1) z = r, to out; D = dy/dc makes the Hessian by c one by y."""
        assert self._shifted is not None
        out[:] = self._slope * self._shifted.solve(r / self._slope) / self.closer


@contextmanager
def _silenced() -> Iterator[None]:
    """Keep a solver made meanwhile from writing to stderr what its results say too."""
    names = ("SUNLOGGER_ERROR_FILENAME", "SUNLOGGER_WARNING_FILENAME")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, os.devnull))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
