"""Coordinates in which neurons that have not yet escaped move at a constant speed.

While outputs are near 0 an own correlation x obeys x' = K (x / b)^(alpha - 1) below the threshold b, and x' ~ K above it, with K nearly
constant: growth that starts late and is over in finite time, which polynomials in time approximate badly. In

    y(x) = b - (b / (alpha - 2)) ((b / x)^(alpha - 2) - 1)   for x < b,          y(x) = x   for x >= b

(alpha > 2; b + b log(x / b) for alpha = 2, and for alpha < 2 there is no blow-up and y = x) both are y' = K, because y'(x) = (b / x)^(alpha - 1)
below b and 1 above, so that y and y' are continuous at b. Below a floor, half of the value at which a coordinate came to the chart, y goes on along
its tangent, so that a correlation that shrinks, even below 0, stays on the chart.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mvsim.numerics.indexing import lookup, with_entries

LARGEST_SLOPE = 260.0
"""Decimal digits of the largest dy/dx: of smaller correlations doubles hold no y. At alpha = 4 and more they would not escape before t = 10^175."""

CANCELS = 0.1
"""alpha - 2 below which (b / x)^(alpha - 2) - 1 would lose digits."""

LATE = 0.1
"""Part of its threshold from which on a coordinate that is not on the chart is resolved relative to the time until it escapes. Below that it is
moved by others, as one that comes from below 0 is, and its error is small beside the growth still to come."""


@dataclass(frozen=True, eq=False)
class EscapeChart:
    """A change of variables: some coordinates get y, all others keep c."""

    index: np.ndarray  # (e,) the coordinates that get y
    floor: np.ndarray  # (e,) values below which y goes on along its tangent
    threshold: np.ndarray  # (e,) b
    alpha: float  # Power of the activation

    @staticmethod
    def at(c: np.ndarray, candidates: np.ndarray, thresholds: np.ndarray, alpha: float) -> EscapeChart:
        """Return the chart of those of the ``candidates`` (a,) that lie between 0 and their threshold (a,) at c (n,)."""
        x = c[candidates]
        inside = (x > smallest(alpha) * thresholds) & (x < thresholds) & (alpha >= 2.0)
        return EscapeChart(candidates[inside], 0.5 * x[inside], thresholds[inside], alpha)

    def others(self, candidates: np.ndarray, thresholds: np.ndarray, alpha: float) -> EscapeChart:
        """Return a chart of those of the ``candidates`` (a,) that are not on this one, for all of their values; floors are at `LATE`.

        They were below 0 when the chart was made, or beyond their threshold, and are stepped as they are. One that comes up later escapes as any
        other: (alpha - 2) times the relative error of it is that of the time it takes.
        """
        off = (lookup(self.index, candidates) < 0) & (alpha >= 2.0)
        return EscapeChart(candidates[off], LATE * thresholds[off], thresholds[off], alpha)

    def within(self, index: np.ndarray) -> EscapeChart:
        """Return the chart for vectors that hold the coordinates ``index`` alone, none twice."""
        place = lookup(index, self.index)
        kept = place >= 0
        return EscapeChart(place[kept], self.floor[kept], self.threshold[kept], self.alpha)

    def slope(self, c: np.ndarray) -> np.ndarray:
        """Return (n,): dy/dc of every coordinate at c (n,)."""
        return with_entries(np.ones_like(c), self.index, (self.threshold / self._inside(c[self.index])) ** (self.alpha - 1.0))

    def to_y(self, c: np.ndarray) -> np.ndarray:
        """Return the coordinates (n,) of correlations c (n,)."""
        x, b = c[self.index], self.threshold
        inside = self._inside(x)
        below = self._power_integral(inside) + (b / inside) ** (self.alpha - 1.0) * np.minimum(x - inside, 0.0)
        return with_entries(c, self.index, np.where(x >= b, x, below))

    def to_c(self, y: np.ndarray) -> np.ndarray:
        """Return the correlations (n,) of coordinates y (n,)."""
        on_chart, b, (lowest, tangent) = y[self.index], self.threshold, self._at_floor
        inside = self._power_inverse(np.minimum(np.maximum(on_chart, lowest), b))
        below = np.where(on_chart < lowest, self.floor + (on_chart - lowest) * tangent, inside)
        return with_entries(y, self.index, np.where(on_chart >= b, on_chart, below))

    def waiting(self, y: np.ndarray) -> np.ndarray:
        """Return (e,) bool: whether each coordinate of the chart is still below its threshold."""
        return y[self.index] < self.threshold

    def curved(self, y: np.ndarray) -> np.ndarray:
        """Return the coordinates at which y is not a straight function of c: between their floor and their threshold."""
        return self.index[self.waiting(y) & (y[self.index] > self._at_floor[0])]

    def scale(self, c: np.ndarray) -> np.ndarray:
        """Return (e,): the change of each coordinate of the chart at c (n,) that changes the time until it escapes by about that time itself.

        It is (|y| + b) / (dy/dc), and inf beyond the threshold b.
        """
        y = self.to_y(c)
        scale = (np.abs(y[self.index]) + self.threshold) / self.slope(c)[self.index]
        return np.where(self.waiting(y), scale, math.inf)

    def time_to_escape(self, on_chart: np.ndarray, speed: np.ndarray) -> float:
        """Return the time until the next of the coordinates of the chart, at ``on_chart`` (e,) with ``speed`` (e,), escapes; inf if none does.

        Coordinates within two thresholds of their threshold are about to escape, and do not count.
        """
        to_go = self.threshold - on_chart
        approaching = (to_go > 2.0 * self.threshold) & (speed > 1e-300)
        with np.errstate(over="ignore"):  # beyond any time
            return float((to_go[approaching] / speed[approaching]).min(initial=math.inf))

    @cached_property
    def _at_floor(self) -> tuple[np.ndarray, np.ndarray]:
        """(e,) each: y and dx/dy at the floor."""
        return self._power_integral(self.floor), (self.floor / self.threshold) ** (self.alpha - 1.0)

    def _inside(self, x: np.ndarray) -> np.ndarray:
        return np.minimum(np.maximum(x, self.floor), self.threshold)

    def _power_integral(self, x: np.ndarray) -> np.ndarray:
        """Return y(x) for x in (0, b]."""
        b, power = self.threshold, self.alpha - 2.0
        if power == 0.0:
            return b + b * np.log(x / b)
        if power < CANCELS:
            return b - b / power * np.expm1(power * np.log(b / x))
        return b - b / power * ((b / x) ** power - 1.0)

    def _power_inverse(self, y: np.ndarray) -> np.ndarray:
        """Return x(y) for y <= b."""
        b, power = self.threshold, self.alpha - 2.0
        if power == 0.0:
            return b * np.exp((y - b) / b)
        if power < CANCELS:
            return b * np.exp(-np.log1p(power * (b - y) / b) / power)
        return b * (1.0 + power * (b - y) / b) ** (-1.0 / power)


def smallest(alpha: float) -> float:
    """Return the part of the threshold below which a coordinate is not put on a chart."""
    return 10.0 ** (-LARGEST_SLOPE / max(alpha - 1.0, 1.0))
