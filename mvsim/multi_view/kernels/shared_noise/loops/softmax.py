"""Softmax cross-entropy of all pairs of two groups of points, without one exponential for each pair and class.

Let the points be sorted by noise pattern, I the points with pattern g and J those with pattern h. Where no signal patches coincide,

    g_y(z_ij) = U[y, h, i] + V[y, g, j] + r B[y, g, h],

so exp(g_y(z_ij)) = X[y, i] Y[y, j] with X = exp(U) and Y = exp(V + r B), each formed once for a point and a pattern, not for a pair. The
partition function of the pairs I x J is then the matrix product Z = X^T Y, and with W_ij = weight_ij / Z_ij the sums that the adjoint needs,

    sum_j weight_ij phi_y(z_ij) = X[y, i] (Y W^T)[y, i],      sum_i weight_ij phi_y(z_ij) = Y[y, j] (X W)[y, j],

are two more. A pair whose signal patches coincide has one more factor exp(extra[y]) and is summed by itself. This is exact: N^2 k / 2 multiply-adds
three times and a few N logarithms replace N^2 k / 2 exponentials. Nothing is lost to underflow: R >= 0, so outputs are >= 0 and Z >= k. The caller
makes sure that nothing overflows (`mvsim.multi_view.kernels.limits.LARGEST_OUTPUT`).

The part of the loss that is linear in the outputs, the sum of soft label times output, has constant coefficients in the tables, the targets:
`linear_part` sums it for one table of one class.
"""

from __future__ import annotations

import math

import numpy as np

from mvsim.multi_view.kernels.jit.compiling import SUMS, njit

_LARGEST_LOGARITHM = 700.0
"""Of a product of partition functions: it must fit into a double."""


@njit(**SUMS)
def linear_part(targets, values):
    """Return the sum over the entries of targets times values, (n,) each."""
    total = 0.0
    for n in range(len(targets)):
        total += targets[n] * values[n]
    return total


@njit(forceinline=True, **SUMS)
def sum_of_logarithms(Z):
    """Return the sum of log Z for Z >= 1, with one logarithm for as many factors as fit into a double."""
    bound = 0.0
    for n in range(len(Z)):
        bound += Z[n]
    factors = len(Z) if len(Z) * math.log(bound) < _LARGEST_LOGARITHM else int(_LARGEST_LOGARITHM / math.log(bound))
    total = 0.0
    for first in range(0, len(Z), factors):
        part, product = Z[first : first + factors], 1.0
        for n in range(len(part)):
            product *= part[n]
        total += math.log(product)
    return total


@njit(**SUMS)
def log_partition_of_pairs(b0, b1, pairs, exponentials, targets, sums, first_phi, second_phi):
    """Fill sums[block] with the weighted sum of log Z for blocks b0 .. b1 - 1, and put derivatives in the place of exponentials.

    Every entry of the tables belongs to one block; it becomes the derivative of the loss, which is that of the sums less the target. With
    ``pairs.symmetric`` (lam = 1/2, V is U) a block visits i <= j only and counts i < j twice; pairs i = j are extra. The softmax itself goes to
    first_phi and second_phi, see `mvsim.multi_view.kernels.shared_noise.pair_softmax.PairProbability`, if these are not empty.
    """
    start, extra_start, extra_pairs = pairs.start, pairs.extra_start, pairs.extra_pairs
    weight, symmetric, labels = pairs.weight, pairs.symmetric, pairs.labels
    U, V, terms = exponentials.U, exponentials.V, exponentials.terms
    k, blocks, largest = U.shape[0], len(pairs.blocks), 0
    for g in range(len(start) - 1):
        largest = max(largest, start[g + 1] - start[g])
    X_ = np.empty(k * largest)
    Y_ = np.empty(k * largest)
    by_X = np.empty(k * largest)
    by_Y = np.empty(k * largest)
    Z_ = np.empty(largest * largest)
    work = np.empty(k)
    pair_weight = 2.0 * weight if symmetric else weight
    for block in range(b0, b1):
        g, h = pairs.blocks[block, 0], pairs.blocks[block, 1]
        i0, j0 = start[g], start[h]
        rows, cols, folded = start[g + 1] - i0, start[h + 1] - j0, symmetric and g == h
        X, Y, Z = X_[: k * rows].reshape((k, rows)), Y_[: k * cols].reshape((k, cols)), Z_[: rows * cols].reshape((rows, cols))
        from_X, from_Y = by_X[: k * rows].reshape((k, rows)), by_Y[: k * cols].reshape((k, cols))
        for y in range(k):
            first, second, noise = U[y, h, i0 : i0 + rows], V[y, g, j0 : j0 + cols], terms[y, block]
            for a in range(rows):
                X[y, a] = first[a]
            for b in range(cols):
                Y[y, b] = second[b] * noise
        np.dot(X.T, Y, Z)
        if len(first_phi):
            for a in range(rows):
                s = labels[i0 + a]
                for b in range(cols):
                    first_phi[i0 + a, j0 + b] = X[s, a] * Y[s, b] / Z[a, b]
            for b in range(cols):
                s = labels[j0 + b]
                for a in range(rows):
                    second_phi[j0 + b, i0 + a] = X[s, a] * Y[s, b] / Z[a, b]
        # What is not a plain pair counts as log 1 here and with weight 0 below.
        for e in range(extra_start[block], extra_start[block + 1]):
            Z[extra_pairs[e, 0] - i0, extra_pairs[e, 1] - j0] = 1.0
        if folded:
            for a in range(rows):
                Z[a, :a] = 1.0
        total = pair_weight * sum_of_logarithms(Z_[: rows * cols])
        W = Z
        for n in range(rows * cols):
            Z_[n] = pair_weight / Z_[n]
        for e in range(extra_start[block], extra_start[block + 1]):
            W[extra_pairs[e, 0] - i0, extra_pairs[e, 1] - j0] = 0.0
        if folded:
            for a in range(rows):
                W[a, :a] = 0.0
        np.dot(Y, W.T, from_X)
        np.dot(X, W, from_Y)
        for n in range(k * rows):
            by_X[n] *= X_[n]
        for n in range(k * cols):
            by_Y[n] *= Y_[n]
        for e in range(extra_start[block], extra_start[block + 1]):
            a, b = extra_pairs[e, 0] - i0, extra_pairs[e, 1] - j0
            w = weight if symmetric and extra_pairs[e, 0] == extra_pairs[e, 1] else pair_weight
            partition = 0.0
            for y in range(k):
                work[y] = X[y, a] * Y[y, b] * terms[y, blocks + e]
                partition += work[y]
            total += w * math.log(partition)
            if len(first_phi):
                i, j = extra_pairs[e, 0], extra_pairs[e, 1]
                first_phi[i, j], second_phi[j, i] = work[labels[i]] / partition, work[labels[j]] / partition
            for y in range(k):
                share = work[y] * (w / partition)
                from_X[y, a] += share
                from_Y[y, b] += share
                terms[y, blocks + e] = share - targets.terms[y, blocks + e]
        sums[block] = total
        for y in range(k):
            first, target, sum_over_pairs = U[y, h, i0 : i0 + rows], targets.U[y, h, i0 : i0 + rows], 0.0
            for a in range(rows):
                first[a] = from_X[y, a] - target[a]
                sum_over_pairs += from_X[y, a]
            terms[y, block] = pairs.repeats * sum_over_pairs - targets.terms[y, block]
            second, target = V[y, g, j0 : j0 + cols], targets.V[y, g, j0 : j0 + cols]
            if folded:  # first and second are the same entries
                for b in range(cols):
                    second[b] += from_Y[y, b]
            else:
                for b in range(cols):
                    second[b] = from_Y[y, b] - target[b]
