"""The Euclidean norm of arrays whose squares may leave the range of doubles."""

from __future__ import annotations

import math

import numpy as np

_SAFE = (1e-140, 1e140)
"""Norms within these lose nothing to underflow or overflow of squares."""


def norm(v: np.ndarray) -> float:
    """Return |v| for an array of any shape, also where |v|^2 is no double: late at d = k^20 gradients are 1e-188."""
    v = v.ravel()
    with np.errstate(over="ignore"):
        plain = length(v)
    if _SAFE[0] <= plain <= _SAFE[1]:
        return plain
    top = largest(v)
    return top * length(v / top) if 0.0 < top < math.inf else plain


def length(v: np.ndarray) -> float:
    """Return the root of v v for a vector (n,)."""
    return math.sqrt(v @ v)


def largest(v: np.ndarray) -> float:
    """Return the largest absolute value, 0 if there is none, NaN if there is one."""
    return float(np.abs(v).max(initial=0.0))
