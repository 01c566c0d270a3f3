"""The derivative along a direction of what `mvsim.multi_view.kernels.shared_noise.loops.softmax` computes, by matrix products as there.

Let a dot be the derivative along the direction: a = U' and b = V' + r B' move the outputs of a pair by a[y, i] + b[y, j]. With X, Y, Z and
W_ij = weight_ij / Z_ij from there, the softmax is phi_y = X[y, i] Y[y, j] / Z_ij, its mean of the changes

    S_ij = sum_y phi_y (a[y, i] + b[y, j]) = (sum_y (X a)[y, i] Y[y, j] + X[y, i] (Y b)[y, j]) / Z_ij,

and phi_y' = phi_y (a[y, i] + b[y, j] - S_ij). So the sums that the adjoint needs change by

    sum_j weight_ij phi_y' = X (a (Y W^T) + (Y b) W^T - Y (W S)^T),      sum_i weight_ij phi_y' = Y (b (X W) + (X a) W - X (W S)),

W S entry by entry. Pairs whose signal patches coincide are summed by themselves.
"""

from __future__ import annotations

import numpy as np

from mvsim.multi_view.kernels.jit.compiling import SUMS, njit


@njit(forceinline=True, **SUMS)
def _shift(rows, move, out):
    """Fill out with rows * move, (k, n) each."""
    for y in range(rows.shape[0]):
        for n in range(rows.shape[1]):
            out[y, n] = rows[y, n] * move[y, n]


@njit(forceinline=True, **SUMS)
def _combine(factor, move, plain, moved, mean, by, by_moved):
    """Fill by with factor * plain and by_moved with factor * (move * plain + moved - mean)."""
    for y in range(factor.shape[0]):
        for n in range(factor.shape[1]):
            by[y, n] = factor[y, n] * plain[y, n]
            by_moved[y, n] = factor[y, n] * (move[y, n] * plain[y, n] + moved[y, n] - mean[y, n])


@njit(**SUMS)
def softmax_curvature_of_pairs(b0, b1, pairs, exponentials, tangents, targets):
    """For blocks b0 .. b1 - 1, put derivatives in the place of exponentials, and their changes in the place of the tangents.

    The tangents are those of the values, with ``repeats`` not yet in the blocks among them.
    """
    start, extra_start, extra_pairs = pairs.start, pairs.extra_start, pairs.extra_pairs
    repeats, weight, symmetric = pairs.repeats, pairs.weight, pairs.symmetric
    U, V, terms = exponentials.U, exponentials.V, exponentials.terms
    dU, dV, dterms = tangents.U, tangents.V, tangents.terms
    k, blocks = U.shape[0], len(pairs.blocks)
    work = np.empty(k)
    move = np.empty(k)
    pair_weight = 2.0 * weight if symmetric else weight
    for block in range(b0, b1):
        g, h = pairs.blocks[block, 0], pairs.blocks[block, 1]
        i0, i1, j0, j1 = start[g], start[g + 1], start[h], start[h + 1]
        folded = symmetric and g == h
        X, Y, a, b = U[:, h, i0:i1].copy(), V[:, g, j0:j1].copy(), dU[:, h, i0:i1].copy(), dV[:, g, j0:j1].copy()
        for y in range(k):
            for n in range(j1 - j0):
                Y[y, n] *= terms[y, block]
                b[y, n] += repeats * dterms[y, block]
        Xa = np.empty_like(X)
        Yb = np.empty_like(Y)
        _shift(X, a, Xa)
        _shift(Y, b, Yb)
        W, S, S_second = np.dot(X.T, Y), np.dot(Xa.T, Y), np.dot(X.T, Yb)
        for e in range(extra_start[block], extra_start[block + 1]):  # may be 0, and comes to nothing
            W[extra_pairs[e, 0] - i0, extra_pairs[e, 1] - j0] = 1.0
        for n in range(i1 - i0):
            for o in range(j1 - j0):
                S[n, o] = (S[n, o] + S_second[n, o]) / W[n, o]
                W[n, o] = pair_weight / W[n, o]
        for e in range(extra_start[block], extra_start[block + 1]):
            W[extra_pairs[e, 0] - i0, extra_pairs[e, 1] - j0] = 0.0
        if folded:
            for n in range(i1 - i0):
                W[n, :n] = 0.0
        for n in range(i1 - i0):
            for o in range(j1 - j0):
                S[n, o] *= W[n, o]
        W_T, S_T = np.ascontiguousarray(W.T), np.ascontiguousarray(S.T)
        by_X = np.empty_like(X)
        by_Y = np.empty_like(Y)
        by_X_moved = np.empty_like(X)
        by_Y_moved = np.empty_like(Y)
        _combine(X, a, np.dot(Y, W_T), np.dot(Yb, W_T), np.dot(Y, S_T), by_X, by_X_moved)
        _combine(Y, b, np.dot(X, W), np.dot(Xa, W), np.dot(X, S), by_Y, by_Y_moved)
        for e in range(extra_start[block], extra_start[block + 1]):
            i, j = extra_pairs[e, 0] - i0, extra_pairs[e, 1] - j0
            w = weight if symmetric and extra_pairs[e, 0] == extra_pairs[e, 1] else pair_weight
            partition, mean = 0.0, 0.0
            for y in range(k):
                work[y] = X[y, i] * Y[y, j] * terms[y, blocks + e]
                move[y] = a[y, i] + b[y, j] + dterms[y, blocks + e]
                partition += work[y]
                mean += work[y] * move[y]
            mean /= partition
            for y in range(k):
                share = work[y] * (w / partition)
                change = share * (move[y] - mean)
                by_X[y, i] += share
                by_Y[y, j] += share
                by_X_moved[y, i] += change
                by_Y_moved[y, j] += change
                terms[y, blocks + e] = share - targets.terms[y, blocks + e]
                dterms[y, blocks + e] = change
        for y in range(k):
            D, dD, target, total, total_moved = U[y, h, i0:i1], dU[y, h, i0:i1], targets.U[y, h, i0:i1], 0.0, 0.0
            for n in range(i1 - i0):
                D[n] = by_X[y, n] - target[n]
                dD[n] = by_X_moved[y, n]
                total += by_X[y, n]
                total_moved += by_X_moved[y, n]
            terms[y, block] = repeats * total - targets.terms[y, block]
            dterms[y, block] = repeats * total_moved
            D, dD, target = V[y, g, j0:j1], dV[y, g, j0:j1], targets.V[y, g, j0:j1]
            for n in range(j1 - j0):
                if folded:  # by the first and by the second point are the same entries
                    D[n] += by_Y[y, n]
                    dD[n] += by_Y_moved[y, n]
                else:
                    D[n] = by_Y[y, n] - target[n]
                    dD[n] = by_Y_moved[y, n]
