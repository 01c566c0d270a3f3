"""The gradient flow c' = -grad J(c), the limit of gradient descent for eta -> 0, with its error controlled.

1. *Blow-ups.* A correlation that is to escape stays near 0 for almost the whole run and then grows within a small
   fraction of it. `chart` changes to variables that move at constant speed through both phases, and no step goes further than a part of the way to
   the next escape (`APPROACH`).
2. *Stiffness.* Escaped neurons relax 10^3 to 10^50 times faster than all else moves. Implicit steps (the formulas in `bdf`, their size and order in
   `stepper`) pass over the fast scale. If the loss is a mean over single points, their residuals fall after an escape, and relaxation slows down with
   them. So steps are made in the logarithm of time, counted from a moment that `clock` chooses by how smooth the trajectory is. What moves
   at constant speed in time is held in a frame that moves with it (`clock.in_frame`).
   Equations of steps are solved by a fixed-point iteration that remembers how the field has changed along its last moves (`secants`). It is
   preconditioned by (I + gamma H)^-1 with the part of the Hessian that is stiff, which the field gives
   (`mvsim.numerics.arrow_matrix.Curvature`), and evaluates the escaped neurons alone (`linearisation`). Where escaped neurons stay in balance with
   noise for so long that this is not enough, the whole Hessian of the escaped neurons is formed once the failed equations have cost as much as
   forming it; but only if it has at most `linearisation.MOST_COLUMNS` columns and no neuron rests. Directions in which no force acts, which its
   rounding hides from very long steps, are treated apart (`null_directions`). Of a field that gives no Hessian equations are solved by Newton's
   method and GMRES (`newton`, `krylov`).
3. *The scale of errors.* The cross-entropy falls as exp(-margin), so that outputs have to be resolved absolutely, however large correlations
   are. The field gives what change of each coordinate counts (`mvsim.multi_view.objectives.scales`), `system` also bounds errors by the time to an
   escape, and `error_size` makes one number of the errors of all coordinates.
4. *Rounding of t.* After an escape the time that matters is the time since it: at t = 10^50, adding a step of 10^20 leaves t unchanged in
   double precision. No step uses t, and what t loses to rounding is carried along (Kahan's sum).
5. *Size.* Of the m neurons of a class one or two escape for each view. In a large network the others rest while few are stepped, and are brought up
   to date at marks and after escapes (`resting`).

Along the exact flow the loss never rises, and it falls by the integral of |c'|^2. Two integrals are added up along the steps, of |c'|^2 and of
|c'|^2 / J, which along the flow are what J and ln J have lost; they are recorded with every run. A step is refused, and tried again shorter, if
ln J exceeds its least value at a mark by more than `RISE` rtol, if its fall since the last mark differs from the integral (`IMBALANCE`), or if a
correlation jumps over its threshold (`system`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from mvsim.base.errors import DivergedError, StalledError
from mvsim.flow.base import MARKS_PER_DECADE, State, Visit
from mvsim.flow.chart import EscapeChart
from mvsim.flow.clock import time_of
from mvsim.flow.flow_integrator import LAST_TIME, FlowIntegrator
from mvsim.flow.flow_memory import Memory, unpack_memory
from mvsim.flow.resting import RestState
from mvsim.flow.stalls import fall_while_time_doubles, gets_further, has_stalled, slowness
from mvsim.flow.stepped_system import SteppedSystem
from mvsim.flow.stepper import GaveUpError, Stepper
from mvsim.flow.stepper_state import StepperState
from mvsim.flow.system import Bounds, ChartedField
from mvsim.numerics.norm import largest, norm

MARK_EVERY = 20
"""Steps between two marks where time hardly moves; where it does, marks are as close as `MARKS_PER_DECADE`."""

APPROACH = 0.5
"""Part of the way to the next escape that one step may go. After longer steps a second view of a class may stay near its threshold for too long: the
tests hold the time between the escapes of two views to 5 % at rtol 1e-3."""

GROWTH_THAT_SEES_NOISE = 1.5
"""Most growth of the time that a step takes over that of the step before, whatever the error: the response of a neuron to noise decays as a power of
time, and a step that is much longer does not see it."""

GROWTH_WHEN_QUIET, QUIET = 5.0, 1e-5
"""The same after a step whose error was so small a part of the tolerance, as where nothing escapes or relaxes."""

RISE = 10.0
"""Most that ln J at the end of a step may exceed its least value at a mark so far, in relative tolerances."""

IMBALANCE = 20.0
"""Largest allowed |fall - integral| / (1 + fall), in relative tolerances: the fall is that of ln J since the last mark, the integral that of
|grad J|^2 / J. Good steps through an escape reach a few; one that passes over an escape, thousands."""


class GradientFlow(FlowIntegrator):
    """c' = -grad J(c) with local error control."""

    name = "flow"
    called = "the gradient flow"

    def unpack(self, arrays: Mapping[str, np.ndarray]) -> Memory | None:
        return unpack_memory(arrays)

    def trajectory(self, state: State, t_end: float) -> Iterator[Visit]:
        memory = state.memory
        if memory is None:
            try:
                state, memory = self._started(state, t_end)
            except DivergedError as error:
                raise DivergedError(f"{error}, at t = {state.time:.6g} (step {state.step})") from None
        stepped = self._stepped(memory, state)
        stepper = Stepper(stepped.system)
        cut = state.step == 0 and memory.size > t_end - state.time
        while state.time < t_end:
            system, spent = stepped.system, stepped.evaluations
            left = t_end - state.time
            growth = GROWTH_WHEN_QUIET if memory.stepper.error < QUIET else GROWTH_THAT_SEES_NOISE
            longest = min(growth * memory.size, _way_to_escape(system.chart, memory.stepper))
            cut = cut or left < min(longest, time_of(memory.stepper.history.h, memory.stepper.clock))  # no step of a flow that goes on
            highest = memory.lowest + RISE * self.rtol
            bounds = Bounds(memory.log_loss, highest, memory.marked_log_loss, memory.marked_integral, IMBALANCE * self.rtol)
            try:
                after, size = stepper.step(memory.stepper, min(left, longest), partial(system.gains, bounds))
            except (GaveUpError, DivergedError) as error:
                raise StalledError(self._where(str(error), state, memory, system)) from None
            done = size >= left * (1.0 - 1e-14)
            time, lost = added(state.time, memory.time_lost, size)
            time = t_end if done else time
            step = state.step + 1
            mark = done or step >= memory.marked + MARK_EVERY or time > memory.marked_time * 10.0 ** (1.0 / MARKS_PER_DECADE)
            escaped = _number_waiting(system, memory.stepper) != _number_waiting(system, after)
            if escaped:
                after = replace(after, unsolved=0, form_hessian=False)  # of before the escape, whose system was another
            try:
                end = stepped.end_of_step(after, memory.resting.after(size), mark, escaped)
            except DivergedError as error:
                raise DivergedError(f"{error}, at t = {time:.6g} (step {step})") from None
            since = 0.0 if escaped else memory.since_escape + size
            moving = escaped or gets_further(since, memory.moving_since)
            memory = replace(
                memory,
                resting=end.resting,
                stepper=end.stepper,
                size=size,
                time_lost=lost,
                log_loss=end.log_loss,
                lowest=min(memory.lowest, end.log_loss) if mark else memory.lowest,
                marked_log_loss=end.log_loss if mark else memory.marked_log_loss,
                marked_integral=0.0 if mark else memory.marked_integral + system.gained,
                largest=stepped.note_largest(end.c),
                marked=step if mark else memory.marked,
                marked_time=time if mark else memory.marked_time,
                since_escape=since,
                moving_step=step if moving else memory.moving_step,
                moving_since=since if moving else memory.moving_since,
            )
            evaluations = state.evaluations + stepped.evaluations - spent
            dissipation, log_dissipation = end.stepper.history.Z[0, -2:].tolist()
            state = State(step, time, end.c, evaluations, dissipation, log_dissipation, memory)
            if end.renewed:
                stepped = self._stepped(memory, state)
                stepper = Stepper(stepped.system)
            yield Visit(state, mark=mark, resumable=not (cut or done))
            if has_stalled(state.step - memory.moving_step, self.rtol):
                raise StalledError(self._where(slowness(state.step - memory.moving_step), state, memory, stepped.system))

    def _started(self, state: State, t_end: float) -> tuple[State, Memory]:
        c = state.c.ravel()
        chart = EscapeChart.at(c, *self.field.escaping)
        reach = largest(c) + largest(self.field.escaping.threshold)
        whole = SteppedSystem(self.field, chart, RestState.nothing(), state.c.shape, self.rtol, reach)
        system = whole.system
        y = chart.to_y(c)
        velocity = system.rate(y)
        fastest = largest(velocity / system.tolerance(y).step)
        size = min(1.0 / max(fastest, 1.0 / LAST_TIME), 2.0 * (t_end - state.time))
        resting = whole.rest_at_start(state.c, y, velocity)
        index = resting.stepped if resting.any else np.arange(len(c))
        beginning = Stepper(system).started(y[index], [state.dissipation, state.log_dissipation], size, velocity[index])
        log_loss = system.log_loss(c)
        state = replace(state, evaluations=state.evaluations + whole.evaluations)
        memory = Memory(
            chart=chart,
            resting=resting,
            stepper=beginning,
            size=size,
            time_lost=0.0,
            lowest=log_loss,
            largest=reach,
            marked=state.step,
            marked_time=state.time,
            since_escape=0.0,
            moving_step=state.step,
            moving_since=0.0,
            log_loss=log_loss,
            marked_log_loss=log_loss,
            marked_integral=0.0,
        )
        return state, memory

    def _stepped(self, memory: Memory, state: State) -> SteppedSystem:
        return SteppedSystem(self.field, memory.chart, memory.resting, state.c.shape, self.rtol, memory.largest)

    def _where(self, what: str, state: State, memory: Memory, system: ChartedField) -> str:
        """Say where a trajectory stopped, and which correlation moves most for its tolerance."""
        where = f"at t = {state.time:.6g} (step {state.step}, last step size {memory.size:.3g})"
        advice = "as a new run, a smaller rtol may help"
        return "; ".join([f"the flow has stalled: {what}, {where}", *self._motion_at(state, memory, system), advice])

    def _motion_at(self, state: State, memory: Memory, system: ChartedField) -> list[str]:
        """Say what still moves at a state; nothing if the field cannot be evaluated there."""
        y = memory.stepper.history.Z[0, : system.size]
        try:
            speeds = np.abs(system.rate(y))
            loss, gradient = self.field.loss_and_gradient(0, state.c)
        except DivergedError:
            return []
        worst = int((speeds / system.tolerance(y).step).argmax())
        fastest = f"{system.field.component(worst)} = {system.chart.to_c(y)[worst]:.4g} changes most relative to its tolerance"
        return [fastest, str(fall_while_time_doubles(state.time, loss, norm(gradient)))]


def added(time: float, lost: float, size: float) -> tuple[float, float]:
    """Return time + size, and what rounding lost of it, ``lost`` of earlier steps included (Kahan's sum)."""
    step = size + lost
    total = time + step
    return total, step - (total - time)


def _number_waiting(system: ChartedField, stepper: StepperState) -> int:
    return int(system.chart.waiting(stepper.history.Z[0]).sum())


def _way_to_escape(chart: EscapeChart, stepper: StepperState) -> float:
    """Return how long the next step may be: a part of the way to the next escape at the present speeds."""
    Z, index = stepper.history.Z, chart.index
    speed = Z[1, index] / (stepper.history.h * stepper.clock) + stepper.drift[index]
    return APPROACH * chart.time_to_escape(Z[0, index], speed)
