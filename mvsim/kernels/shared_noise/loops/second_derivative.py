"""The diagonal second derivative of the loss through R'': one compiled loop."""

from __future__ import annotations

import numpy as np

from mvsim.kernels.jit.compiling import SUMS, njit


@njit(**SUMS)
def table_second_derivatives(e0, e1, owner, features, noise, lam, feature, signal, residual, rho, power, out):
    """Add residual[y, g, i] (lam beta)^2 R''(lam beta c_f + (1 - lam) n_g), summed over i, patches with feature f and g, to out[e, f].

    Neuron e = e0 .. e1 - 1 belongs to class y = owner[e], has correlations features[e] (F,) and pre-activations noise[e] (G,) of the
    patterns. R'' is (alpha - 1) / rho times (z / rho)^power between 0 and rho, with power = alpha - 2: an int is a product, a float a call.
    """
    G = noise.shape[1]
    pattern = np.empty(G)
    for e in range(e0, e1):
        for g in range(G):
            pattern[g] = (1.0 - lam) / rho * noise[e, g]
        for i in range(feature.shape[0]):
            for p in range(feature.shape[1]):
                scale = lam * signal[i, p]
                z, total = scale / rho * features[e, feature[i, p]], 0.0
                for g in range(G):
                    u = z + pattern[g]
                    if 0.0 < u < 1.0:
                        total += residual[owner[e], g, i] * u**power
                out[e, feature[i, p]] += (power + 1.0) / rho * scale * scale * total
