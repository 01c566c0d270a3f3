"""The flow in the coordinates of a chart, with the tolerances that its loss asks for."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mvsim.errors import DivergedError
from mvsim.integrators.base import Field
from mvsim.integrators.flow.chart import EscapeChart
from mvsim.linalg.arrow_matrix import Curvature

FAR = 1e6
"""Correlations beyond this times the largest seen are not evaluated: a Newton iterate that far away does not converge."""


class Bounds(NamedTuple):
    """What ln J may do in one step.

    Attributes
    ----------
    log_loss : float
        ln J at its beginning, as it was told there; NaN if it was not.
    highest : float
        Largest ln J at its end.
    imbalance : float
        Largest difference between the fall of ln J and the integral of |c'|^2 / J.
    """

    log_loss: float
    highest: float
    imbalance: float

    def allow(self, start: float, end: float, lost: float) -> bool:
        """Whether a step may go from ln J = start to end, with ``lost`` the integral; a loss of 0 has no balance."""
        return end <= self.highest and (end == -math.inf or abs(start - end - lost) <= self.imbalance)


class ChartedField:
    """y' = -(dy/dc) grad J(c(y)), y the coordinates of a chart.

    Every error is measured in units of a tolerance. On the chart, below the threshold b, that is rtol (|y| + b): escapes are resolved relative to
    the time they take. For all other coordinates it is rtol times the scale that the field tells (`mvsim.integrators.base.Field`).

    Parameters
    ----------
    field : Field
        What is followed.
    chart : EscapeChart
        Its coordinates.
    shape : tuple of int
        Shape of c.
    rtol : float
        Relative tolerance.
    largest : float
        Largest correlation seen so far.
    """

    def __init__(self, field: Field, chart: EscapeChart, shape: tuple[int, ...], rtol: float, largest: float) -> None:
        self.field, self.chart, self.shape, self.rtol, self.largest = field, chart, shape, rtol, largest
        self.size = math.prod(shape)
        self.evaluations = 0
        self._last: tuple[np.ndarray, float, np.ndarray] | None = None

    def correlations(self, y: np.ndarray) -> np.ndarray:
        """Return c, in its own shape."""
        return self.chart.to_c(y).reshape(self.shape)

    def rate(self, y: np.ndarray) -> np.ndarray:
        """Return y'."""
        c = self.chart.to_c(y)
        far = float(np.abs(c).max())
        if not far <= FAR * max(self.largest, 1e-200):
            raise DivergedError(f"a Newton iterate is far outside the range reached so far (largest correlation {far:.3g})")
        with np.errstate(over="ignore", invalid="ignore"):  # the next lines name what numpy would only warn of
            loss, gradient = self.field.loss_and_gradient(0, c.reshape(self.shape))
            rate = -self.chart.slope(c) * gradient.ravel()
        self.evaluations += 1
        if not (math.isfinite(loss) and np.isfinite(rate).all()):
            raise DivergedError(f"the gradient is not finite (largest correlation {far:.3g})")
        self._last = c, loss, gradient.ravel()
        return rate

    def log_loss(self, c: np.ndarray) -> float:
        """Return ln J near the last evaluation, to first order in the distance from there, which is a part of the tolerance."""
        assert self._last is not None
        there, loss, gradient = self._last
        if loss == 0.0:
            return -math.inf
        return math.log(loss) + float(gradient @ (c.ravel() - there)) / loss

    def integrands(self, y: np.ndarray, velocity: np.ndarray) -> np.ndarray:
        """Return (2,): |c'|^2 and |c'|^2 / J."""
        c = self.chart.to_c(y)
        speed = velocity / self.chart.slope(c)
        squared = float(speed @ speed)
        log_loss = self.log_loss(c)
        self.largest = max(self.largest, float(np.abs(c).max()))
        return np.array([squared, 0.0 if squared == 0.0 else math.exp(min(math.log(squared) - log_loss, 700.0))])

    def is_sound(self, bounds: Bounds, before: np.ndarray, after: np.ndarray) -> bool:
        """Whether a step within the tolerance may be taken; ``before`` and ``after`` (n + 2,) have the integrals behind y.

        It must not jump over a threshold: a coordinate below its threshold is allowed an error relative to where it is, which can be 10^20 times what
        is right above. That happens where noise carries a small correlation, so that no step foresees its escape.

        And it must keep the balance of the flow: ln J ends at most at ``bounds.highest``, and falls by the integral of |c'|^2 / J, up to
        ``bounds.imbalance``. A step that passes over a sudden escape to where the neuron comes to rest breaks it, although its end may be right.
        ln J is told from the last evaluation, and evaluated itself where that does not do.
        """
        n, b = self.size, self.chart.threshold
        jumped = (before[self.chart.index] < -b) & (after[self.chart.index] > b)
        if jumped.any():
            return False
        lost = after[n + 1] - before[n + 1]
        if bounds.allow(bounds.log_loss, self.log_loss(self.chart.to_c(after[:n])), lost):
            return True
        start = self.evaluated_log_loss(before[:n])
        return bounds.allow(start, self.evaluated_log_loss(after[:n]), lost)

    def evaluated_log_loss(self, y: np.ndarray) -> float:
        """Return ln J at y, evaluated there."""
        self.rate(y)
        return self.log_loss(self.chart.to_c(y))

    def tolerance(self, y: np.ndarray) -> np.ndarray:
        """Return (n,) allowed errors at y."""
        c = self.chart.to_c(y)
        tolerance = self.rtol * self.chart.slope(c) * self.field.scale(c.reshape(self.shape)).ravel()
        index = self.chart.index[self.chart.waiting(y)]
        relative = self.rtol * (np.abs(y[self.chart.index]) + self.chart.threshold)[self.chart.waiting(y)]
        tolerance[index] = np.minimum(tolerance[index], relative)
        return np.maximum(tolerance, 1e-300)

    def curvature(self, y: np.ndarray) -> Curvature | None:
        """Return the stiff part of the Hessian by c, None if the field does not tell it."""
        return self.field.curvature(self.correlations(y))

    def slope(self, y: np.ndarray) -> np.ndarray:
        """Return (n,): dy/dc."""
        return self.chart.slope(self.chart.to_c(y))
