"""The Euclidean norm of arrays whose squares may leave the range of doubles."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mvsim.numerics.vectors import flat, largest, length

_SAFE = (1e-140, 1e140)
"""Norms within these lose nothing to underflow or overflow of squares."""


def norm(v: Any) -> float:
    """Return |v| for an array of any shape and namespace, also where |v|^2 is no double: late at d = k^20 gradients are 1e-188."""
    v = flat(v)
    with np.errstate(over="ignore"):
        plain = length(v)
    if _SAFE[0] <= plain <= _SAFE[1]:
        return plain
    top = largest(v)
    return top * length(v / top) if 0.0 < top < math.inf else plain
