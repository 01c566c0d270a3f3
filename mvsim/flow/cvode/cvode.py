"""The gradient flow by CVODE, the variable-order BDF solver of SUNDIALS: a second integrator of the same flow, made by others.

It shares the coordinates, the tolerances and the judgement of steps with `mvsim.flow`, and nothing of its steps.

CVODE cannot be saved and loaded. So a trajectory is made of segments. Each starts the solver anew, at order 1, from the state and a few numbers
(`mvsim.flow.cvode.carried.Memory`), and each ends with a mark. A run can therefore be resumed at its marks, bit for bit. Each segment has
its own error weights, and is short enough for them: it does not go further than a part of the way to the next escape. It counts its own time
from 0, so that short steps at late times keep their digits.

A step may be refused that CVODE has taken: where the loss does not fall by the integral of the squared gradient. The segment ends before
that step, and the next one is shorter.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from mvsim.base.errors import StalledError
from mvsim.base.options import document_options
from mvsim.flow.arrays import pack, unpack
from mvsim.flow.base import Field, State, Visit
from mvsim.flow.chart import EscapeChart
from mvsim.flow.cvode.carried import Memory
from mvsim.flow.cvode.segment import FailedError, Segment, Step
from mvsim.flow.cvode.solver import VECTORS, library
from mvsim.flow.flow_integrator import FlowIntegrator, Rtol
from mvsim.flow.stalls import fall_while_time_doubles, gets_further, has_stalled, slowness
from mvsim.numerics.blas_threads import library_was_loaded
from mvsim.numerics.norm import norm

OVER_OURS = 2.5
"""Gradients that it takes over those of the stepper of mvsim: a rough guess. The study `flow_integrators` compares both."""


@document_options
class CvodeFlow(FlowIntegrator):
    """c' = -grad J(c) by CVODE of SUNDIALS, to check the gradient flow of `mvsim.flow` by another solver.

    It takes more gradients, as every segment begins with short steps of order 1. The library has vectors of the host only.

    Parameters
    ----------
    field : Field
        What is followed.
    {options}

    Raises
    ------
    UsageError
        If rtol is out of its domain, the loss is drawn afresh at every step, or scikit-sundae is not installed.
    """

    name = "cvode"
    called = "the gradient flow by CVODE"
    library_vectors = VECTORS

    def __init__(self, field: Field, rtol: Rtol = None) -> None:
        super().__init__(field, rtol)
        library()
        library_was_loaded()

    def is_mark(self, state: State) -> bool:
        """Whether it is a mark: all resumable states are."""
        return True

    def pack(self, memory: Any) -> dict[str, np.ndarray]:
        """Return the memory as arrays."""
        return {} if memory is None else pack(memory)

    def unpack(self, arrays: Mapping[str, np.ndarray]) -> Memory | None:
        """Return the memory that was packed."""
        return unpack(Memory, arrays) if arrays else None

    @classmethod
    def relative_gradients(cls, value: float | None) -> float:
        """Return the gradients that it takes with a relative tolerance, over those of the stepper of mvsim at its default one."""
        return OVER_OURS * super().relative_gradients(value)

    def trajectory(self, state: State, t_end: float) -> Iterator[Visit]:
        """Yield every step, segment by segment. After a segment that t_end has changed none lies on a trajectory that goes on further."""
        on_the_way = True
        while state.time < t_end:
            start, memory = state, state.memory or self._fresh(state)
            segment = Segment(self.field, self.rtol, start, memory)
            try:
                for step in segment.steps(t_end - start.time):
                    state = self._after(start, state.step + 1, memory, segment, step, t_end)
                    on_the_way = on_the_way and (step.resumable or not step.last)
                    yield Visit(state, mark=step.last, resumable=on_the_way and step.resumable)
            except FailedError as error:
                raise StalledError(self._place(str(error), start, segment)) from None
            stood = state.step - state.memory.moving_step
            if has_stalled(stood, self.rtol):
                raise StalledError(self._place(slowness(stood), state, segment))

    def _fresh(self, state: State) -> Memory:
        """Return the memory of a trajectory that has no past."""
        largest = float(np.abs(state.c).max()) + float(self.field.escaping.threshold.max(initial=0.0))
        return Memory(
            chart=EscapeChart.at(state.c.ravel(), *self.field.escaping),
            longest=math.inf,
            time_lost=0.0,
            lowest=math.inf,
            largest=largest,
            since_escape=0.0,
            moving_step=state.step,
            moving_since=0.0,
        )

    def _after(self, start: State, number: int, memory: Memory, segment: Segment, step: Step, t_end: float) -> State:
        """Return the state after a step of a segment."""
        system = segment.system
        c = system.correlations(step.y)
        system.largest = max(system.largest, float(np.abs(c).max()))
        clock = (start.time, memory.time_lost, step.elapsed)
        time = math.fsum(clock)
        since = 0.0 if step.escaped else memory.since_escape + step.elapsed
        moving = step.escaped or gets_further(since, memory.moving_since)
        return State(
            step=number,
            time=t_end if step.elapsed >= (t_end - start.time) * (1.0 - 1e-14) else time,
            c=c,
            evaluations=start.evaluations + system.evaluations,
            dissipation=start.dissipation + float(step.gains[0]),
            log_dissipation=start.log_dissipation + float(step.gains[1]),
            memory=Memory(
                chart=memory.chart,
                longest=step.longest,
                time_lost=math.fsum([*clock, -time]),
                lowest=min(memory.lowest, segment.log_loss),
                largest=system.largest,
                since_escape=since,
                moving_step=number if moving else memory.moving_step,
                moving_since=since if moving else memory.moving_since,
            ),
        )

    def _place(self, what: str, start: State, segment: Segment) -> str:
        """Say where a trajectory stopped, and which correlation moves most for its tolerance."""
        worst = int(np.argmax(np.abs(segment.velocity) / segment.tolerance))
        fastest = f"{self.field.component(worst)} = {start.c.ravel()[worst]:.4g} changes most relative to its tolerance"
        loss, gradient = self.field.loss_and_gradient(0, start.c)
        fall = fall_while_time_doubles(start.time, loss, norm(gradient.ravel()))
        where = f"at t = {start.time:.6g} (step {start.step})"
        return f"the flow has stalled: {what}, {where}; {fastest}; {fall}; as a new run, another rtol may help, or integrator flow"
