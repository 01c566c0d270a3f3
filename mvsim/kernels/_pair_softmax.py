"""Softmax cross-entropy of all pairs of two groups of points, without one exponential for each pair and class.

Let the points be sorted by noise pattern, I the points with pattern g and J those with pattern h. Where no signal patches coincide,

    g_y(z_ij) = U[y, i, h] + V[y, j, g] + r B[y, g, h],

so exp(g_y(z_ij)) = X[i, y] Y[j, y] with X = exp(U) and Y = exp(V + r B), each formed once for a point and a pattern, not for a pair. The
partition function of the pairs I x J is then the matrix product Z = X Y^T, and with W_ij = weight_ij / Z_ij the sums that the adjoint needs,

    sum_j weight_ij phi_y(z_ij) = X[i, y] (W Y)[i, y],      sum_i weight_ij phi_y(z_ij) = Y[j, y] (W^T X)[j, y],

are two more. This is exact: N^2 k / 2 multiply-adds each and N^2 logarithms replace N^2 k / 2 exponentials. X and Y are scaled by their row maxima. A sum
Z >= SMALLEST has lost at most k terms below the least positive double, a relative error under 1e-20; a pair with a smaller Z,
and a pair whose signal patches coincide, is done by itself with its own maximum.
"""

# ruff: noqa: PLR0913 - compiled loops take plain arrays

from __future__ import annotations

import math

import numpy as np
from numba import njit

SMALLEST = 1e-280
_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}


@njit(**_OPTIONS)
def _one_pair(U, V, B, extra, labels, i, j, g, h, block, repeats, lam, weight, DU, DV, DB, Dextra, e, g_out):
    """Return the weighted loss of one pair and scatter its residual; e < 0 means no extra outputs."""
    k = U.shape[0]
    top = -np.inf
    for y in range(k):
        g_out[y] = U[y, i, h] + V[y, j, g] + repeats * B[y, block]
        if e >= 0:
            g_out[y] += extra[y, e]
        top = max(top, g_out[y])
    first, second = labels[i], labels[j]
    loss = lam * (top - g_out[first]) + (1.0 - lam) * (top - g_out[second])
    total = 0.0
    for y in range(k):
        g_out[y] = math.exp(g_out[y] - top)
        total += g_out[y]
    loss += math.log(total)
    for y in range(k):
        residual = g_out[y] / total
        if y == first:
            residual -= lam
        if y == second:
            residual -= 1.0 - lam
        residual *= weight
        DU[y, i, h] += residual
        DV[y, j, g] += residual
        DB[y, block] += repeats * residual
        if e >= 0:
            Dextra[y, e] += residual
    return weight * loss


@njit(**_OPTIONS)
def pair_cross_entropy(b0, b1, block_patterns, start, labels, U, V, B, repeats, extra, extra_start, extra_pairs, lam, weight, symmetric, losses, DU, DV, DB, Dextra):
    """Fill losses[block] and add to the adjoints DU, DV (k, N, G), DB (k, blocks), Dextra (k, E) for blocks b0 .. b1 - 1.

    With ``symmetric`` (lam = 1/2, V is U, DV is DU) a block visits i <= j only and counts i < j twice.
    """
    k = U.shape[0]
    work = np.empty(k)
    for block in range(b0, b1):
        g, h = block_patterns[block, 0], block_patterns[block, 1]
        i0, j0 = start[g], start[h]
        rows, cols = start[g + 1] - i0, start[h + 1] - j0
        X, Y = np.empty((rows, k)), np.empty((cols, k))
        top_x, top_y = np.full(rows, -np.inf), np.full(cols, -np.inf)
        for y in range(k):
            shift = repeats * B[y, block]
            for a in range(rows):
                X[a, y] = U[y, i0 + a, h]
                top_x[a] = max(top_x[a], X[a, y])
            for b in range(cols):
                Y[b, y] = V[y, j0 + b, g] + shift
                top_y[b] = max(top_y[b], Y[b, y])
        loss = 0.0
        # The labels' share of the loss needs the outputs themselves, so it is taken before they become exponentials.
        W = np.full((rows, cols), 2.0 * weight if symmetric else weight)
        if symmetric and g == h:
            for a in range(rows):
                W[a, a] = weight
                for b in range(a):
                    W[a, b] = 0.0
        alone = extra_start[block]
        for e in range(alone, extra_start[block + 1]):
            a, b = extra_pairs[e, 0] - i0, extra_pairs[e, 1] - j0
            loss += _one_pair(U, V, B, extra, labels, i0 + a, j0 + b, g, h, block, repeats, lam, W[a, b], DU, DV, DB, Dextra, e, work)
            W[a, b] = 0.0
        for a in range(rows):
            for y in range(k):
                X[a, y] = math.exp(X[a, y] - top_x[a])
        for b in range(cols):
            for y in range(k):
                Y[b, y] = math.exp(Y[b, y] - top_y[b])
        Z = np.dot(X, Y.T)
        for a in range(rows):
            i = i0 + a
            first = labels[i]
            for b in range(cols):
                w = W[a, b]
                if w == 0.0:
                    continue
                j = j0 + b
                if not Z[a, b] >= SMALLEST:
                    loss += _one_pair(U, V, B, extra, labels, i, j, g, h, block, repeats, lam, w, DU, DV, DB, Dextra, -1, work)
                    W[a, b] = 0.0
                    continue
                second = labels[j]
                target = lam * (U[first, i, h] + V[first, j, g] + repeats * B[first, block])
                target += (1.0 - lam) * (U[second, i, h] + V[second, j, g] + repeats * B[second, block])
                loss += w * (math.log(Z[a, b]) + top_x[a] + top_y[b] - target)
                W[a, b] = w / Z[a, b]
                DU[first, i, h] -= lam * w
                DU[second, i, h] -= (1.0 - lam) * w
                DV[first, j, g] -= lam * w
                DV[second, j, g] -= (1.0 - lam) * w
                DB[first, block] -= repeats * lam * w
                DB[second, block] -= repeats * (1.0 - lam) * w
        losses[block] = loss
        from_first = X * np.dot(W, Y)
        from_second = Y * np.dot(W.T, X)
        for y in range(k):
            total = 0.0
            for a in range(rows):
                DU[y, i0 + a, h] += from_first[a, y]
                total += from_first[a, y]
            for b in range(cols):
                DV[y, j0 + b, g] += from_second[b, y]
            DB[y, block] += repeats * total
