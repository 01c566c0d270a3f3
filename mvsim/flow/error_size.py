"""How large an error is, when each coordinate has a tolerance."""

from __future__ import annotations

import math

import numpy as np

from mvsim.numerics.norm import largest

MOST_OF_ONE = 3.0
"""Tolerances by which a single coordinate may err. The root mean square over n coordinates alone would allow it sqrt(n), and one correlation can
decide when a neuron escapes or takes a second view: its own, or one with a feature of another class that noise has carried to where it grows."""


def error_size(scaled: np.ndarray) -> float:
    """Return the size of errors (n,) in units of the tolerance: their root mean square, or their largest over `MOST_OF_ONE` if that is more."""
    return max(math.sqrt(scaled @ scaled / len(scaled)), largest(scaled) / MOST_OF_ONE)
