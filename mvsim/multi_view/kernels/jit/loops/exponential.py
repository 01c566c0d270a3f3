"""Exponentials of a whole array, and what says whether they fit."""

from __future__ import annotations

import numpy as np

from mvsim.multi_view.kernels.jit.compiling import njit

_OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": {"contract"}}
_SHIFT = 6755399441055744.0  # 1.5 * 2^52: added to a number, it leaves the nearest integer in the lowest bits
_LN2_HIGH, _LN2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10


@njit(forceinline=True, **_OPTIONS)
def largest_entry(x):
    """Return max(0, largest entry); bits of positive numbers are ordered as integers, whose maxima vectorise."""
    bits, result = x.view(np.int64), np.zeros(1, np.int64)
    most = 0
    for i in range(len(bits)):
        most = max(most, bits[i])
    result[0] = most
    return result.view(np.float64)[0]


@njit(**_OPTIONS)
def exponentiate(x):
    """Replace every |x| <= 700 by exp(x) = 2^n exp(x - n log 2), to one unit in the last place or two; a loop of calls would not vectorise."""
    shifted = np.empty(len(x))
    integers = shifted.view(np.int64)
    for i in range(len(x)):
        shifted[i] = x[i] * 1.4426950408889634 + _SHIFT
    for i in range(len(x)):
        n = shifted[i] - _SHIFT
        r = (x[i] - n * _LN2_HIGH) - n * _LN2_LOW
        p = 1.0 / 6227020800.0
        p = p * r + 1.0 / 479001600.0
        p = p * r + 1.0 / 39916800.0
        p = p * r + 1.0 / 3628800.0
        p = p * r + 1.0 / 362880.0
        p = p * r + 1.0 / 40320.0
        p = p * r + 1.0 / 5040.0
        p = p * r + 1.0 / 720.0
        p = p * r + 1.0 / 120.0
        p = p * r + 1.0 / 24.0
        p = p * r + 1.0 / 6.0
        p = p * r + 0.5
        x[i] = p * (r * r) + r + 1.0
    for i in range(len(x)):
        integers[i] = (integers[i] + 1023) << 52
    for i in range(len(x)):
        x[i] *= shifted[i]
