"""In large networks two of the neurons of each class and view that wait for their escape are integrated, besides all that can be stiff.

The others ("resting") are extrapolated from one of the two (the "guide") and corrected at marks. Most neurons never escape, and until they would, all
those of one view move alike.

While outputs are near 0 an own correlation obeys x' = K (x / b)^(alpha - 1), on the chart y' = K, with the same K for all neurons of a class and
view, but for what little they read of noise. Later K changes with the softmax, for all of them at once. So it is enough to step of each view the
two neurons that are closest to their threshold, and every neuron that can be stiff. From time to time all are evaluated. Let y_0, v_0 be where a
resting coordinate was when they were last, and its velocity; g the second of its view that is to escape, its guide. Until the next time

    y = y_0 + (v_0 / v_0^g) (y^g - y_0^g)          (own correlations, as their guide moves: all of what K does is in it)
    y = y_0 + v_0 t                                (all other coordinates, at constant speed)

and then, with the velocities v_1 found there, y is corrected: with the means of both velocities in the place of the first. What the correction
changes is an estimate of the error without it. A neuron for which it is larger than a step may err is stepped next; no step is refused for it.

What noise carries does not move as its view does: far below the threshold it crosses the chart at many times the speed. So a coordinate follows its
guide only where both have the same speed to within a factor of `ALIKE`. If the second is faster than the first by more, the first is the guide.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from mvsim.flow.base import Groups
from mvsim.flow.chart import EscapeChart
from mvsim.numerics.indexing import entries, lookup, with_entries

LEAST = 30_000
"""Coordinates from which on it is worth while that some rest. At k = 20, with 16,000, a step costs no less for it."""

LEADING = 2
"""Coordinates of those that grow alike that are stepped: the next to escape, and the one after it, which guides the others."""

ALIKE = 2.0
"""Factor between the speeds of a coordinate and of its guide within which it moves as the guide does."""


@dataclass(frozen=True, eq=False)
class RestState:
    """Which coordinates are stepped, and where all were when all were last evaluated."""

    stepped: np.ndarray  # (a,) increasing: the coordinates that are stepped; empty if none rests
    y: np.ndarray  # y, velocity: (n,) each, empty if none rests
    velocity: np.ndarray
    log_loss: float  # ln J there
    elapsed: float  # Time since

    @staticmethod
    def nothing() -> RestState:
        """Return a state in which no coordinate rests."""
        return RestState(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0), 0.0, 0.0)

    @property
    def any(self) -> bool:
        """Whether any coordinate rests."""
        return bool(len(self.stepped))

    def after(self, time: float) -> RestState:
        """Return a copy with ``elapsed`` increased by ``time``."""
        return replace(self, elapsed=self.elapsed + time)


class RestingCoordinates:
    """The coordinates that rest, as they follow from those that are stepped."""

    def __init__(self, state: RestState, chart: EscapeChart, alike: np.ndarray) -> None:
        self._state = state
        lead = next_to_escape(state.y, state.velocity, chart, alike)
        speeds = entries(state.velocity, lead)
        second = (lead[:, -1] >= 0) & (speeds[:, -1] <= ALIKE * speeds[:, 0])
        guide = np.where(second, lead[:, -1], lead[:, 0])
        self._guide, self._rows = guide[guide >= 0], alike[guide >= 0]
        self._guide_among_stepped = lookup(state.stepped, self._guide)
        self._on_chart = with_entries(np.zeros(len(state.y), dtype=bool), chart.index, chart.waiting(state.y))[self._rows]

    def at(self, stepped: np.ndarray, elapsed: float) -> np.ndarray:
        """Return (n,): all coordinates, of which some are ``stepped`` (a,), so long after all were evaluated."""
        return self._extrapolated(stepped, elapsed, self._state.velocity)

    def corrected(self, stepped: np.ndarray, elapsed: float, velocity: np.ndarray) -> np.ndarray:
        """Return the same once the velocities (n,) there are known."""
        return self._extrapolated(stepped, elapsed, 0.5 * (self._state.velocity + velocity))

    def of(self, v: np.ndarray) -> np.ndarray:
        """Return v (n,) with 0 for the coordinates that are stepped."""
        return with_entries(v, self._state.stepped, 0.0 * v[self._state.stepped])

    def _extrapolated(self, stepped: np.ndarray, elapsed: float, velocity: np.ndarray) -> np.ndarray:
        start = self._state.y
        y, speed, speeds = start + elapsed * velocity, velocity[self._guide], velocity[self._rows]
        moving = speed > 0.0
        time = (stepped[self._guide_among_stepped] - start[self._guide]) / np.where(moving, speed, 1.0)
        alike = (speeds <= ALIKE * speed[:, None]) & (speed[:, None] <= ALIKE * speeds)
        rows = start[self._rows] + speeds * time[:, None]
        y[self._rows] = np.where(self._on_chart & alike & moving[:, None], rows, y[self._rows])
        y[self._state.stepped] = stepped
        return y


def next_to_escape(y: np.ndarray, velocity: np.ndarray, chart: EscapeChart, alike: np.ndarray) -> np.ndarray:
    """Return (g, `LEADING`) or less: of each row of ``alike`` (g, p) the coordinates that are next to escape at y (n,), -1 for none."""
    to_go, speed = chart.threshold - y[chart.index], velocity[chart.index]
    coming = chart.waiting(y) & (speed > 0.0)
    with np.errstate(over="ignore"):  # beyond any time
        times = np.where(coming, to_go / np.where(coming, speed, 1.0), math.inf)
    times = with_entries(np.full_like(y, math.inf), chart.index, times)[alike]
    first = np.argsort(times, axis=1, stable=True)[:, :LEADING]
    return np.where(np.isfinite(np.take_along_axis(times, first, axis=1)), np.take_along_axis(alike, first, axis=1), -1)


def choose_stepped(
    groups: Groups | None, chart: EscapeChart, c: np.ndarray, y: np.ndarray, velocity: np.ndarray, required: np.ndarray, before: np.ndarray
) -> np.ndarray | None:
    """Return (a,): the coordinates to step from c on, which is at y (n,) with ``velocity`` (n,); None if none is to rest.

    They are those of the groups of what is ``required`` (w,), of what is next to escape, and of what can be stiff.
    """
    if groups is None or len(y) < LEAST:
        return None
    lead = next_to_escape(y, velocity, chart, groups.alike).ravel()
    return groups.around(c, np.concatenate([lead[lead >= 0], required]), before)
