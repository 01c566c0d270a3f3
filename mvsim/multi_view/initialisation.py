"""Initial weights w ~ N(0, I_d / d) of Definition 4.2, as far as anything depends on them."""

from __future__ import annotations

import numpy as np

from mvsim.multi_view.memory import check_fits
from mvsim.multi_view.parameters import Parameters, check_parameters
from mvsim.numerics.random_streams import stream


def initial_correlations(parameters: Parameters, seed: int) -> np.ndarray:
    """Draw the correlations c[y, r, s, l] = <w_{y,r}(0), v_{s,l}>.

    The features are orthonormal, so for w ~ N(0, I_d / d) these are i.i.d. N(0, 1/d) exactly, whatever the features are, and the rest of w never
    moves and never matters: every patch, hence every gradient, lies in the span of the features.

    Parameters
    ----------
    parameters : Parameters
        k, m and d are used.
    seed : int
        Fixes the draw; independent of the data of the same seed.

    Returns
    -------
    numpy.ndarray
        (k, m, k, V) float64, dimensionless.

    Raises
    ------
    UsageError
        If the seed is not an integer >= 0, ``parameters`` are none, or the correlations do not fit in memory.
    """
    p = check_parameters(parameters)
    check_fits(p, lambda p: 8 * p.features * p.k * p.m, " for the correlations")
    return stream(seed, "initial correlations").standard_normal(p.correlations_shape) / float(p.d) ** 0.5
