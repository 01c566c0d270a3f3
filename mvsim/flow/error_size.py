"""How large an error is, when each coordinate has a tolerance."""

from __future__ import annotations

import math

import numpy as np

from mvsim.numerics.norm import largest

MOST_OF_ONE = 3.0
"""Tolerances by which a single coordinate may err. The root mean square over n coordinates alone would allow it sqrt(n), and one correlation can
decide when a neuron escapes or takes a second view: its own, or one with a feature of another class that noise has carried to where it grows. Runs
in which only own correlations were held to it went past such an escape in one step, whose error was estimated as 3 tolerances and was 4,500."""


def error_size(scaled: np.ndarray) -> float:
    """Return the size of an error, 1 for the largest that is allowed: its root mean square, or its largest entry over `MOST_OF_ONE` if that is more.

    Parameters
    ----------
    scaled : numpy.ndarray
        (n,) errors in units of the tolerance.
    """
    return max(math.sqrt(scaled @ scaled / len(scaled)), largest(scaled) / MOST_OF_ONE)
