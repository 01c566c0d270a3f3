"""Coordinates in which neurons that have not yet escaped move at a constant speed.

While outputs are near 0 an own correlation x obeys x' = K (x / b)^(alpha - 1) below the threshold b, and x' ~ K above it, with K nearly
constant: growth that starts late and is over in finite time, which polynomials in time approximate badly. In

    y(x) = b - (b / (alpha - 2)) ((b / x)^(alpha - 2) - 1)   for x < b,          y(x) = x   for x >= b

(alpha > 2; b + b log(x / b) for alpha = 2, and for alpha < 2 there is no blow-up and y = x) both are y' = K, because y'(x) = (b / x)^(alpha - 1)
below b and 1 above, where the two meet smoothly. Below a floor, half of the value at which a coordinate came to the chart, y goes on along its
tangent, so that a correlation that shrinks, even below 0, stays on the chart. A smaller b also works, but only below it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

LARGEST_SLOPE = 260.0
"""Decimal digits of the largest dy/dx; smaller correlations would escape only after times beyond double precision."""

CANCELS = 0.1
"""alpha - 2 below which (b / x)^(alpha - 2) - 1 would lose digits."""


@dataclass(frozen=True, eq=False)
class EscapeChart:
    """A change of variables: some coordinates get y, all others keep c.

    Attributes
    ----------
    index : numpy.ndarray
        (e,) the coordinates that get y.
    floor : numpy.ndarray
        (e,) values below which y goes on along its tangent.
    threshold : numpy.ndarray
        (e,) b.
    alpha : float
        Power of the activation.
    """

    index: np.ndarray
    floor: np.ndarray
    threshold: np.ndarray
    alpha: float

    @staticmethod
    def at(c: np.ndarray, candidates: np.ndarray, thresholds: np.ndarray, alpha: float) -> EscapeChart:
        """Return the chart of those of the ``candidates`` (a,) that lie between 0 and their threshold (a,) at c (n,)."""
        x = c[candidates]
        inside = (x > smallest(alpha) * thresholds) & (x < thresholds) & (alpha >= 2.0)
        return EscapeChart(candidates[inside], 0.5 * x[inside], thresholds[inside], alpha)

    def within(self, index: np.ndarray) -> EscapeChart:
        """Return the chart for vectors that hold the coordinates ``index`` alone, none twice."""
        place = np.full(1 + max(int(each.max(initial=-1)) for each in (index, self.index)), -1)
        place[index] = np.arange(len(index))
        here = place[self.index]
        kept = here >= 0
        return EscapeChart(here[kept], self.floor[kept], self.threshold[kept], self.alpha)

    def slope(self, c: np.ndarray) -> np.ndarray:
        """Return (n,): dy/dc of every coordinate at c (n,)."""
        slope = np.ones_like(c)
        slope[self.index] = (self.threshold / self._inside(c[self.index])) ** (self.alpha - 1.0)
        return slope

    def to_y(self, c: np.ndarray) -> np.ndarray:
        """Return the coordinates (n,) of correlations c (n,)."""
        y, x, b = c.copy(), c[self.index], self.threshold
        inside = self._inside(x)
        below = self._power_integral(inside) + (b / inside) ** (self.alpha - 1.0) * np.minimum(x - inside, 0.0)
        y[self.index] = np.where(x >= b, x, below)
        return y

    def to_c(self, y: np.ndarray) -> np.ndarray:
        """Return the correlations (n,) of coordinates y (n,)."""
        c, on_chart, b = y.copy(), y[self.index], self.threshold
        lowest = self._power_integral(self.floor)
        inside = self._power_inverse(np.clip(on_chart, lowest, b))
        below = np.where(on_chart < lowest, self.floor + (on_chart - lowest) * (self.floor / b) ** (self.alpha - 1.0), inside)
        c[self.index] = np.where(on_chart >= b, on_chart, below)
        return c

    def waiting(self, y: np.ndarray) -> np.ndarray:
        """Return (e,) bool: whether each coordinate of the chart is still below its threshold."""
        return np.asarray(y[self.index] < self.threshold)

    def time_to_escape(self, on_chart: np.ndarray, speed: np.ndarray) -> float:
        """Return the time until the next of the coordinates of the chart, at ``on_chart`` (e,) with ``speed`` (e,), escapes; inf if none does.

        Those closer to their threshold than twice that are about to escape, and do not count.
        """
        to_go = self.threshold - on_chart
        approaching = (to_go > 2.0 * self.threshold) & (speed > 1e-300)
        with np.errstate(over="ignore"):  # beyond any time
            return float((to_go[approaching] / speed[approaching]).min(initial=np.inf))

    def _inside(self, x: np.ndarray) -> np.ndarray:
        return np.clip(x, self.floor, self.threshold)

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
