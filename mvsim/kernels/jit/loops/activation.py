"""The smoothed ReLU in compiled loops, in units of rho (see `mvsim.kernels.shared_noise.loops.terms`).

The power alpha travels in the *type* of ``power`` (a tuple of alpha zeros if alpha is a small integer), so that the compiler sees a constant
exponent and vectorises; any other alpha travels as a float and costs a call to pow.
"""

from __future__ import annotations

from numba import types
from numba.extending import overload

from mvsim.kernels.jit.compiling import SUMS, njit

_LARGEST_UNROLLED_POWER = 16


def power_tag(alpha: float) -> tuple[int, ...] | float:
    """Return alpha in the form in which the loops of this file take it."""
    if float(alpha).is_integer() and 1 <= alpha <= _LARGEST_UNROLLED_POWER:
        return (0,) * int(alpha)
    return float(alpha)


@njit(**SUMS)
def _step(u):
    return 1.0 if u > 0.0 else 0.0


def _to_power(u, power, less):
    """Return u^(alpha - less); only its compiled form below is ever called."""
    raise NotImplementedError


@overload(_to_power, inline="always", prefer_literal=True)
def _compile_to_power(u, power, less):
    if isinstance(power, types.BaseTuple):
        exponent = power.count - less.literal_value
        if exponent <= 0:  # alpha = 1: R' is a step
            return lambda u, power, less: _step(u)
        return lambda u, power, less: u**exponent
    return lambda u, power, less: u ** (power - less)


@njit(inline="always", **SUMS)
def _r(x, alpha, power):
    positive = max(x, 0.0)
    u = min(positive, 1.0)
    return _to_power(u, power, 0) + alpha * (positive - u)


@njit(inline="always", **SUMS)
def _r_1(x, power):
    """Return R'(rho x)."""
    return _to_power(min(max(x, 0.0), 1.0), power, 1)


@njit(inline="always", **SUMS)
def _r_2(x, alpha, power):
    """Return rho R''(rho x)."""
    return (alpha - 1.0) * _to_power(min(max(x, 0.0), 1.0), power, 2) if 0.0 < x < 1.0 else 0.0
