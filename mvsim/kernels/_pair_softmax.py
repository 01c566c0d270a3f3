"""Softmax cross-entropy of all pairs of two groups of points, without one exponential for each pair and class.

Let the points be sorted by noise pattern, I the points with pattern g and J those with pattern h. Where no signal patches coincide,

    g_y(z_ij) = U[y, h, i] + V[y, g, j] + r B[y, g, h],

so exp(g_y(z_ij)) = X[y, i] Y[y, j] with X = exp(U) and Y = exp(V + r B), each formed once for a point and a pattern, not for a pair. The
partition function of the pairs I x J is then the matrix product Z = X^T Y, and with W_ij = weight_ij / Z_ij the sums that the adjoint needs,

    sum_j weight_ij phi_y(z_ij) = X[y, i] (Y W^T)[y, i],      sum_i weight_ij phi_y(z_ij) = Y[y, j] (X W)[y, j],

are two more. A pair whose signal patches coincide has one more factor exp(extra[y]) and is summed by itself. This is exact: N^2 k / 2 multiply-adds
three times and a few N logarithms replace N^2 k / 2 exponentials. Nothing is lost to underflow: R >= 0, so outputs are >= 0 and Z >= k. The caller
makes sure that nothing overflows (`LARGEST_OUTPUT`).

The part of the loss that is linear in the outputs, the sum of soft label times output, has constant coefficients and is not in here.
"""



from __future__ import annotations

import math

import numpy as np
from numba import njit

LARGEST_OUTPUT = 300.0
"""Outputs up to this are summed here: products of two partition functions then fit into a double."""


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def log_partition_of_pairs(
    b0, b1, block_patterns, start, EU, EV, EB, Eextra, repeats, extra_start, extra_pairs, weight, symmetric, sums, DU, DV, DB, Dextra
):  # fmt: skip
    """Fill sums[block] with the weighted sum of log Z for blocks b0 .. b1 - 1 and add its derivatives.

    These go to DU, DV (k, G, N), DB (k, blocks) and Dextra (k, E). EU, EV, EB, Eextra are the exponentials of U, V, repeats times B, and
    extra. With ``symmetric`` (lam = 1/2, EV is EU, DV is DU) a block visits i <= j only and counts i < j twice.
    """
    k = EU.shape[0]
    work = np.empty(k)
    for block in range(b0, b1):
        g, h = block_patterns[block, 0], block_patterns[block, 1]
        i0, j0 = start[g], start[h]
        rows, cols = start[g + 1] - i0, start[h + 1] - j0
        X, Y = np.empty((k, rows)), np.empty((k, cols))
        for y in range(k):
            for a in range(rows):
                X[y, a] = EU[y, h, i0 + a]
            for b in range(cols):
                Y[y, b] = EV[y, g, j0 + b] * EB[y, block]
        from_first, from_second = np.zeros((k, rows)), np.zeros((k, cols))
        W = np.full((rows, cols), 2.0 * weight if symmetric else weight)
        if symmetric and g == h:
            for a in range(rows):
                W[a, a] = weight
                for b in range(a):
                    W[a, b] = 0.0
        total = 0.0
        for e in range(extra_start[block], extra_start[block + 1]):
            a, b = extra_pairs[e, 0] - i0, extra_pairs[e, 1] - j0
            w, W[a, b] = W[a, b], 0.0
            Z = 0.0
            for y in range(k):
                work[y] = X[y, a] * Y[y, b] * Eextra[y, e]
                Z += work[y]
            total += w * math.log(Z)
            for y in range(k):
                share = work[y] * (w / Z)
                from_first[y, a] += share
                from_second[y, b] += share
                Dextra[y, e] += share
        Z = np.dot(X.T, Y)
        for a in range(rows):
            product, w_last = 1.0, 0.0
            for b in range(cols):
                w = W[a, b]
                if w == 0.0:
                    continue
                # One logarithm for as many factors as fit into a double, as long as their weight is the same.
                if w != w_last or product > 1e100:
                    total += w_last * math.log(product)
                    product, w_last = 1.0, w
                product *= Z[a, b]
                W[a, b] = w / Z[a, b]
            total += w_last * math.log(product)
        sums[block] = total
        plain_first, plain_second = np.dot(Y, W.T), np.dot(X, W)
        for y in range(k):
            sum_over_pairs = 0.0
            for a in range(rows):
                share = from_first[y, a] + X[y, a] * plain_first[y, a]
                DU[y, h, i0 + a] += share
                sum_over_pairs += share
            for b in range(cols):
                DV[y, g, j0 + b] += from_second[y, b] + Y[y, b] * plain_second[y, b]
            DB[y, block] += repeats * sum_over_pairs
