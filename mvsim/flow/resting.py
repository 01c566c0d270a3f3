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
from typing import Any

import numpy as np

from mvsim.flow.base import Groups
from mvsim.flow.chart import EscapeChart
from mvsim.numerics.namespaces import namespace_of
from mvsim.numerics.primitives import primitives_of
from mvsim.numerics.vectors import flat, integers_like

LEAST = 30_000
"""Coordinates from which on it is worth while that some rest. At k = 20, with 16,000, a step costs no less for it (study `flow_resting`)."""

LEADING = 2
"""Coordinates of those that grow alike that are stepped: the next to escape, and the one after it, which guides the others."""

ALIKE = 2.0
"""Factor between the speeds of a coordinate and of its guide within which it moves as the guide does."""


@dataclass(frozen=True, eq=False)
class Resting:
    """Which coordinates are stepped, and where all were when all were last evaluated.

    Attributes
    ----------
    stepped : array
        (a,) increasing: the coordinates that are stepped; empty if none rests.
    y, velocity : array
        (n,) each, empty if none rests.
    log_loss : float
        ln J there.
    elapsed : float
        Time since.
    """

    stepped: Any
    y: Any
    velocity: Any
    log_loss: float
    elapsed: float

    @staticmethod
    def nothing(like: Any) -> Resting:
        """Return a `Resting` in which no coordinate rests, in the namespace and on the device of an array."""
        return Resting(integers_like(0, like), like[:0], like[:0], 0.0, 0.0)

    @property
    def some(self) -> bool:
        """Whether any coordinate rests."""
        return bool(self.stepped.shape[0])

    def later(self, time: float) -> Resting:
        """Return a copy with ``elapsed`` increased by ``time``."""
        return replace(self, elapsed=self.elapsed + time)


class Rest:
    """The coordinates that rest, as they follow from those that are stepped.

    Parameters
    ----------
    resting : Resting
        Where all were; some rest.
    chart : EscapeChart
        The chart of all.
    alike : array
        See `mvsim.flow.base.Groups`.
    """

    def __init__(self, resting: Resting, chart: EscapeChart, alike: Any) -> None:
        self._resting, self._by = resting, primitives_of(resting.y)
        xp, by = namespace_of(resting.y), self._by
        self._stepped = by.places(resting.stepped)
        lead = leading(resting.y, resting.velocity, chart, alike)
        speeds = by.entries(resting.velocity, lead)
        second = (lead[:, -1] >= 0) & (speeds[:, -1] <= ALIKE * speeds[:, 0])
        guide = xp.where(second, lead[:, -1], lead[:, 0])
        guided = xp.nonzero(guide >= 0)[0]
        self._guide, self._rows = xp.take(guide, guided), xp.take(alike, guided, axis=0)
        self._among = by.lookup(resting.stepped, self._guide)
        self._on_chart = by.entries(chart.places.among(0.0, xp.astype(chart.waiting(resting.y), xp.float64), resting.y), self._rows) > 0.0
        self._row_places = by.places(flat(self._rows))

    def at(self, stepped: Any, elapsed: float) -> Any:
        """Return (n,): all coordinates, of which some are ``stepped`` (a,), so long after all were evaluated."""
        return self._moved(stepped, elapsed, self._resting.velocity)

    def corrected(self, stepped: Any, elapsed: float, velocity: Any) -> Any:
        """Return the same once the velocities (n,) there are known."""
        return self._moved(stepped, elapsed, 0.5 * (self._resting.velocity + velocity))

    def of(self, v: Any) -> Any:
        """Return v (n,) with 0 for the coordinates that are stepped."""
        return self._stepped.written(v, 0.0 * v[self._resting.stepped])

    def _moved(self, stepped: Any, elapsed: float, velocity: Any) -> Any:
        start, by, xp = self._resting.y, self._by, namespace_of(velocity)
        y, speed, speeds = start + elapsed * velocity, velocity[self._guide], by.entries(velocity, self._rows)
        moving = speed > 0.0
        time = (stepped[self._among] - start[self._guide]) / xp.where(moving, speed, xp.ones_like(speed))
        alike = (speeds <= ALIKE * speed[:, None]) & (speed[:, None] <= ALIKE * speeds)
        rows = by.entries(start, self._rows) + speeds * time[:, None]
        y = self._row_places.written(y, flat(xp.where(self._on_chart & alike & moving[:, None], rows, by.entries(y, self._rows))))
        return self._stepped.written(y, stepped)


def leading(y: Any, velocity: Any, chart: EscapeChart, alike: Any) -> Any:
    """Return (g, `LEADING`) or less: of each row of ``alike`` (g, p) the coordinates that are next to escape at y (n,), -1 for none."""
    xp, (rows, many) = namespace_of(y), alike.shape
    to_go, speed = chart.threshold - chart.of(y), chart.of(velocity)
    coming = chart.waiting(y) & (speed > 0.0)
    with np.errstate(over="ignore"):  # beyond any time
        times = xp.where(coming, to_go / xp.where(coming, speed, xp.ones_like(speed)), xp.full_like(speed, math.inf))
    times = primitives_of(y).entries(chart.places.among(math.inf, times, y), alike)
    first = many * integers_like(rows, alike)[:, None] + xp.argsort(times, axis=1, stable=True)[:, : min(LEADING, many)]
    found = xp.isfinite(xp.take(flat(times), flat(first)))
    return xp.reshape(xp.where(found, xp.take(flat(alike), flat(first)), -xp.ones_like(flat(first))), first.shape)


def chosen(groups: Groups | None, chart: EscapeChart, c: Any, y: Any, velocity: Any, wanted: Any, before: Any) -> Any | None:
    """Return (a,): the coordinates to step from c on, which is at y (n,) with ``velocity`` (n,); None if none is to rest.

    They are those of the groups of what is ``wanted`` (w,), of what is next to escape, and of what can be stiff.
    """
    if groups is None or y.shape[0] < LEAST:
        return None
    lead = flat(leading(y, velocity, chart, groups.alike))
    return groups.around(c, namespace_of(y).concat([lead[lead >= 0], wanted]), before)
