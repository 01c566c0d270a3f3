"""From correlations to columns (see `mvsim.multi_view.kernels.shared_noise.loops.terms`) and back, class by class."""

from __future__ import annotations

import numpy as np

from mvsim.multi_view.kernels.jit.compiling import SUMS, njit


@njit(**SUMS)
def fill_columns(y0, y1, c, patterns, over_scale, columns):
    """Fill columns (k, F + G, m) from correlations c (k, m, F): features times over_scale, then patterns (G, F) times these."""
    _, m, F = c.shape
    features = np.empty((F, m))
    for y in range(y0, y1):
        for f in range(F):
            for r in range(m):
                features[f, r] = over_scale * c[y, r, f]
                columns[y, f, r] = features[f, r]
        np.dot(patterns, features, columns[y, F:])


@njit(**SUMS)
def pull_back_columns(y0, y1, out, patterns, gradient):
    """Fill gradient (k, m, F) with the adjoint at out, for derivatives that are by the scale times the columns."""
    _, m, F = gradient.shape
    by_noise = np.empty((m, F))
    for y in range(y0, y1):
        np.dot(out[y, F:].T, patterns, by_noise)
        for r in range(m):
            for f in range(F):
                gradient[y, r, f] = out[y, f, r] + by_noise[r, f]
