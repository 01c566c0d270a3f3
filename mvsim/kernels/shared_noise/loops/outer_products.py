"""Sums of outer products over the pairs of two classes."""

from __future__ import annotations

import numpy as np

from mvsim.kernels.jit.compiling import njit


@njit(nogil=True, cache=True, fastmath={"contract"})
def outer_products(y0, y1, start, u, v, phi, psi, uu, uv, vv):
    """Write, for every class y in y0 .. y1 - 1 and every class s, sums over i in N_y and j in N_s to uu, uv, vv (k, k, n, n).

    They are of phi (1 - phi) u u^T, -phi psi u v^T and psi (1 - psi) v v^T with u[i, j] and v[j, i] in R^n, phi[i, j] and psi[i, j];
    points of one class lie together, class y from start[y] to start[y + 1].
    """
    n = u.shape[2]
    for y in range(y0, y1):
        for s in range(len(start) - 1):
            for total in (uu[y, s], uv[y, s], vv[y, s]):
                total[:] = 0.0
            for i in range(start[y], start[y + 1]):
                for j in range(start[s], start[s + 1]):
                    first, second = phi[i, j], psi[i, j]
                    a, b = u[i, j], v[j, i]
                    for p in range(n):
                        of_uu, of_uv, of_vv = first * (1.0 - first) * a[p], -first * second * a[p], second * (1.0 - second) * b[p]
                        for q in range(n):
                            uu[y, s, p, q] += of_uu * a[q]
                            uv[y, s, p, q] += of_uv * b[q]
                            vv[y, s, p, q] += of_vv * b[q]


def empty_products(k: int, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return arrays for the results."""
    return np.empty((k, k, n, n)), np.empty((k, k, n, n)), np.empty((k, k, n, n))
