"""Coordinates in which neurons that have not yet escaped move at a constant speed.

While outputs are near 0 an own correlation x obeys x' = K (x / b)^(alpha - 1) below the threshold b, and x' ~ K above it, with K nearly
constant: a blow-up that is invisible until shortly before it happens, and that polynomials in time approximate badly. In

    y(x) = b - (b / (alpha - 2)) ((b / x)^(alpha - 2) - 1)   for x < b,          y(x) = x   for x >= b

(alpha > 2; b + b log(x / b) for alpha = 2, and for alpha < 2 there is no blow-up and y = x) both are y' = K, because y'(x) = (b / x)^(alpha - 1)
below b and 1 above, where the two meet smoothly. Below a floor, half of the value at which the chart is made, y goes on along its tangent, so
that a correlation that shrinks, even below 0, stays on the chart.
"""

from __future__ import annotations

import numpy as np

from mvsim.diagnostics import own_correlations

SMALLEST = 1e-30
"""Own correlations below this part of the threshold keep c: their powers would leave the range of doubles."""


class EscapeChart:
    """The change of variables at some correlations: own correlations between 0 and the threshold get y, all others keep c.

    Parameters
    ----------
    c : numpy.ndarray
        (k, m, k, 2) at which the chart is made.
    threshold : float
        b.
    alpha : float
        Power of the activation.
    """

    def __init__(self, c: np.ndarray, threshold: float, alpha: float) -> None:
        self.shape, self.threshold, self.alpha = c.shape, threshold, alpha
        own = own_correlations(c)
        y, r, view = np.nonzero((own > SMALLEST * threshold) & (own < threshold) & (alpha >= 2.0))
        self.index = np.ravel_multi_index((y, r, y, view), c.shape)
        self._floor = 0.5 * own[y, r, view]

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
        c, at, b = y.copy(), y[self.index], self.threshold
        lowest = self._power_integral(self._floor)
        inside = self._power_inverse(np.clip(at, lowest, b))
        below = np.where(at < lowest, self._floor + (at - lowest) * (self._floor / b) ** (self.alpha - 1.0), inside)
        c[self.index] = np.where(at >= b, at, below)
        return c

    def _inside(self, x: np.ndarray) -> np.ndarray:
        return np.clip(x, self._floor, self.threshold)

    def _power_integral(self, x: np.ndarray) -> np.ndarray:
        """Return y(x) for x in (0, b]."""
        b, power = self.threshold, self.alpha - 2.0
        if power == 0.0:
            return b + b * np.log(x / b)
        return b - b / power * ((b / x) ** power - 1.0)

    def _power_inverse(self, y: np.ndarray) -> np.ndarray:
        """Return x(y) for y <= b."""
        b, power = self.threshold, self.alpha - 2.0
        if power == 0.0:
            return b * np.exp((y - b) / b)
        return b * (1.0 + power * (b - y) / b) ** (-1.0 / power)
