"""What a trajectory steps: all coordinates, or some of them while the others rest."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mvsim.flow.base import Field
from mvsim.flow.chart import EscapeChart
from mvsim.flow.error_size import MOST_OF_ONE
from mvsim.flow.interface import Motion
from mvsim.flow.resting import RestingCoordinates, RestState, choose_stepped
from mvsim.flow.stepper_state import StepperState
from mvsim.flow.system import ChartedField
from mvsim.numerics.indexing import lookup
from mvsim.numerics.norm import largest


class StepEnd(NamedTuple):
    """What is known at the end of a step."""

    resting: RestState  # Which coordinates are stepped from now on
    stepper: StepperState  # Where the stepper of these is
    c: np.ndarray  # The correlations, in their own shape
    log_loss: float  # ln J
    renewed: bool  # Whether the system that is stepped is another one from now on


class SteppedSystem:
    """The system that is stepped, `system`, and all coordinates as they follow from its own; ``reach`` is the largest correlation seen so far."""

    def __init__(self, field: Field, chart: EscapeChart, resting: RestState, shape: tuple[int, ...], rtol: float, reach: float) -> None:
        self._groups, self._chart = field.groups, chart
        self._whole = self.system = ChartedField(field, chart, shape, rtol, reach)
        self._rest: RestingCoordinates | None = None
        if resting.any:
            assert field.groups is not None
            stepped = resting.stepped
            few = field.groups.field(self._whole.correlations(resting.y), stepped)
            self.system = ChartedField(few, chart.within(stepped), stepped.shape, rtol, reach, self._whole.neuron[stepped])
            self._rest = RestingCoordinates(resting, chart, field.groups.alike)

    @property
    def evaluations(self) -> int:
        """Gradients evaluated, those of some coordinates counted as those of all."""
        return self.system.evaluations + (0 if self._rest is None else self._whole.evaluations)

    def note_largest(self, c: np.ndarray) -> float:
        """Take note of correlations that were reached, and return the largest so far."""
        self.system.largest = self._whole.largest = max(self.system.largest, largest(c))
        return self.system.largest

    def rest_at_start(self, c: np.ndarray, y: np.ndarray, velocity: np.ndarray) -> RestState:
        """Return what rests from the beginning of a trajectory, where all coordinates are y (n,) with ``velocity`` (n,)."""
        nothing = RestState.nothing()
        stepped = choose_stepped(self._groups, self._chart, c, y, velocity, nothing.stepped, nothing.stepped)
        return nothing if stepped is None else RestState(stepped, y, velocity, self._whole.log_loss(c), 0.0)

    def end_of_step(self, stepper: StepperState, resting: RestState, mark: bool, escaped: bool) -> StepEnd:
        """Return where a step leads: at marks J is evaluated, and at these and after an escape all coordinates are, if some rest."""
        if self._rest is not None and (mark or escaped):
            return self._renewed(self._rest, stepper, resting)
        y = stepper.history.Z[0, : self.system.size]
        log_loss = self.system.evaluated_log_loss(y) if mark else self.system.log_loss(self.system.chart.to_c(y))
        c = self._whole.correlations(y if self._rest is None else self._rest.at(y, resting.elapsed))
        return StepEnd(resting, stepper, c, log_loss, False)

    def _renewed(self, rest: RestingCoordinates, stepper: StepperState, resting: RestState) -> StepEnd:
        """Evaluate all coordinates, correct those that rest, and choose anew which do."""
        whole, n = self._whole, self.system.size
        stepped = stepper.history.Z[0, :n]
        y = rest.at(stepped, resting.elapsed)
        velocity = whole.rate(y)
        log_loss = whole.log_loss(self._chart.to_c(y))
        corrected = rest.corrected(stepped, resting.elapsed, velocity)
        wrong = np.abs(corrected - y) > MOST_OF_ONE * whole.coarser_tolerance(y)
        before, after = Motion(resting.y, rest.of(resting.velocity)), Motion(corrected, rest.of(velocity))
        gains = 0.5 * resting.elapsed * (whole.rates(before, resting.log_loss) + whole.rates(after, log_loss))
        stepper = stepper.with_integrals(gains)
        c = whole.correlations(corrected)
        chosen = choose_stepped(self._groups, self._chart, c, corrected, velocity, np.flatnonzero(wrong), resting.stepped)
        if chosen is None or not np.array_equal(chosen, resting.stepped):
            index = np.arange(len(y)) if chosen is None else chosen
            chart = self._chart.within(index)
            steady = chart.index[chart.waiting(corrected[index])]
            stepper = stepper.for_coordinates(lookup(resting.stepped, index), corrected[index], velocity[index], steady)
        resting = RestState.nothing() if chosen is None else RestState(chosen, corrected, velocity, log_loss, 0.0)
        return StepEnd(resting, stepper, c, log_loss, True)
