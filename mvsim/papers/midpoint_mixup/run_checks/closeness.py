"""How far records are from a path that a replay takes.

Differences are measured in the coordinates y of `mvsim.flow.chart.EscapeChart`, in which correlations on their way to an escape move at
constant speed, and in units of the tolerance that the time-stepper allows in a single step
(`mvsim.flow.system.ChartedField.coarser_tolerance`).
Two runs of the same flow differ by an error of the clock, too, and the speed of an escape magnifies it: a neuron that escapes a little later is far
from where it should be. Where several escape at once each has an error of its own. So a recorded coordinate Y_i at time T is compared with all values
that the path takes at times close to T, and so is the recorded loss:

    max_i dist(Y_i, {y_i(t): |t - T| <= w (T - T_0)}) / tolerance_i,        dist(ln J, {ln J(y(t)): |t - T| <= w (T - T_0)}),

the fraction of fresh draws on which a view suffices, and that of training points that are right, likewise, with the fractions at the steps next to
those times; own correlations C_i that are dormant besides relative to their own size, because their tolerance can be as large as a third of it,

    max_i dist(C_i, {c_i(t): |t - T| <= w (T - T_0)}) / max(|c_i(T)|, s),        s = `SIZE` / sqrt(d),  a part of the size at which they start,

T_0 where the replay starts, w = `mvsim.papers.midpoint_mixup.run_checks.replay.CLOCK` rtol; or within what rounding leaves of T, if that is more. The
path is known at T itself and at the steps of the replay, between which it is taken as linear in y; it is continuous, so that it takes all values
between the least and the largest.
Late in training a state hardly moves while its loss falls as 1 / t: then the loss tells the time. A state at rest is the same at all later times,
and a record of it is right at any of them to which the replay finds it at rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from mvsim.flow import Field
from mvsim.flow.chart import EscapeChart
from mvsim.flow.system import ChartedField
from mvsim.papers.midpoint_mixup.run_checks.stretches import Waypoint, apart

DORMANT = 0.5
"""Part of the threshold of escape below which an own correlation is dormant, as recorded and on the path at all times close to the record."""

SIZE = 0.3
"""Part of 1 / sqrt(d), the standard deviation of the initial correlations, below which a difference is not measured relative to the correlation: one
that passes through 0 has no size of its own."""


class Path:
    """The coordinates in which states are compared, and the tolerances there; and which correlations are dormant, and how large at least."""

    def __init__(self, field: Field, c: np.ndarray, rtol: float, d: int) -> None:
        positions, threshold, alpha = field.escaping  # empty where there is no blow-up, so that nothing is dormant
        self._chart = EscapeChart.at(c.ravel(), positions, threshold, alpha)
        self._dormant_below = np.full(c.size, -np.inf)
        self._dormant_below[positions] = DORMANT * threshold
        self._least_size = SIZE / math.sqrt(d)
        self._system = ChartedField(field, self._chart, c.shape, rtol, float(np.abs(c).max()))

    def coordinates(self, c: np.ndarray) -> np.ndarray:
        """Return y of c."""
        return self._chart.to_y(c.ravel())

    def dormant_apart(self, y: np.ndarray, low: np.ndarray, high: np.ndarray, c: np.ndarray) -> float:
        """Return how far dormant correlations at y lie outside those from ``low`` to ``high``, at most, relative to their size at c."""
        recorded, least, most = (self._chart.to_c(at) for at in (y, low, high))
        apart = np.maximum(np.maximum(least - recorded, recorded - most), 0.0) / np.maximum(np.abs(c), self._least_size)
        return float(apart[np.maximum(recorded, most) < self._dormant_below].max(initial=0.0))

    def tolerance(self, y: np.ndarray) -> np.ndarray:
        """Return the tolerances at y."""
        return self._system.coarser_tolerance(y)


@dataclass(frozen=True, eq=False)
class Point:
    """A state of the replay: its time, its correlations and ln J; and how what takes points is measured (`measure_of`)."""

    time: float
    c: np.ndarray
    log_loss: float
    measure: Callable[[np.ndarray], np.ndarray]

    @cached_property
    def measured(self) -> np.ndarray:
        """(k V + 1 + k,): see `mvsim.papers.midpoint_mixup.run_checks.stretches.measure_of`."""
        return self.measure(self.c)


class Distance(NamedTuple):
    """How far a waypoint is from a path; infinite where the path does not come by."""

    state: float  # largest of all correlations, in units of the tolerance, of gradient descent relative to the largest correlation
    dormant: float  # of dormant own correlations, each relative to its own size
    loss: float  # of ln J, as it is
    features: float  # of the fractions of fresh draws on which a view suffices
    accuracy: float  # of the fraction of training points that are right
    margin: float  # of the least margins of the classes, relative to 1 + |margin|

    @staticmethod
    def astray() -> Distance:
        """Return that of what was not met."""
        return Distance(*[math.inf] * len(Distance._fields))


@dataclass(eq=False)
class Met:
    """A waypoint that the replay has to come to, and what the path goes through at times close to it."""

    waypoint: Waypoint  # as the file has it
    window: float  # how far from its time times are close
    low: np.ndarray | None = None  # (n,) least and largest coordinates of the path; None before there are any
    high: np.ndarray | None = None
    least: float = math.inf  # the same of ln J
    most: float = -math.inf
    lowest: np.ndarray | float = math.inf  # the same of what takes points
    highest: np.ndarray | float = -math.inf
    c: np.ndarray | None = None  # correlations of the path, the last that were close

    def compare(self, path: Path, before: Point, after: Point) -> None:
        """Take note of the part of one step that is close in time."""
        first, last = self.waypoint.time - self.window, self.waypoint.time + self.window
        if before.time > last or after.time < first:
            return
        length = max(after.time - before.time, 1e-300)
        start, end = path.coordinates(before.c), path.coordinates(after.c)
        for bound in (first, last):
            part = min(max((bound - before.time) / length, 0.0), 1.0)
            y, log_loss = start + part * (end - start), _between(before.log_loss, after.log_loss, part)
            self.low = y if self.low is None else np.minimum(self.low, y)
            self.high = y if self.high is None else np.maximum(self.high, y)
            self.least, self.most = min(self.least, log_loss), max(self.most, log_loss)
        for point in (before, after):
            self.lowest, self.highest = np.minimum(self.lowest, point.measured), np.maximum(self.highest, point.measured)
        self.c = after.c

    def distance(self, path: Path) -> Distance:
        """Return how far the waypoint is from the path."""
        if self.c is None or self.low is None or self.high is None:
            return Distance.astray()
        waypoint = self.waypoint
        # What was not recorded is as on the path.
        y = path.coordinates(completed(self.c, waypoint.own, waypoint.whole))
        tolerance = np.maximum(path.tolerance(y), path.tolerance(path.coordinates(self.c)))
        known = np.ones(y.shape, dtype=bool) if waypoint.whole is not None else _is_own(self.c).ravel()
        state = (_outside(y, self.low, self.high) / tolerance)[known].max(initial=0.0)
        loss = float(_outside(waypoint.log_loss, self.least, self.most)) if math.isfinite(waypoint.log_loss) else 0.0
        measured = apart(_outside(waypoint.measured, self.lowest, self.highest), waypoint.measured, len(self.c))
        return Distance(float(state), path.dormant_apart(y, self.low, self.high, self.c.ravel()), loss, *measured)


def _outside(value: np.ndarray | float, low: np.ndarray | float, high: np.ndarray | float) -> np.ndarray:
    return np.asarray(np.maximum(np.maximum(low - value, value - high), 0.0))


def _between(before: float, after: float, part: float) -> float:
    """Return a value between two, either of which may be -inf."""
    return before if part == 0.0 else after if part == 1.0 else before + part * (after - before)


def _is_own(c: np.ndarray) -> np.ndarray:
    """Return (k, m, k, V) bool: which correlations are own ones."""
    own, classes = np.zeros(c.shape, dtype=bool), np.arange(len(c))
    own[classes, :, classes] = True
    return own


def completed(c: np.ndarray, own: np.ndarray, whole: np.ndarray | None) -> np.ndarray:
    """Return the recorded correlations; where only the own ones were recorded, all others are those of c."""
    if whole is not None:
        return whole
    recorded, classes = c.copy(), np.arange(len(c))
    recorded[classes, :, classes] = own
    return recorded
