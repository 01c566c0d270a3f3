"""The gradient flow c' = -grad J(c), followed from escape to escape in large steps.

It controls the errors of the times of escapes and of own correlations, and takes the largest steps that these allow. It records how far off the
time between the escapes of the two views of a class may be. It does not control every output. At large k a flow spends most of its steps on
off-diagonal correlations of escaped neurons, which drift between kinks of the activation for long. Their path is followed loosely here, and where
it matters outputs are wrong (`mvsim.flow.large_step` says how that happens, the study ``escapes`` how often).

A *mark* is a step at which a run can be recorded and resumed. The *clock* of a correlation is its coordinate on the chart (`mvsim.flow.chart`), which
moves at a constant speed until it escapes, as long as the force on it lasts.

- `stage`: the few neurons that are stepped between two marks, with a gradient of their own;
- `large_step`: implicit steps, whose equations a damped Newton solves (`proximal_newton`);
- `forecast`: the escapes to come, which bound each step;
- `growth`: no step is longer than the growth time of what grows.

Its option is the relative error of the time to an escape that one step may make. A run can be resumed at a mark from correlations, velocities and the
step before alone, because the Hessian is made and neurons are chosen anew there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from mvsim.base.errors import StalledError, UsageError
from mvsim.flow.arrays import unpack
from mvsim.flow.base import Field, State, Visit
from mvsim.flow.chart import EscapeChart
from mvsim.flow.flow import added
from mvsim.flow.flow_integrator import FlowIntegrator, Rtol
from mvsim.flow.forecast import Forecast, forecast_of
from mvsim.flow.large_step import Past, Step
from mvsim.flow.layout import Layout
from mvsim.flow.moment import Moment
from mvsim.flow.stage import Stage

MARK_EVERY = 20
"""Most steps between two marks."""

MOST_ERROR, SAFETY = 1.5, 0.6
"""Error, in tolerances, beyond which a step is refused; the next step has at most `SAFETY` of the size that this error would allow."""

GROWTH, GROWTH_WHEN_HARD, HARD, MANY = 2.0, 1.3, 5, 8
"""A step is at most `GROWTH` times as long as the one before, or `GROWTH_WHEN_HARD` times after a refusal or an equation of `HARD` iterations or
more. After more than `MANY` iterations it is a fifth shorter besides."""

FIRST = 0.1
"""The first step, as a part of the time to the first escape."""

LATE = 0.1
"""Longest step, as a part of the time, once a view of every class has escaped: what still moves between escapes changes with ln t."""

AFTER_UNSOLVED, LEAST = 0.3, 0.2
"""A step whose equation was not solved is tried again at `AFTER_UNSOLVED` of its size, one that was refused for its error at `LEAST` or more."""

EASY = 2
"""After so many iterations or fewer the next equation starts from the extrapolation, and not from the state before."""

ATTEMPTS = 30
"""Attempts at a step, after which the flow has stalled."""


@dataclass(frozen=True, eq=False)
class Memory:
    """All that the next step depends on, besides the state.

    Attributes
    ----------
    chart : EscapeChart
        The coordinates.
    v : array
        (n,) velocity.
    c_before, v_before : array
        (n,) where the last step began; empty at the start.
    h_before, h : float
        Its size, and that of the next step.
    iterations : int
        How many the last equation took.
    time_lost : float
        What the clock has lost to rounding.
    marked : int
        Step of the last mark.
    errors : array
        (n,) by how much each clock may be wrong because its neuron waited, as a time: the sum over marks of H |w1 - w0| / 2 max(|w0|, |w1|), where H
        is the time between two marks and w0, w1 are the speeds there.
    """

    chart: EscapeChart
    v: np.ndarray
    c_before: np.ndarray
    v_before: np.ndarray
    h_before: float
    h: float
    iterations: int
    time_lost: float
    marked: int
    errors: np.ndarray


class EscapeFollower(FlowIntegrator):
    """c' = -grad J(c) in large steps, with the errors of escapes and own correlations controlled, and not those of every output.

    Raises
    ------
    UsageError
        Where there are no escapes to follow, or ``rtol`` is out of its range.
    """

    name = "escapes"
    called = "the gradient flow, from escape to escape,"
    usual = 5e-3
    as_flow = 0.2  # by default the bounds are those of the default flow
    share_of_gradients = 0.5  # at k = 50 (studies main_job, main_job_escapes)
    adds_up_dissipation = controls_outputs = False

    def __init__(self, field: Field, rtol: Rtol = None) -> None:
        super().__init__(field, rtol)
        if field.few is None or field.escaping.alpha <= 2.0:
            raise UsageError(
                f"integrator={self.name!r}: there are escapes to follow only with alpha > 2, a smoothed ReLU without weight decay and backend numba, "
                "with one noise pattern for the patches of a point; use integrator flow"
            )

    def unpack(self, arrays: Mapping[str, np.ndarray]) -> Memory | None:
        """Return the memory that was packed."""
        return unpack(Memory, arrays) if "marked" in arrays else None

    def clock_errors(self, state: State) -> np.ndarray | None:
        return None if state.memory is None else np.asarray(state.memory.errors.reshape(state.c.shape))

    def trajectory(self, state: State, t_end: float) -> Iterator[Visit]:
        """Yield every step."""
        layout = Layout(state.c.shape, self.field.escaping)
        memory = state.memory
        if self.field.curvature(state.c) is None:
            raise UsageError(f"integrator={self.name!r}: needs the Hessian of the cross-entropy of single points or all pairs; use integrator flow")
        if memory is None:
            state, memory = self._started(state, layout)
        chart = memory.chart
        before = Past(Moment(chart, memory.c_before, memory.v_before), memory.h_before) if memory.c_before.size else None
        stage = self._stage(layout, chart, Moment(chart, state.c.ravel(), memory.v), before, state.time)
        ending = False  # whether t_end has changed a step: nothing after it can be resumed towards a later one
        while state.time < t_end:
            left, step, learned = t_end - state.time, state.step + 1, stage.layout.learned(stage.now.c)
            forecast = forecast_of(stage.layout, stage.stiff.mask, stage.now, stage.past and stage.past.moment, stage.steps.charted, learned)
            wanted = min(
                memory.h, forecast.longest_step, stage.left, (LATE * state.time or np.inf) if stage.layout.is_begun(learned).all() else np.inf
            )
            cut = wanted >= left * (1.0 - 1e-14)
            ending |= cut
            try:
                taken, size = self._step(stage, min(wanted, left), memory.iterations <= EASY, forecast, learned)
            except StalledError as error:
                raise StalledError(f"the flow has stalled: {error}, at t = {state.time:.6g} (step {state.step})") from None
            cut = cut and size >= left * (1.0 - 1e-14)
            stage.go_on(taken, size)
            time, lost = added(state.time, memory.time_lost, size)
            time = t_end if cut else time
            next_size = _next_size(taken, size, refused=size < min(wanted, left))
            memory = replace(memory, h_before=size, h=next_size, iterations=taken.iterations, time_lost=lost)
            mark = cut or not stage.stiff.is_all_at(stage.now.c) or step >= memory.marked + MARK_EVERY or stage.is_over
            c, evaluations = stage.c, state.evaluations + stage.spent()
            if mark:
                stage.settle()
                now, past, errors = stage.finished()
                c, evaluations = now.c, evaluations + stage.spent()
                memory = replace(memory, v=now.v, c_before=past.moment.c, v_before=past.moment.v, marked=step, errors=memory.errors + errors)
                stage = self._stage(layout, chart, now, past, time)
            state = State(step, time, c.reshape(layout.shape), evaluations, math.nan, math.nan, memory)
            yield Visit(state, mark=mark, resumable=mark and not ending)

    def _stage(self, layout: Layout, chart: EscapeChart, now: Moment, past: Past | None, time: float) -> Stage:
        return Stage(self.field, layout, chart, now, past, time, self.rtol)

    def _started(self, state: State, layout: Layout) -> tuple[State, Memory]:
        """Return the beginning of a trajectory that has no past."""
        c = state.c.ravel()
        chart = layout.chart(c)
        v = -self.field.loss_and_gradient(0, state.c)[1].ravel()
        now, nothing = Moment(chart, c, v), np.zeros(0)
        stage = self._stage(layout, chart, now, None, state.time)
        forecast = forecast_of(stage.layout, stage.stiff.mask, stage.now, None, stage.steps.charted, stage.layout.learned(stage.now.c))
        h = FIRST * min(forecast.next, float(np.abs(c).max() / max(np.abs(v).max(), 1e-300)) if forecast.next == np.inf else np.inf)
        memory = Memory(chart, v, nothing, nothing, 0.0, h, 0, 0.0, state.step, np.zeros(layout.size))
        return replace(state, evaluations=state.evaluations + 1), memory

    def _step(self, stage: Stage, h: float, easy: bool, forecast: Forecast, learned: np.ndarray) -> tuple[Step, float]:
        """Return a step and its size."""
        for attempt in range(ATTEMPTS):
            step = stage.steps.attempt(stage.stiff, stage.now, stage.past, h, easy and attempt == 0, forecast, learned)
            if step.end is not None and step.error <= MOST_ERROR:
                return step, h
            if step.end is not None:
                h *= max(LEAST, SAFETY * step.error ** (-1.0 / (step.order + 1)))
            else:
                stage.stiff.forget()
                h *= AFTER_UNSOLVED
        raise StalledError("no step within the tolerance was found")


def _next_size(step: Step, size: float, refused: bool) -> float:
    """Return the size of the next step."""
    by_error = SAFETY * max(step.error, 1e-10) ** (-1.0 / (step.order + 1))
    by_iterations = GROWTH if step.iterations < HARD and not refused else GROWTH_WHEN_HARD
    return size * (0.8 if step.iterations > MANY else 1.0) * min(by_iterations, by_error)
