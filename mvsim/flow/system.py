"""The flow in the coordinates of a chart, with the tolerances that its loss asks for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mvsim.base.errors import DivergedError
from mvsim.flow.base import Field, Units
from mvsim.flow.chart import EscapeChart
from mvsim.flow.growth import outruns_growth
from mvsim.flow.interface import Motion
from mvsim.flow.linearisation import Linearisation
from mvsim.numerics.arrow_matrix import Curvature
from mvsim.numerics.indexing import with_entries
from mvsim.numerics.norm import largest, norm

NODES = ((0.5 - math.sqrt(1.0 / 12.0), 0.5 + math.sqrt(1.0 / 12.0)), (0.5, 0.5))
"""Of Gauss's rule on [0, 1], and the weights."""

FAR = 1e6
"""Correlations beyond this times the largest seen are not evaluated: an iteration that comes so far does not converge."""


class Cubic(NamedTuple):
    """The cubic a + b x + c x^2 + d x^3, its coefficients numbers or arrays."""

    a: Any
    b: Any
    c: Any
    d: Any

    @staticmethod
    def between(start: Any, start_slope: Any, end: Any, end_slope: Any) -> Cubic:
        """Return the one with these values and slopes at 0 and 1."""
        change = end - start
        return Cubic(start, start_slope, 3.0 * change - 2.0 * start_slope - end_slope, start_slope + end_slope - 2.0 * change)

    def value(self, x: float) -> Any:
        """Return it at x."""
        return self.a + x * (self.b + x * (self.c + x * self.d))

    def slope(self, x: float) -> Any:
        """Return its derivative at x."""
        return self.b + x * (2.0 * self.c + 3.0 * x * self.d)


class Bounds(NamedTuple):
    """What ln J may do in one step."""

    log_loss: float  # ln J at its beginning, as it was told there
    highest: float  # Largest ln J at its end
    marked_log_loss: float  # ln J at the last mark
    integral: float  # Integral of |c'|^2 / J from the last mark to its beginning
    # Largest difference between the fall of ln J since the last mark and that integral, for a fall of 0; for others times 1 plus the fall
    imbalance: float

    def allow(self, end: float, gain: float) -> bool:
        """Whether ln J may be ``end`` after a step that adds ``gain`` to the integral; a loss of 0 has no balance."""
        fall = self.marked_log_loss - end
        return end <= self.highest and (end == -math.inf or abs(fall - self.integral - gain) <= self.imbalance * (1.0 + max(fall, 0.0)))


class ChartedField:
    """y' = -(dy/dc) grad J(c(y)), y the coordinates of a chart.

    Every error is measured in units of a tolerance: for most coordinates rtol times the scale that the field tells
    (`mvsim.flow.base.Field`); below the threshold of an escape rtol times the scale of the chart where that is less, so that escapes are
    resolved relative to the time they take. That is so also for coordinates that are not on the chart (`EscapeChart.others`).
    """

    gained: float  # Integral of |c'|^2 / J over the step that was looked at last

    def __init__(
        self, field: Field, chart: EscapeChart, shape: tuple[int, ...], rtol: float, largest: float, neuron: np.ndarray | None = None
    ) -> None:
        self.field, self.chart, self.shape, self.rtol, self.largest = field, chart, shape, rtol, largest
        self.size = math.prod(shape)
        self.neuron = np.arange(self.size) // math.prod(shape[2:]) if neuron is None else neuron
        self.evaluations = 0
        self._others = chart.others(*field.escaping)
        self._last: tuple[np.ndarray, float, np.ndarray] | None = None
        self._tolerance_at: tuple[np.ndarray, Units] | None = None

    def correlations(self, y: np.ndarray) -> np.ndarray:
        """Return c, in its own shape."""
        return self.chart.to_c(y).reshape(self.shape)

    def rate(self, y: np.ndarray) -> np.ndarray:
        c, slope = self._at(self.chart, y)
        with np.errstate(over="ignore", invalid="ignore"):  # what numpy would only warn of is named
            loss, gradient = self.field.loss_and_gradient(0, c.reshape(self.shape))
        gradient = gradient.ravel()
        rate = self._checked(loss, -slope * gradient, c)
        self._last = c, loss, gradient
        return rate

    def steady(self, y: np.ndarray) -> np.ndarray:
        return self.chart.index[self.chart.waiting(y)]

    def linearisation(self, y: np.ndarray) -> Linearisation | None:
        """Return what the field tells of its shape near y, None if it does not know its Hessian."""
        curvature, slope, curved = self.curvature(y), self.slope(y), self.chart.curved(y)
        if curvature is None:
            return None
        product, c = self.field.product, self.correlations(y)
        by_hessian = None if product is None else lambda v: product(c, v.reshape(self.shape)).ravel()
        if self.field.part is None:
            every = np.arange(self.size)
            return Linearisation(curvature, slope, every, self.rate, lambda y: True, by_hessian, curved, self.field.lasting, self.neuron)
        part = self.field.part(c)
        chart = self.chart.within(part.positions)

        def rate(x: np.ndarray) -> np.ndarray:
            c, slope = self._at(chart, x)
            with np.errstate(over="ignore", invalid="ignore"):
                loss, gradient = part.loss_and_gradient(c)
            return self._checked(loss, -slope * gradient, c)

        def serves_at(y: np.ndarray) -> bool:
            return part.is_whole_at(self.correlations(y))

        neuron = self.neuron[part.positions]
        return Linearisation(curvature, slope, part.positions, rate, serves_at, by_hessian, curved, self.field.lasting, neuron)

    def spent(self, products: int) -> None:
        self.evaluations += 2 * products

    def curvature(self, y: np.ndarray) -> Curvature | None:
        """Return the stiff part of the Hessian by c, None if the field does not tell it."""
        c, _ = self._at(self.chart, y)
        return self.field.curvature(c.reshape(self.shape))

    def slope(self, y: np.ndarray) -> np.ndarray:
        """Return (n,): dy/dc."""
        return self.chart.slope(self.chart.to_c(y))

    def _at(self, chart: EscapeChart, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return c and dy/dc at y, unless that is far outside."""
        c = chart.to_c(y)
        far = largest(c)
        if not far <= FAR * max(self.largest, 1e-200):
            raise DivergedError(f"an iterate of an implicit step is far outside the range reached so far (largest correlation {far:.3g})")
        return c, chart.slope(c)

    def _checked(self, loss: float, rate: np.ndarray, c: np.ndarray) -> np.ndarray:
        """Return the rate, if it and J are finite."""
        self.evaluations += 1
        if loss < 0.0:
            raise DivergedError(f"the loss is {loss:.3g} < 0, and the flow is followed by its logarithm")
        if not (math.isfinite(loss) and np.isfinite(rate).all()):
            raise DivergedError(f"the gradient is not finite (largest correlation {largest(c):.3g})")
        return rate

    def log_loss(self, c: np.ndarray) -> float:
        """Return ln J at c, to first order in the distance from the last whole evaluation; at the end of a step that is the last iterate."""
        assert self._last is not None
        evaluated_c, loss, gradient = self._last
        return -math.inf if loss == 0.0 else math.log(loss) + float(gradient @ (c.ravel() - evaluated_c)) / loss

    def gains(self, bounds: Bounds, size: float, before: Motion, after: Motion) -> np.ndarray | None:
        """Return (2,): the integrals of |c'|^2 and |c'|^2 / J over a step within the tolerance, or None if it must not be taken.

        It must not be too long for what grows, of the coordinates off the chart (`mvsim.flow.growth`).

        It must not jump over a threshold: a coordinate below its threshold is allowed an error relative to where it is, which can be 10^20 times what
        is right above. That happens where noise carries a small correlation, so that no step foresees its escape.

        And it must keep the balance of the flow: ln J ends at most at ``bounds.highest``, and has fallen since the last mark by the integral of
        |c'|^2 / J. A step that passes over a sudden escape to where the neuron is in balance again breaks it, although its end may be right.
        ln J is told from the last evaluation, and evaluated at both ends where that does not do.
        """
        b, index = self.chart.threshold, self.chart.index
        if ((before.y[index] < -b) & (after.y[index] > b)).any():
            return None
        if outruns_growth(size, before, after, self._allowed_off_chart(before.y)):
            return None
        start, end = bounds.log_loss, self.log_loss(self.chart.to_c(after.y))
        gains = self._integrated(size, before, after, start, end)
        if not bounds.allow(end, float(gains[1])):
            start, end = self.evaluated_log_loss(before.y), self.evaluated_log_loss(after.y)
            gains = self._integrated(size, before, after, start, end)
        self.gained = float(gains[1])
        return gains if bounds.allow(end, self.gained) else None

    def _allowed_off_chart(self, y: np.ndarray) -> np.ndarray:
        """Return (n,): the errors that a step from y may have, inf on the chart; those that were asked for last are kept."""
        if self._tolerance_at is None or not np.array_equal(self._tolerance_at[0], y):
            self._tolerance_at = y, self._tolerance(y, (self.chart, self._others))
        return with_entries(self._tolerance_at[1].step, self.chart.index, np.full(len(self.chart.index), math.inf))

    def _integrated(self, size: float, before: Motion, after: Motion, start: float, end: float) -> np.ndarray:
        """Return the two integrals by Gauss's rule, with y and ln J between the ends by cubic Hermite interpolation.

        Both ends have the velocity of the flow, and d ln J / dt = -|c'|^2 / J. The polynomial of the BDF swings where a step passes over an escape;
        the cubic does not. Where its end slopes would carry ln J beyond the ends, it is kept between them.
        """
        path = Cubic.between(before.y, size * before.velocity, after.y, size * after.velocity)
        log_losses = Cubic.between(start, -size * self.rates(before, start)[1], end, -size * self.rates(after, end)[1])
        total = np.zeros(2)
        for node, weight in zip(*NODES, strict=True):
            log_loss = start if end == -math.inf else min(max(log_losses.value(node), min(start, end)), max(start, end))
            total += weight * size * self.rates(Motion(path.value(node), path.slope(node) / size), log_loss)
        return total

    def rates(self, motion: Motion, log_loss: float) -> np.ndarray:
        """Return (2,): |c'|^2 and |c'|^2 / J where ln J is ``log_loss``, the second also where the first is less than any double."""
        speed = norm(motion.velocity / self.slope(motion.y))
        if speed == 0.0:
            return np.zeros(2)
        log_squared = 2.0 * math.log(speed)
        return np.exp(np.minimum([log_squared, log_squared - log_loss], 700.0))

    def evaluated_log_loss(self, y: np.ndarray) -> float:
        """Return ln J at y, evaluated there."""
        self.rate(y)
        return self.log_loss(self.chart.to_c(y))

    def tolerance(self, y: np.ndarray) -> Units:
        self._tolerance_at = y, self._tolerance(y, (self.chart, self._others))
        return self._tolerance_at[1]

    def coarser_tolerance(self, y: np.ndarray) -> np.ndarray:
        """Return (n,): the errors that a step may have, of coordinates that are not on the chart as if they were far from an escape."""
        return self._tolerance(y, (self.chart,)).step

    def _tolerance(self, y: np.ndarray, charts: Sequence[EscapeChart]) -> Units:
        c = self.chart.to_c(y)
        slope, escaping = self.chart.slope(c), [(chart.index, chart.scale(c)) for chart in charts]

        def allowed(unit: np.ndarray) -> np.ndarray:
            scale = unit.flatten()
            for index, most in escaping:
                scale[index] = np.minimum(scale[index], most)
            return np.maximum(self.rtol * slope * scale, 1e-300)

        return Units(*(allowed(unit) for unit in self.field.units(c.reshape(self.shape))))
