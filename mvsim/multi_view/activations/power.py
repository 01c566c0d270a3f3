"""A power in compiled loops."""

from __future__ import annotations

LARGEST_WHOLE_POWER = 16
"""Whole powers up to this are products in compiled loops; sums by moments go as far."""

UNROLLED_POWER = 8
"""The default of alpha, known to the compiler as a constant: see `power_for_loops`."""


def whole_power(alpha: float) -> int | None:
    """Return alpha if it is a whole number small enough for products, else None."""
    return int(alpha) if float(alpha).is_integer() and 1 <= alpha <= LARGEST_WHOLE_POWER else None


def power_for_loops(alpha: float) -> tuple[int, ...] | int | float:
    """Return alpha in the form in which compiled loops take it; its type decides how they form powers.

    The default travels in the type itself, a tuple of so many zeros, and the compiler sees a constant exponent. All other whole powers share
    one compiled form, in which the exponent is a number. Any other power costs a call to pow.
    """
    if alpha == UNROLLED_POWER:
        return (0,) * UNROLLED_POWER
    whole = whole_power(alpha)
    return float(alpha) if whole is None else whole


def to_power(u, power, less):  # type: ignore[no-untyped-def]  # compiled in mvsim.multi_view.kernels.jit.loops.activation
    """Return u^(alpha - less) for u >= 0, where ``power`` is alpha in the form of `power_for_loops`; 1 for u > 0, else 0, if alpha <= less."""
    alpha = len(power) if isinstance(power, tuple) else power
    if alpha == less or (alpha < less and float(alpha).is_integer()):
        return 1.0 if u > 0.0 else 0.0
    return u ** (alpha - less)
