"""The neurons that are stepped between two marks; all others wait.

Of the m neurons of a class one or two escape for each view, and while one class escapes the clocks of all others (`mvsim.flow.escapes`) run at
constant speed. So only these neurons are stepped:

- the stiff ones;
- those that are soon to escape, or have an own correlation that grows because others of the neuron push it and that is soon to escape;
- the first to escape with another view of a class of which one view has escaped, which has changed the force on them;
- the next few to escape, however late: how the forces on them change tells when the next mark is due.

They make a field of their own, whose gradient leaves out all others.

The clock of a neuron that waits runs at the speed w0 that it had at the mark. At the next mark, a time H later, a whole gradient gives its speed
w1, and the clock is set to where the mean of both speeds takes it. That is right to second order in H, and wrong by at most H |w1 - w0| / 2. The
next mark comes before H is more than a small part of the time to the first escape of a neuron that waits, and earlier where forces have changed:
with few classes one escape changes the forces on all other classes much.
"""

from __future__ import annotations

import numpy as np

from mvsim.flow.base import Field
from mvsim.flow.chart import EscapeChart
from mvsim.flow.forecast import CARRIED, Forecast, forecast_of
from mvsim.flow.large_step import Equation, LargeSteps, Past, Step
from mvsim.flow.layout import Layout
from mvsim.flow.moment import Moment, carried_on
from mvsim.flow.proximal_newton import minimise
from mvsim.flow.stiff_neurons import StiffNeurons, stiff_neurons
from mvsim.numerics.indexing import with_entries

SOON, NEAR = 20.0, 0.01
"""A neuron is stepped if it escapes within so many times the time to the next escape, or within such a part of the time since the start."""

RIVALS = 1.3
"""The force on all neurons of a view is the same, so that the first to escape stays the first: others count only if they take at most so many times
as long."""

UNIMPORTANT, OFF = 10.0, 5.0
"""Times to an escape count as so many times longer: `UNIMPORTANT` in a class of which all views have escaped, where little depends on what escapes
next, and `OFF` of off-diagonal correlations, which matter only if they escape before an own one."""

PROBES, CHANGED = 3, 0.1
"""The next `PROBES` own correlations to escape are stepped in any case. Once the force on one of them has changed by the part `CHANGED` a mark is
made, if the change has lasted for `LONGEST`; a larger change makes it earlier in proportion."""

LONGEST = 1.0 / SOON
"""Longest time between two marks, as a part of that to the first escape of a neuron that waits."""


class Stage:
    """What is stepped from a mark on.

    Parameters
    ----------
    field, layout, chart
        Those of all neurons.
    now : Moment
        The mark.
    past : Past, optional
        The step before it.
    time : float
        Of the mark, since the start.
    tolerance : float
        Relative error of the time to an escape that one step may make.
    """

    def __init__(self, field: Field, layout: Layout, chart: EscapeChart, now: Moment, past: Past | None, time: float, tolerance: float) -> None:
        assert field.few is not None
        self._field, self._whole, self._chart, self._begun = field, layout, chart, now
        self._learned = layout.learned(now.c)
        charted = np.zeros(layout.size, bool)
        charted[chart.index] = True
        stiff = stiff_neurons(layout, now.c)
        mask = np.repeat(stiff, layout.features)
        forecast = forecast_of(layout, mask, now, past and past.moment, charted, self._learned)
        index, times = self._rivals(forecast)
        chosen = self._chosen(stiff, mask, charted, index, times, time)
        waits = ~chosen[layout.neuron[index]]
        self._longest = LONGEST * float(times[waits].min(initial=np.inf))
        view = np.where(layout.is_own[index], layout.view[index], -1)
        self._views_wait = np.setdiff1d(view[waits], [-1, *view[~waits]]).size > 0

        by_class = chosen.reshape(layout.shape[:2])
        count = int(by_class.sum(axis=1).max())
        neurons = np.argsort(~by_class, axis=1, stable=True)[:, :count]
        neurons = np.where(np.take_along_axis(by_class, neurons, axis=1), neurons, -1)
        y, e = np.nonzero(neurons >= 0)
        features = np.arange(layout.features)
        self.index = (layout.features * (layout.shape[1] * y + neurons[y, e])[:, None] + features).ravel()
        self._place = (layout.features * (count * y + e)[:, None] + features).ravel()
        few = field.few(now.c.reshape(layout.shape), neurons)
        self.layout = Layout((layout.shape[0], count, *layout.shape[2:]), few.escaping)
        place = np.full(layout.size, -1)
        place[self.index] = self._place
        inside = place[chart.index] >= 0
        self.chart = EscapeChart(place[chart.index][inside], chart.floor[inside], chart.threshold[inside], chart.alpha)
        self.now = self._restricted(now)
        self.past = past and Past(self._restricted(past.moment), past.h)
        self.stiff = StiffNeurons(few, self.layout, self.now.c)
        self.steps = LargeSteps(few, self.layout, self.chart, tolerance)
        self._probes = self.chart.index[~self.stiff.mask[self.chart.index] & self.layout.is_own[self.chart.index]]
        self._speeds = self.now.w[self._probes]
        self._elapsed, self._whole_gradients = 0.0, 0
        self._equation: Equation | None = None

    def _rivals(self, forecast: Forecast) -> tuple[np.ndarray, np.ndarray]:
        """Return the escapes that matter and their times, (a,) each, of each view the first alone and those that are as close."""
        view, is_own = self._whole.view[forecast.index], self._whole.is_own[forecast.index]
        first = np.full(self._whole.of_views.size, np.inf)
        np.minimum.at(first, view[is_own], forecast.times[is_own])
        rivals = ~is_own | (forecast.times <= RIVALS * first[view])
        index = forecast.index[rivals]
        longer = np.where(self._whole.is_open(self._learned)[index], 1.0, UNIMPORTANT) * np.where(self._whole.is_own[index], 1.0, OFF)
        return index, forecast.times[rivals] * longer

    def _chosen(self, stiff: np.ndarray, mask: np.ndarray, charted: np.ndarray, index: np.ndarray, times: np.ndarray, time: float) -> np.ndarray:
        """Return (k m,) bool: the neurons that are stepped."""
        layout, now = self._whole, self._begun
        chosen, te = stiff.copy(), float(times.min(initial=np.inf))
        horizon = max(SOON * te, NEAR * time)
        half_open = np.zeros(layout.shape[0], bool)
        half_open[layout.label[layout.is_open(self._learned) & mask]] = True
        chosen[layout.neuron[index[(times <= horizon) | (half_open[layout.label[index]] & layout.is_own[index])]]] = True
        rising = layout.own[(~charted & ~mask & (now.v > 0.0) & (now.c < layout.threshold))[layout.own] & ~self._learned[layout.view[layout.own]]]
        chosen[layout.neuron[rising[CARRIED * layout.threshold[rising] - now.c[rising] < horizon * now.v[rising]]]] = True
        own = index[layout.is_own[index]]
        chosen[layout.neuron[own[times[layout.is_own[index]].argsort()[:PROBES]]]] = True
        if not chosen.any():
            chosen[layout.neuron[now.c.argmax()]] = True
        return chosen

    def _restricted(self, moment: Moment) -> Moment:
        c, v = np.zeros((2, self.layout.size))
        c[self._place], v[self._place] = moment.c[self.index], moment.v[self.index]
        return Moment(self.chart, c, v)

    def spent(self) -> int:
        """Return how many gradients have been evaluated since this was asked for last."""
        total = self.steps.gradients + self.stiff.gradients + self._whole_gradients
        self.steps.gradients = self.stiff.gradients = self._whole_gradients = 0
        return total

    @property
    def c(self) -> np.ndarray:
        """(n,) all correlations: now of neurons that are stepped, at the mark of those that wait."""
        return self._with(self._begun.c, self.now.c)

    def go_on(self, step: Step, h: float) -> None:
        """Note a step and its size."""
        assert step.end is not None
        self._equation = step.equation
        self.past, self.now, self._elapsed = Past(self.now, h), step.end, self._elapsed + h
        self.stiff.age += 1

    @property
    def left(self) -> float:
        """The time that is left to the next mark."""
        return self._longest - self._elapsed

    @property
    def is_over(self) -> bool:
        """Whether half of the time is over, or clocks of views that wait may be wrong by too much because forces have changed."""
        late = self.left < 0.5 * self._longest
        if late or not self._views_wait:
            return late
        w, begun = self.now.w[self._probes], self._speeds
        waits = self.now.u[self._probes] < self.layout.threshold[self._probes]
        changed = self._elapsed * np.abs(w - begun) > CHANGED * self._longest * np.maximum(np.abs(w), np.abs(begun))
        return bool((waits & changed).any())

    def finished(self) -> tuple[Moment, Past, np.ndarray]:
        """Return the next mark, the step before it, and by how much clocks (n,) of neurons that wait may be wrong, as a time."""
        assert self.past is not None
        begun, chart, elapsed, waits = self._begun, self._chart, self._elapsed, np.ones(self._whole.size, bool)
        waits[self.index] = False
        c = self._with(carried_on(self._whole, chart, begun, begun.w, elapsed, self._learned), self.now.c)
        self._whole_gradients += 1
        w = -self._field.loss_and_gradient(0, c.reshape(self._whole.shape))[1].ravel() * chart.slope(c)
        c = self._with(carried_on(self._whole, chart, begun, 0.5 * (begun.w + w), elapsed, self._learned), self.now.c)
        now = Moment(chart, c, self._with(w / chart.slope(c), self.now.v))
        u = now.u - self.past.h * w
        before = np.where(waits, chart.to_c(u), c)
        past = Moment(chart, self._with(before, self.past.moment.c), self._with(w / chart.slope(before), self.past.moment.v))
        wrong = 0.5 * elapsed * np.abs(w - begun.w) / np.maximum(np.maximum(np.abs(w), np.abs(begun.w)), 1e-300)
        return now, Past(past, self.past.h), np.where(waits, wrong, 0.0)

    def settle(self) -> None:
        """Solve the equation of the last step again, more accurately."""
        S = self.stiff.index
        if self._equation is None or not S.size:
            return
        target, gamma = self._equation
        try:
            solution = minimise(self.stiff, self.now.c, self.now.c[S], target[S], gamma, self.steps.fine_accuracy(self.stiff, self.now.c))
        except np.linalg.LinAlgError:
            return
        c = with_entries(self.now.c, S, solution.x)  # nearer to the solution even if that was not reached
        self.now = Moment(self.chart, c, np.where(self.stiff.mask, (c - target) / gamma, self.now.v))

    def _with(self, c: np.ndarray, few: np.ndarray) -> np.ndarray:
        return with_entries(c, self.index, few[self._place])
