"""What a trajectory steps: all coordinates, or some of them while the others rest."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from mvsim.flow.base import Field
from mvsim.flow.chart import EscapeChart
from mvsim.flow.error_size import MOST_OF_ONE
from mvsim.flow.interface import Motion
from mvsim.flow.resting import Rest, Resting, chosen
from mvsim.flow.stepper_state import StepperState, laid_out
from mvsim.flow.system import ChartedField
from mvsim.numerics.namespaces import namespace_of
from mvsim.numerics.primitives import primitives_of
from mvsim.numerics.vectors import flat, integers_like, largest, like, same_entries


class Arrival(NamedTuple):
    """What is known at the end of a step.

    Attributes
    ----------
    resting : Resting
        Which are stepped from now on.
    stepper : StepperState
        Where the stepper of these is.
    c : array
        The correlations, in their own shape.
    log_loss : float
        ln J.
    renewed : bool
        Whether the system that is stepped is another one from now on.
    """

    resting: Resting
    stepper: StepperState
    c: Any
    log_loss: float
    renewed: bool


class Followed:
    """The system that is stepped, and all coordinates as they follow from its own.

    Parameters
    ----------
    field : Field
        What is followed.
    chart : EscapeChart
        The chart of all coordinates.
    resting : Resting
        Which of them are stepped.
    shape : tuple of int
        Shape of c.
    rtol : float
        Relative tolerance.
    reach : float
        Largest correlation seen so far.

    Attributes
    ----------
    system : ChartedField
        What is stepped.
    """

    def __init__(self, field: Field, chart: EscapeChart, resting: Resting, shape: tuple[int, ...], rtol: float, reach: float) -> None:
        self._groups, self._chart = field.groups, chart
        self._whole = ChartedField(field, chart, shape, rtol, reach)
        self.system, self._rest = self._whole, None
        if resting.some:
            assert field.groups is not None
            some = field.groups.field(self._whole.correlations(resting.y), resting.stepped)
            stepped = resting.stepped
            self.system = ChartedField(some, chart.within(stepped), stepped.shape, rtol, reach, self._whole.neuron[stepped])
            self._rest = Rest(resting, chart, field.groups.alike)

    @property
    def rests(self) -> bool:
        """Whether some coordinates rest."""
        return self._rest is not None

    @property
    def evaluations(self) -> int:
        """Gradients evaluated, those of some coordinates counted as those of all."""
        return self.system.evaluations + (self._whole.evaluations if self.rests else 0)

    def saw(self, c: Any) -> float:
        """Take note of correlations that were reached, and return the largest so far."""
        self.system.largest = self._whole.largest = max(self.system.largest, largest(flat(c)))
        return self.system.largest

    def started(self, c: Any, y: Any, velocity: Any) -> Resting:
        """Return what rests from the beginning of a trajectory, where all coordinates are y (n,) with ``velocity`` (n,)."""
        nothing = Resting.nothing(y)
        stepped = chosen(self._groups, self._chart, c, y, velocity, nothing.stepped, nothing.stepped)
        return nothing if stepped is None else Resting(stepped, y, velocity, self._whole.log_loss(flat(c)), 0.0)

    def arrived(self, stepper: StepperState, resting: Resting, mark: bool, escaped: bool) -> Arrival:
        """Return where a step leads: at marks J is evaluated, and at these and after an escape all coordinates are, if some rest."""
        if self._rest is not None and (mark or escaped):
            return self._renewed(self._rest, stepper, resting)
        y = stepper.history.Z[0, : self.system.size]
        log_loss = self.system.evaluated_log_loss(y) if mark else self.system.log_loss(self.system.chart.to_c(y))
        c = self._whole.correlations(y if self._rest is None else self._rest.at(y, resting.elapsed))
        return Arrival(resting, stepper, c, log_loss, False)

    def _renewed(self, rest: Rest, stepper: StepperState, resting: Resting) -> Arrival:
        """Evaluate all coordinates, correct those that rest, and choose anew which do."""
        whole, n = self._whole, self.system.size
        stepped = stepper.history.Z[0, :n]
        y = rest.at(stepped, resting.elapsed)
        velocity = whole.rate(y)
        log_loss = whole.log_loss(self._chart.to_c(y))
        corrected = rest.corrected(stepped, resting.elapsed, velocity)
        wrong = namespace_of(y).abs(corrected - y) > MOST_OF_ONE * whole.coarser_tolerance(y)
        before, after = Motion(resting.y, rest.of(resting.velocity)), Motion(corrected, rest.of(velocity))
        gains = 0.5 * resting.elapsed * (whole.rates(before, resting.log_loss) + whole.rates(after, log_loss))
        stepper = _gained(stepper, gains, n)
        c = whole.correlations(corrected)
        now = chosen(self._groups, self._chart, c, corrected, velocity, namespace_of(y).nonzero(wrong)[0], resting.stepped)
        everything = integers_like(y.shape[0], y)
        if now is None or not same_entries(now, resting.stepped):
            index = everything if now is None else now
            at = primitives_of(y).lookup(resting.stepped, index)
            steady = self._chart.within(index)
            stepper = laid_out(stepper, at, corrected[index], velocity[index], steady.index[steady.waiting(corrected[index])])
        resting = Resting.nothing(y) if now is None else Resting(now, corrected, velocity, log_loss, 0.0)
        return Arrival(resting, stepper, c, log_loss, True)


def _gained(stepper: StepperState, gains: np.ndarray, n: int) -> StepperState:
    """Return the state with gains (2,) added to the integrals, which stand behind n coordinates."""
    history = stepper.history
    xp, Z = namespace_of(history.Z), history.Z
    first = xp.concat([Z[0, :n], Z[0, n:] + like(gains, Z)])
    return replace(stepper, history=replace(history, Z=xp.concat([first[None, :], Z[1:, :]])))
