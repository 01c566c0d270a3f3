"""The Euclidean norm of arrays whose squares may leave the range of doubles."""

from __future__ import annotations

import numpy as np

_SAFE = (1e-140, 1e140)
"""Norms within these lose nothing to underflow or overflow of squares."""


def norm(v: np.ndarray) -> float:
    """Return |v| for an array of any shape, also where |v|^2 is no double: late at d = k^20 gradients are 1e-188."""
    with np.errstate(over="ignore"):
        plain = float(np.linalg.norm(v))
    if _SAFE[0] <= plain <= _SAFE[1]:
        return plain
    largest = float(np.abs(v).max(initial=0.0))
    return largest * float(np.linalg.norm(v / largest)) if 0.0 < largest < np.inf else plain
