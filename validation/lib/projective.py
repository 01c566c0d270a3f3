"""A multirate scheme that was tried for the flow: laggards by the closed form of their blow-up, everything else by implicit Euler.

Own correlations below the threshold obey x' = K (x / b)^(alpha - 1), which `EscapeChart` turns into y' = K: one explicit step with the K of the
moment is the closed form. All other correlations relax towards an equilibrium that moves with the laggards, and implicit Euler, solved by
Newton's method, goes to that equilibrium however long the step is:

    y <- y + h K(c),        z <- z - h grad_z J(c after the step).

The local error is that of either Euler method, h/2 times the change of the rate over the step, in which (I + h H)^-1 damps the stiff part. The
order is 1, so the number of steps grows with the inverse root of the tolerance: that is how it loses.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.optimize import NoConvergence, newton_krylov
from scipy.sparse.linalg import LinearOperator

from mvsim.flow import Field
from mvsim.flow.chart import EscapeChart

APPROACH = 0.7
"""Part of the way to the next escape that one step may go."""

NEWTON = 0.05
"""Accuracy of Newton's method in units of the tolerance."""


def projective(field: Field, c: np.ndarray, t_end: float, rtol: float) -> Iterator[tuple[float, np.ndarray]]:
    """Yield the time and the state after every step.

    Parameters
    ----------
    field : Field
        Its loss and gradient may raise, which ends the steps.
    c : numpy.ndarray
        (k, m, k, 2) at time 0.
    t_end : float
        Time.
    rtol : float
        Of every step.
    """
    t, h, rate = 0.0, 1.0, -field.loss_and_gradient(0, c)[1]
    while t < t_end:
        chart = EscapeChart.at(c.ravel(), *field.escaping)
        speed = rate.ravel()[chart.index] * chart.slope(c.ravel())[chart.index]
        h = min(h, t_end - t, _way_to_escape(chart, c, speed))
        step = _step(field, chart, c, rate, speed, h, rtol)
        if step is None:
            h /= 4.0
            continue
        after, rate_after, size = step
        if size <= 1.0:
            t, c, rate = t + h, after, rate_after
            yield t, c
        h *= float(np.clip(0.9 / np.sqrt(max(size, 1e-10)), 0.2, 2.0))


def _way_to_escape(chart: EscapeChart, c: np.ndarray, speed: np.ndarray) -> float:
    way = chart.threshold - chart.to_y(c.ravel())[chart.index]
    nearing = (speed > 0.0) & (way > 1e-3 * chart.threshold)
    return APPROACH * float((way[nearing] / speed[nearing]).min()) if nearing.any() else np.inf


def _step(
    field: Field, chart: EscapeChart, c: np.ndarray, rate: np.ndarray, speed: np.ndarray, h: float, rtol: float
) -> tuple[np.ndarray, np.ndarray, float] | None:
    """Return the state after one step, its rate and the error over the tolerance, or None if Newton's method fails."""
    y = chart.to_y(c.ravel())
    y[chart.index] += h * speed
    ahead = chart.to_c(y)
    others = np.ones(c.size, bool)
    others[chart.index] = False
    curvature = field.curvature(c)
    shifted = curvature.shifted(h) if curvature is not None else None
    atol = 0.1 * rtol * np.broadcast_to(np.abs(c).max(axis=(2, 3), keepdims=True), c.shape).ravel()
    weight = 1.0 / (rtol * np.abs(c.ravel()) + atol)

    def state(z: np.ndarray) -> np.ndarray:
        full = ahead.copy()
        full[others] = z
        return full.reshape(c.shape)

    def solve(r: np.ndarray) -> np.ndarray:
        full = np.zeros(c.size)
        full[others] = r
        return (full if shifted is None else shifted.solve(full))[others]

    def residual(scaled: np.ndarray) -> np.ndarray:
        z = scaled / weight[others]
        return (z - c.ravel()[others] + h * field.loss_and_gradient(0, state(z))[1].ravel()[others]) * weight[others]

    inverse = LinearOperator((others.sum(), others.sum()), lambda r: solve(np.ravel(r) / weight[others]) * weight[others])
    try:
        with np.errstate(invalid="ignore"):  # where an iterate is not finite
            scaled = newton_krylov(residual, c.ravel()[others] * weight[others], method="gmres", inner_M=inverse, f_tol=NEWTON, maxiter=8)
    except (NoConvergence, ValueError):  # the second for the same reason
        return None
    after = state(scaled / weight[others])
    rate_after = -field.loss_and_gradient(0, after)[1]
    change = 0.5 * h * (rate_after - rate).ravel()
    error = np.empty(c.size)
    error[others] = solve(change[others]) * weight[others]
    slope = chart.slope(after.ravel())[chart.index]
    tolerance = rtol * (np.abs(y[chart.index]) + chart.threshold)
    error[chart.index] = (0.5 * h * (slope * rate_after.ravel()[chart.index] - speed)) / tolerance
    return after, rate_after, float(np.sqrt(np.mean(error**2)))
