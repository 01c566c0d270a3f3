"""Gauss quadrature for a Beta(a, b) law on [0, 1], also for shapes as small as 1e-6 and as large as 1e6.

With t = 2 lambda - 1 the density is proportional to the Jacobi weight (1 - t)^(b - 1) (1 + t)^(a - 1). The monic orthogonal polynomials p_0, p_1, ...
of a weight obey p_{j+1} = (t - c_j) p_j - o_j p_{j-1}. The n nodes are the eigenvalues of the symmetric tridiagonal matrix with c_0, ..., c_{n-1}
on the diagonal and sqrt(o_1), ..., sqrt(o_{n-1}) beside it, and the weights are the squares of the first components of its unit eigenvectors
(Golub and Welsch). With s = a + b the Jacobi weight has

    c_0 = (a - b) / s,       c_j = (a - b) (s - 2) / ((2j + s - 2) (2j + s)),
    o_1 = 4 a b / (s^2 (s + 1)),
    o_j = 4 j (j + a - 1) (j + b - 1) (j + s - 2) / ((2j + s - 2)^2 (2j + s - 1) (2j + s - 3))       for j >= 2.

In o_1 the factor s - 1 of the general formula has been divided out. Then no difference here loses digits, and nothing overflows: the total weight,
B(a, b), which is no double for large shapes, is not needed for a law, whose weights add up to 1.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np


@lru_cache(maxsize=64)  # over seeds the same laws come again and again
def beta_quadrature(a: float, b: float, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the nodes in [0, 1] and the weights, which add up to 1, that integrate polynomials of degree below 2 ``nodes`` exactly."""
    from scipy.linalg import eigh_tridiagonal

    diagonal, beside = _recurrence(a, b, nodes)
    t, vectors = eigh_tridiagonal(diagonal, np.sqrt(beside))
    weights = vectors[0] ** 2
    points, weights = np.clip(0.5 * (1.0 + t), 0.0, 1.0), weights / weights.sum()
    points.flags.writeable = weights.flags.writeable = False
    return points, weights


def _recurrence(a: float, b: float, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return c_0, ..., c_{nodes - 1} and o_1, ..., o_{nodes - 1}."""
    s = a + b
    j = np.arange(1, nodes, dtype=np.float64)
    c = (a - b) * (s - 2.0) / ((2.0 * (j - 1.0) + s) * (2.0 * j + s))
    o = np.full(nodes - 1, 4.0 * (a / s) * (b / s) / (s + 1.0))
    j = j[1:]
    o[1:] = 4.0 * j * (j + (a - 1.0)) * (j + (b - 1.0)) * ((j - 2.0) + s)
    o[1:] /= (2.0 * (j - 1.0) + s) ** 2 * (2.0 * j + (s - 1.0)) * ((2.0 * j - 3.0) + s)
    return np.concatenate([[(a - b) / s], c]), o
