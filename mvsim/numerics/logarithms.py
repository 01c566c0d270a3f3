"""Logarithms of numbers that may leave the range of doubles, and the way back."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

LARGEST_LOGARITHM = float(np.log(np.finfo(float).max))
"""Largest natural logarithm of a double."""


def logarithm(values: ArrayLike) -> np.ndarray:
    """Return log of values >= 0, -inf for 0 and for what is below."""
    values = np.asarray(values, dtype=np.float64)
    positive = values > 0.0
    return np.where(positive, np.log(np.where(positive, values, 1.0)), -np.inf)


def exponential(logarithms: ArrayLike) -> np.ndarray:
    """Return exp, infinite where a double cannot hold it."""
    logarithms = np.asarray(logarithms, dtype=np.float64)
    return np.where(logarithms > LARGEST_LOGARITHM, np.inf, np.exp(np.minimum(logarithms, LARGEST_LOGARITHM)))
