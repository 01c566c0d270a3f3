"""The next escapes, predicted from where correlations are and how they move, and how far a step may go towards them.

In its own coordinate y (`mvsim.flow.chart`) a correlation that escapes moves at the speed K, which changes as slowly as the force on it does. So it
escapes after (b - y) / K. That is predicted for

- all coordinates of the chart that still wait, in neurons that are not stiff;
- own correlations of views that have not escaped, which were below 0 at the start or belong to a stiff neuron, once they are beyond `CARRIED` of
  their threshold or grow faster than by a constant force, unless they only relax, so that their K falls;
- off-diagonal correlations of neurons that are not stiff and not on the chart, which noise has carried to `LEAST` of their threshold;
- off-diagonal correlations of stiff neurons that grow faster than by a constant force, in classes in which a view has not escaped.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mvsim.flow.layout import Layout
from mvsim.flow.moment import Moment

CARRIED, LEAST = 0.1, 0.02
"""Parts of its threshold from which on a correlation that others carry is looked at."""

FALLS = 0.7
"""A correlation only relaxes if its K is below this part of its K at the step before."""

SUPERLINEAR = 3.0
"""Least d ln v / d ln c of a correlation that is said to grow by its own law; alpha - 1 = 7 where no other force acts."""

APPROACH = 0.8
"""Part of the way to the next escape that one step may go."""

CLOSE, OVER = 0.9, 0.4
"""The same within two thresholds of an escape, where a step may go at least `OVER` thresholds."""


@dataclass(frozen=True, eq=False)
class Forecast:
    """Escapes to come, in no order.

    Attributes
    ----------
    index : numpy.ndarray
        (a,) which correlations.
    way, speed : numpy.ndarray
        (a,) b - y and y'.
    threshold : numpy.ndarray
        (a,) b.
    is_free : numpy.ndarray
        (a,) bool: on the chart and not in a stiff neuron.
    least : numpy.ndarray
        (a,) the least time that is predicted: no step is made shorter than `APPROACH` of this for the correlation.
    """

    index: np.ndarray
    way: np.ndarray
    speed: np.ndarray
    threshold: np.ndarray
    is_free: np.ndarray
    least: np.ndarray

    @property
    def times(self) -> np.ndarray:
        """(a,) time from now."""
        return np.maximum(self.way / self.speed, self.least)

    @property
    def next(self) -> float:
        """Time to the next of them that is not passing its threshold already."""
        return float(self.times[self.way > 2.0 * self.threshold].min(initial=np.inf))

    @property
    def longest_step(self) -> float:
        """The time that one step may take."""
        way, b = self.way, self.threshold
        part = np.where(way > 2.0 * b, APPROACH * way, np.maximum(CLOSE * way, OVER * b))
        return float(np.maximum(part / self.speed, APPROACH * self.least).min(initial=np.inf))


def forecast_of(layout: Layout, stiff: np.ndarray, now: Moment, before: Moment | None, charted: np.ndarray, learned: np.ndarray) -> Forecast:
    """Return the escapes to come.

    Parameters
    ----------
    layout : Layout
        The coordinates.
    stiff : numpy.ndarray
        (n,) bool: of stiff neurons.
    now, before : Moment
        The present, and the end of the step before.
    charted : numpy.ndarray
        (n,) bool: on the chart.
    learned : numpy.ndarray
        (k V,) bool: views that have escaped.
    """
    b = layout.threshold
    done = layout.is_own & learned[layout.view]
    free = np.flatnonzero(charted & ~stiff & (now.u < b) & (now.w > 1e-300))
    is_open = layout.is_open(learned)
    dormant = np.flatnonzero(~charted & ~stiff & ~done & (now.c > LEAST * b) & (now.c < b) & (now.v > 0.0))
    own = np.flatnonzero(layout.is_own & stiff & ~done & (now.c > LEAST * b) & (now.c < b) & (now.v > 0.0))
    off = np.flatnonzero(stiff & ~layout.is_own & is_open & (now.c > LEAST * b) & (now.c < 0.9 * b) & (now.v > 0.0))
    carried = np.concatenate([dormant, own])
    if before is None:
        carried, off = carried[layout.is_own[carried] & (now.c[carried] > CARRIED * b[carried])], off[:0]
    else:
        off = off[_grows(now, before, b, off)]
        is_own, late, grows = layout.is_own[carried], now.c[carried] > CARRIED * b[carried], _grows(now, before, b, carried)
        carried = carried[~is_own | late | grows]
        carried = carried[~layout.is_own[carried] | _keeps_pace(layout, now, before, carried)]
    by_law = np.concatenate([carried, off])
    law, x = layout.law(by_law), now.c[by_law]
    speed = law.slope(x) * now.v[by_law]
    way = np.concatenate([b[free] - now.u[free], b[by_law] - law.to_y(x)])
    index = np.concatenate([free, by_law])
    least = np.where(layout.is_own[by_law], 0.0, np.where(stiff[by_law], 0.1, 1e-3) * b[by_law] / now.v[by_law])
    return Forecast(
        index, way, np.concatenate([now.w[free], speed]), b[index], np.arange(index.size) < free.size, np.concatenate([np.zeros(free.size), least])
    )


def _grows(now: Moment, before: Moment, b: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Return (a,) bool: whether correlations grow faster than by a constant force."""
    x0, x1, v0, v1 = before.c[index], now.c[index], before.v[index], now.v[index]
    rising = (x0 > LEAST * b[index]) & (x1 > x0 * (1.0 + 1e-7)) & (v0 > 0.0) & (v1 > v0)
    ratio = np.ones((2, index.size))
    np.divide([v1, x1], [v0, x0], out=ratio, where=rising)
    return np.asarray(rising & (np.log(ratio[0]) > SUPERLINEAR * np.log(ratio[1])))


def _keeps_pace(layout: Layout, now: Moment, before: Moment, index: np.ndarray) -> np.ndarray:
    """Return (a,) bool: whether K of correlations has not fallen since the step before."""
    law = layout.law(index)
    return np.asarray(law.slope(now.c[index]) * now.v[index] > FALLS * np.maximum(law.slope(before.c[index]) * before.v[index], 0.0))
