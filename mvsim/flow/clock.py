"""The variable of the steps: x = ln(1 + (t - t_0) / B), the logarithm of the time counted from t_0 - B.

After an escape everything relaxes on time scales that grow with the time since it, so that steps have to grow by a constant factor. The error
of a multistep formula grows with every change of the step size. In

    x = ln(1 + (t - t_0) / B),          dy/dx = B e^x dy/dt,

steps of constant size h grow by the factor e^h in t. x counts from the present time, at which t = t_0; a step of size h takes the time
B (e^h - 1), and after it
the same variable counts from the new present with B e^h in the place of B. Where steps become so much shorter than B that x is t again, B is made
smaller if the trajectory is smoother in the new variable: the polynomial that is the past is expanded in it, to its order, and its last
coefficients are compared.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from mvsim.flow.bdf import History
from mvsim.numerics.norm import length

FIRST = 1e-3
"""First step of a trajectory in x: its variable is the time itself."""

FRESH = 0.1
"""A smaller B aims at this part of itself as the time of a step, a step of ln(1 + this) in x."""

SHORT = 0.03
"""Steps in x shorter than this are taken for the time itself."""

MARGIN = 1.3
"""B stays above the time that the past covers times this."""

WORTHWHILE = 0.5
"""B is kept unless it falls to less than this part of itself."""

LONGEST = 3.0
"""Largest step in x: an exponential of it is harmless."""


def time_of(h: float, B: float) -> float:
    """Return the time that a step of size h in x takes."""
    return B * math.expm1(h)


def size_of(time: float, B: float) -> float:
    """Return the size in x of a step that takes so much time, at most `LONGEST`."""
    return LONGEST if time >= B * math.expm1(LONGEST) else math.log1p(time / B)


def in_frame(history: History, change: np.ndarray, B: float) -> History:
    """Return the past in a frame that moves slower by ``change`` (n,), in units of t, than the present one.

    From it y moves by change (t - t_0) more, of which all derivatives by x are change B at x = 0. What moves at constant speed in t is at rest in a
    frame that moves with it; no polynomial in x is as exact. The correction of the last step stays as it is: it only helps to choose the order.
    """
    moving = np.flatnonzero(change)
    if not len(moving):
        return history
    Z = history.Z.copy()
    Z[1:, moving] += B * np.cumprod(history.h / np.arange(1, history.order + 1))[:, None] * change[moving]
    return replace(history, Z=Z)


def with_smaller_clock(history: History, B: float, weight: np.ndarray) -> tuple[History, float]:
    """Return the same past for a smaller B, and that; or both as they are.

    They stay if steps are not short enough, the past reaches too far back, or the past is not smoother in the new variable: if its last
    coefficients, in units of ``weight`` (n,), are not smaller. With rho = B' / B the variables are related by x = ln(1 + rho (e^x' - 1)), a power
    series in x', whose powers turn a polynomial of x into one of x'.
    """
    q, h = history.order, history.h
    if h >= SHORT or q == 1:
        return history, B
    ago = -np.expm1(-np.cumsum(history.past))  # when the steps before began, in units of B
    ratio = max(math.expm1(h) / FRESH, MARGIN * float(ago[q]))
    if ratio >= WORTHWHILE:
        return history, B
    new_h = math.log1p(math.expm1(h) / ratio)
    powers = np.zeros((q + 1, q + 1))  # coefficients of x'^i in (x / rho)^j
    powers[0, 0] = 1.0
    series = _logarithm(ratio / np.cumprod([1.0, *range(1, q + 1)]), q) / ratio
    for exponent in range(1, q + 1):
        powers[:, exponent] = np.convolve(powers[:, exponent - 1], series)[: q + 1]
    old_exponent, new_exponent = np.arange(q + 1), np.arange(q + 1)[:, None]
    change = powers * new_h ** np.maximum(new_exponent - old_exponent, 0) * (ratio * new_h / h) ** old_exponent
    Z = change @ history.Z
    last, before = (length(each[q, : len(weight)] / weight) for each in (Z, history.Z))
    if not last < before:
        return history, B
    places = -np.log1p(-ago[: q + 1] / ratio)
    past = np.zeros_like(history.past)
    past[: q + 1] = np.diff(places, prepend=0.0)
    return replace(history, Z=Z, h=new_h, past=past, scale=0.0), B * ratio


def _logarithm(u: np.ndarray, q: int) -> np.ndarray:
    """Return the coefficients to order q of ln(1 + u) for a power series u (q + 1,), whose constant does not count."""
    u = np.concatenate([[0.0], u[1:]])
    total, power = np.zeros(q + 1), np.concatenate([[1.0], np.zeros(q)])
    for j in range(1, q + 1):
        power = np.convolve(power, u)[: q + 1]
        total -= (-1.0) ** j / j * power
    return total
