"""From correlations to columns (see `mvsim.kernels.shared_noise.loops.terms`) and back, class by class."""

from __future__ import annotations

import numpy as np

from mvsim.kernels.jit.compiling import SUMS, njit


@njit(**SUMS)
def fill_columns(y0, y1, c, patterns, over_rho, columns):
    """Fill columns (k, 2k + G, m) from correlations c (k, m, 2k): features times over_rho, then patterns (G, 2k) times these."""
    _, m, F = c.shape
    features = np.empty((F, m))
    noise = np.empty((len(patterns), m))
    for y in range(y0, y1):
        for f in range(F):
            for r in range(m):
                features[f, r] = over_rho * c[y, r, f]
        np.dot(patterns, features, noise)
        columns[y, :F] = features
        columns[y, F:] = noise


@njit(**SUMS)
def pull_back_columns(y0, y1, out, patterns, gradient):
    """Fill gradient (k, m, 2k) with the adjoint at out, for derivatives that are by rho times the columns."""
    _, m, F = gradient.shape
    noise, by_noise = np.empty((len(patterns), m)), np.empty((m, F))
    for y in range(y0, y1):
        noise[:] = out[y, F:]
        np.dot(noise.T, patterns, by_noise)
        for r in range(m):
            for f in range(F):
                gradient[y, r, f] = out[y, f, r] + by_noise[r, f]
