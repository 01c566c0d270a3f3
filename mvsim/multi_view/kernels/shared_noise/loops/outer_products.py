"""Sums of outer products over the pairs of two classes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mvsim.multi_view.kernels.jit.compiling import SUMS, njit

_PAIRS_AT_ONCE = 512


class PairWeights(NamedTuple):
    """The weight phi (one - psi) of each pair of points.

    phi, psi  (N, N).
    one       1, or 0 for - phi psi.
    """

    phi: np.ndarray
    one: float
    psi: np.ndarray


@njit(**SUMS)
def outer_products(y0, y1, order, start, u, v, swapped, weights, out):
    """Write, for every class y in y0 .. y1 - 1 and every class s, the sum over i in N_y and j in N_s to out (k, k, n, n).

    It is of the weight of the pair times u v^T with u[i, j] in R^n and v[i, j], or v[j, i] if ``swapped``. Points of one class lie together, class y
    from start[y] to start[y + 1], and i is point order[i] of the weights. Some pairs at once are copied, each number to a row of its own: sums over
    pairs then vectorise.
    """
    phi, one, psi = weights
    n = u.shape[2]
    most = _PAIRS_AT_ONCE
    for y in range(len(start) - 1):
        most = max(most, start[y + 1] - start[y])
    left = np.empty((n, most))
    right = np.empty((n, most))
    for y in range(y0, y1):
        out[y] = 0.0
        for s in range(len(start) - 1):
            rows = max(1, _PAIRS_AT_ONCE // max(1, start[s + 1] - start[s]))
            for row in range(start[y], start[y + 1], rows):
                pairs = 0
                for i in range(row, min(row + rows, start[y + 1])):
                    for j in range(start[s], start[s + 1]):
                        weight = phi[order[i], order[j]] * (one - psi[order[i], order[j]])
                        a, b = (j, i) if swapped else (i, j)
                        for p in range(n):
                            left[p, pairs] = weight * u[i, j, p]
                            right[p, pairs] = v[a, b, p]
                        pairs += 1
                for p in range(n):
                    for q in range(n):
                        total = 0.0
                        for pair in range(pairs):
                            total += left[p, pair] * right[q, pair]
                        out[y, s, p, q] += total
