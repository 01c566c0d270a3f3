"""Between escapes: one step over most of the time to the next one.

Once the forces K on what escapes next drift by less than a small part while the time since the last event grows e-fold, nothing happens until the
next predicted escape, at te, but that clocks run and stiff neurons follow their balance. Then one step H = `PART` te of backward Euler takes stiff
neurons there, relaxed once more at the end, and clocks go on by H K0. The force at the end, K1, is the test: with the mean of both the clocks
are right to second order, and a clock is wrong by at most H |K1 - K0| / 2K. What that adds to the error of the next escape is at most

    H |K1 - K0| / (2 max(K0, K1)),

relative to the time of the escape. A jump is taken back and halved if this is above its bound, if an own correlation comes up unpredicted,
if the pace of one that others carry changes too much, if one of a stiff neuron moves otherwise than its velocities at both ends say, or if the
jump is longer than what grows takes to grow (`mvsim.flow.growth`). An accepted jump is the past of the next step: a restart costs more than the jump.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mvsim.base.errors import DivergedError
from mvsim.flow.forecast import CARRIED, Forecast
from mvsim.flow.large_step import LEAST_OWN, LargeSteps, Past
from mvsim.flow.moment import Moment, carried_on
from mvsim.flow.proximal_newton import minimise
from mvsim.flow.stiff_neurons import StiffNeurons

PART = 0.85
"""Part of the time to the next escape that a jump takes."""

SHORTEST, LONGEST = 4.0, 300.0
"""A jump is worth its price if it is so many steps long, and believed up to so many."""

DRIFT = 0.01
"""Largest relative change of a force while the time since the last event grows e-fold."""

PROMISED = 0.003
"""Largest error of the time of an escape that one jump may make."""

HALVED = 2
"""How often a jump is tried again with half its size."""

MOTION = 0.05
"""Largest difference between the motion of an own correlation and what its velocities say, relative to it or to `LEAST_OWN` of its threshold.
At k = 50 the second view of class 10 escapes in the neuron of the first: with 0.3 it is 3 % late."""

RISE = 0.15
"""Part of its threshold by which an own correlation may come up without being predicted."""

MOST_RISE = 1e-4
"""Part of itself by which the loss may rise in a jump; along the flow it never rises."""

RELAXED = 0.01
"""Part of the jump that stiff neurons relax for at its end."""

ITERATIONS, RELAXATIONS = 6, 3
"""Iterations of Newton's method in the jump, and in that."""


class Jump(NamedTuple):
    """An accepted jump: its end, its size, whether it was halved, and the error of each clock (n,), a time."""

    end: Moment
    h: float
    halved: bool
    errors: np.ndarray


class Jumps:
    """Tries jumps.

    Parameters
    ----------
    steps : LargeSteps
        What is stepped, and how.
    """

    def __init__(self, steps: LargeSteps) -> None:
        self._steps, self._layout, self._chart = steps, steps.layout, steps.chart
        self.refused = self.needs_mark = False

    def attempt(
        self, stiff: StiffNeurons, now: Moment, past: Past, h: float, forecast: Forecast, learned: np.ndarray, time: float, since: float, fresh: bool
    ) -> Jump | None:
        """Return a jump from ``now``, None if none can be promised; a jump to an escape starts at a mark, where the speeds of all clocks are known.

        Parameters
        ----------
        stiff, now, past, forecast, learned
            As for a step.
        h : float
            Size of the next step.
        time, since : float
            Time, and that since something last happened.
        fresh : bool
            Whether this is a mark; if it is not and a jump can be promised, `needs_mark` is set.
        """
        self.refused, te = False, float(forecast.times.min(initial=np.inf))
        if te == np.inf or learned.all():
            return None
        wanted = PART * te
        size = min(wanted, self._carried_time(stiff, now, learned))
        if not SHORTEST * h < size < np.inf or size < 0.05 * wanted or wanted > LONGEST * h:
            return None
        leads = self._leads(stiff, now, past, forecast, learned, te, size)
        begun = leads.force(now)
        elapsed = np.log(since / (since - past.h)) if since > past.h else np.inf
        drift = np.abs(begun / leads.force(past.moment) - 1.0) * leads.weight
        if elapsed > 5.0 or float(drift.max(initial=0.0)) > DRIFT * min(elapsed, 1.0):
            return None
        if not fresh:
            self.needs_mark = True
            return None
        for _ in range(HALVED + 1):
            if not size > SHORTEST * h:
                return None
            jump = self._jump(stiff, now, size, leads, begun, forecast, learned, time + te, te)
            if jump is not None:
                return jump._replace(halved=size < 0.7 * wanted)
            self.refused = True
            size *= 0.5
        return None

    def _carried_time(self, stiff: StiffNeurons, now: Moment, learned: np.ndarray) -> float:
        """Return half of the time that an own correlation which others carry takes to come up."""
        own = self._unpredicted(stiff, now.c, learned)
        own = own[now.v[own] > 0.0]
        return 0.5 * float(((CARRIED * self._layout.threshold[own] - now.c[own]) / now.v[own]).min(initial=np.inf))

    def _own(self, stiff: StiffNeurons, learned: np.ndarray) -> np.ndarray:
        """Return the own correlations without a clock of their own, of views that have not escaped."""
        layout = self._layout
        return layout.own[(stiff.mask | ~self._steps.charted)[layout.own] & ~learned[layout.view[layout.own]]]

    def _unpredicted(self, stiff: StiffNeurons, c: np.ndarray, learned: np.ndarray) -> np.ndarray:
        own = self._own(stiff, learned)
        return own[c[own] <= CARRIED * self._layout.threshold[own]]

    def _leads(self, stiff: StiffNeurons, now: Moment, past: Past, forecast: Forecast, learned: np.ndarray, te: float, size: float) -> Leads:
        """Return what the jump is judged by: the escapes to come, and own correlations that others carry or that drift slowly."""
        layout, b = self._layout, self._layout.threshold
        soon = forecast.times < 1e4 * te
        index, free, times = forecast.index[soon], forecast.is_free[soon], forecast.times[soon]
        others = np.setdiff1d(self._own(stiff, learned), forecast.index)
        steady = np.abs(past.moment.v[others] / np.where(now.v[others] == 0.0, np.inf, now.v[others]) - 1.0)
        x, v = now.c[others], now.v[others]
        carried = (x <= CARRIED * b[others]) & (x > -2.0 * b[others]) & (v > 0.0) & (_time_up(x, b[others]) < 3.0 * te * v) & (steady < 0.5)
        slow = ~carried & stiff.mask[others] & (v != 0.0) & (steady < 0.2) & (np.abs(v) * size < 300.0 * b[others])
        moving = np.concatenate([others[carried], others[slow]])
        open_class = layout.is_open(learned)
        judged = np.concatenate([times < 3.0 * te, np.ones(int(carried.sum()), bool), np.zeros(int(slow.sum()), bool)])
        index = np.concatenate([index, moving])
        weight = judged * np.where(open_class[index], 1.0, 0.01)
        kind = np.concatenate([np.where(free, 0, 1), np.full(moving.size, 2)])
        return Leads(self._steps, index, kind, weight)

    def _jump(
        self,
        stiff: StiffNeurons,
        now: Moment,
        size: float,
        leads: Leads,
        begun: np.ndarray,
        forecast: Forecast,
        learned: np.ndarray,
        until: float,
        te: float,
    ) -> Jump | None:
        """Return a jump of this size if it keeps its promises."""
        layout, S = self._layout, stiff.index
        predicted = np.where(stiff.mask, now.c, carried_on(layout, self._chart, now, now.w, size, learned))
        predicted[leads.held] = leads.moved(now.c, begun, size)
        if S.size:
            x = self._relaxed(stiff, now, size)
            if x is None:
                return None
            stiff.forget()
            held = predicted[leads.held]
            predicted[S] = x
            predicted[leads.held] = held
        try:
            _, gradient = self._steps.gradient(predicted)
        except DivergedError:
            return None
        there = Moment(self._chart, predicted, -gradient)
        ended = leads.force(there)
        largest = np.maximum(np.maximum(np.abs(begun), np.abs(ended)), 1e-300)
        wrong = 0.5 * size * np.abs(ended - begun) / largest
        if float((wrong * leads.weight).max(initial=0.0)) > PROMISED * until:
            return None
        if self._surprises(stiff, now, there, size, forecast, learned, until, te):
            return None
        mean = 0.5 * (begun + ended)
        on_chart = self._steps.charted & ~stiff.mask
        u = np.where(on_chart, now.u + 0.5 * size * (now.w + there.w), there.u)
        c = np.where(on_chart, self._chart.to_c(u), predicted)
        c[leads.held] = leads.moved(now.c, mean, size)
        v = np.where(stiff.mask, (c - now.c) / size, there.w / self._chart.slope(c))
        v[leads.held] = leads.velocity(c, ended)
        try:
            if self._steps.gradient(c)[0] > (1.0 + MOST_RISE) * self._steps.gradient(now.c)[0]:
                return None
        except DivergedError:
            return None
        errors = np.zeros(layout.size)
        errors[leads.index] = wrong
        return Jump(Moment(self._chart, c, v), size, False, errors)

    def _relaxed(self, stiff: StiffNeurons, now: Moment, size: float) -> np.ndarray | None:
        """Return stiff neurons (s,) after a jump to the next escape, roughly."""
        S, accuracy = stiff.index, self._steps.accuracy(stiff, now.c)._replace(rms=0.02, own_error=0.02 * 0.05, iterations=ITERATIONS)
        try:
            x = minimise(stiff, now.c, now.c[S], now.c[S], size, accuracy).x
            return minimise(stiff, now.c, x, x, RELAXED * size, accuracy._replace(iterations=RELAXATIONS)).x
        except np.linalg.LinAlgError:
            return None

    def _surprises(
        self, stiff: StiffNeurons, now: Moment, there: Moment, size: float, forecast: Forecast, learned: np.ndarray, until: float, te: float
    ) -> bool:
        """Whether something has come up, or is about to, that was not predicted."""
        layout, b = self._layout, self._layout.threshold
        if (~learned & (layout.largest_own(there.c) > layout.of_views) & (layout.largest_own(now.c) < layout.of_views)).any():
            return True
        own = self._own(stiff, learned)
        x0, x1, v0, v1 = now.c[own], there.c[own], now.v[own], there.v[own]
        if (x1 - np.maximum(x0, 0.0) > RISE * b[own]).any():
            return True
        soon = (v1 > 0.0) & (x1 < b[own]) & (x1 > -2.0 * b[own]) & ~np.isin(own, forecast.index)
        soon &= np.abs(_time_up(x1, b[own])) < 3.0 * te * v1
        if (np.abs(1.0 - v0[soon] / v1[soon]) * size / 2.0 > 3.0 * PROMISED * until).any():
            return True
        in_stiff = stiff.mask[own]
        scale = np.maximum(np.maximum(np.abs(x0), np.abs(x1)), LEAST_OWN * b[own])
        of_class = layout.largest_own(now.c).reshape(layout.shape[0], -1).max(axis=1)[layout.label[own]]
        scale = np.where(np.minimum(x0, x1) < -10.0 * b[own], np.maximum(scale, 0.2 * of_class), scale)
        if (in_stiff & (np.abs(x1 - x0 - 0.5 * size * (v0 + v1)) > MOTION * scale)).any():
            return True
        end = Moment(self._chart, there.c, np.where(stiff.mask, (there.c - now.c) / size, there.v))
        return self._steps.outgrown(stiff, now, end, size, learned)


def _time_up(x: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return (a,): way of carried correlations to where their escapes are predicted."""
    return np.minimum(CARRIED * b - x, np.where(x > 0.02 * b, x / 6.0, np.inf))


class Leads:
    """The coordinates that a jump is judged by.

    Parameters
    ----------
    steps : LargeSteps
        What they are coordinates of.
    index : numpy.ndarray
        (a,) which.
    kind : numpy.ndarray
        (a,) 0 on the chart, 1 by their own law, 2 moved by others: their correlations themselves move at constant speed.
    weight : numpy.ndarray
        (a,) how much of their error counts.
    """

    def __init__(self, steps: LargeSteps, index: np.ndarray, kind: np.ndarray, weight: np.ndarray) -> None:
        self.index, self.weight, self._kind = index, weight, kind
        self._law = steps.layout.law(index)
        self._free, self._straight = kind == 0, kind == 2
        self.held = index[~self._free]
        self._held_law, self._held_straight = steps.layout.law(self.held), self._straight[~self._free]

    def force(self, at: Moment) -> np.ndarray:
        """Return (a,): K, or the velocity of what is moved by others."""
        law = np.where(self._straight, 1.0, self._law.slope(at.c[self.index])) * at.v[self.index]
        return np.where(self._free, at.w[self.index], law)

    def moved(self, c: np.ndarray, force: np.ndarray, size: float) -> np.ndarray:
        """Return where those that are not on the chart are after a time with constant forces."""
        x, by = c[self.held], size * force[~self._free]
        return np.where(self._held_straight, x + by, self._held_law.to_c(self._held_law.to_y(x) + by))

    def velocity(self, c: np.ndarray, force: np.ndarray) -> np.ndarray:
        """Return their velocities under forces."""
        return force[~self._free] / np.where(self._held_straight, 1.0, self._held_law.slope(c[self.held]))
