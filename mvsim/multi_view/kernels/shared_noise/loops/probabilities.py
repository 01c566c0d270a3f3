"""The softmax at every mixed point for the classes of its two points: of outputs of any size, and from exponentials where these fit."""

from __future__ import annotations

import numpy as np

from mvsim.multi_view.kernels.jit.compiling import SUMS, njit
from mvsim.multi_view.kernels.jit.loops.exponential import exponentiate

_LOWEST = -700.0
"""Exponents below it count as this: e^-700 is nothing beside 1, and `exponentiate` goes no lower."""


@njit(**SUMS)
def pair_probabilities(b0, b1, pairs, values, first, second):
    """Fill first[i, j] and second[i, j] with phi_y(z_ij) for the classes y of i and of j, for blocks b0 .. b1 - 1, as `Block.gather` adds them up.

    With ``pairs.symmetric`` (V is U) each block stands for its mirror image too.
    """
    blocks, start, labels = pairs.blocks, pairs.start, pairs.labels
    extra_start, extra_pairs, symmetric = pairs.extra_start, pairs.extra_pairs, pairs.symmetric
    U, V, terms = values.U, values.V, values.terms
    k = len(U)
    for block in range(b0, b1):
        g, h = blocks[block, 0], blocks[block, 1]
        i0, j0 = start[g], start[h]
        rows, cols = start[g + 1] - i0, start[h + 1] - j0
        outputs = np.empty((k, rows * cols))
        top = np.zeros(rows * cols)
        total = np.zeros(rows * cols)
        for y in range(k):
            noise, own, other = pairs.repeats * terms[y, block], U[y, h, i0 : i0 + rows], V[y, g, j0 : j0 + cols]
            for a in range(rows):
                row = outputs[y, a * cols : (a + 1) * cols]
                for b in range(cols):
                    row[b] = own[a] + noise + other[b]
            for e in range(extra_start[block], extra_start[block + 1]):
                outputs[y, (extra_pairs[e, 0] - i0) * cols + extra_pairs[e, 1] - j0] += terms[y, len(blocks) + e]
            row = outputs[y]
            for n in range(len(top)):
                top[n] = row[n] if row[n] > top[n] else top[n]  # outputs are >= 0
        for y in range(k):
            row = outputs[y]
            for n in range(len(top)):
                row[n] = row[n] - top[n] if row[n] - top[n] > _LOWEST else _LOWEST
            exponentiate(row)
            for n in range(len(top)):
                total[n] += row[n]
        for a in range(rows):
            for b in range(cols):
                i, j, n = i0 + a, j0 + b, a * cols + b
                if symmetric and i > j:  # the extra pairs are those with i <= j
                    continue
                first[i, j], second[i, j] = outputs[labels[i], n] / total[n], outputs[labels[j], n] / total[n]
                if symmetric:
                    first[j, i], second[j, i] = second[i, j], first[i, j]


@njit(**SUMS)
def pair_probabilities_of_exponentials(b0, b1, pairs, exponentials, first, second):
    """Do the same from exponentials, without one for each pair and class: see `mvsim.multi_view.kernels.shared_noise.loops.softmax`."""
    blocks, start, labels = pairs.blocks, pairs.start, pairs.labels
    extra_start, extra_pairs, symmetric = pairs.extra_start, pairs.extra_pairs, pairs.symmetric
    U, V, terms = exponentials.U, exponentials.V, exponentials.terms
    k = len(U)
    for block in range(b0, b1):
        g, h = blocks[block, 0], blocks[block, 1]
        i0, j0 = start[g], start[h]
        rows, cols = start[g + 1] - i0, start[h + 1] - j0
        partition = np.zeros((rows, cols))
        by_second = np.empty((k, cols))
        for y in range(k):
            own, other, noise = U[y, h, i0 : i0 + rows], by_second[y], terms[y, block]
            for b in range(cols):
                other[b] = V[y, g, j0 + b] * noise
            for a in range(rows):
                for b in range(cols):
                    partition[a, b] += own[a] * other[b]
        for a in range(rows):
            for b in range(cols):
                i, j = i0 + a, j0 + b
                s, t, each = labels[i], labels[j], 1.0 / partition[a, b]
                if symmetric and i > j:
                    continue
                first[i, j], second[i, j] = U[s, h, i] * by_second[s, b] * each, U[t, h, i] * by_second[t, b] * each
        for e in range(extra_start[block], extra_start[block + 1]):
            i, j = extra_pairs[e, 0], extra_pairs[e, 1]
            s, t, total = labels[i], labels[j], 0.0
            for y in range(k):
                total += U[y, h, i] * by_second[y, j - j0] * terms[y, len(blocks) + e]
            first[i, j] = U[s, h, i] * by_second[s, j - j0] * terms[s, len(blocks) + e] / total
            second[i, j] = U[t, h, i] * by_second[t, j - j0] * terms[t, len(blocks) + e] / total
        if symmetric:
            for a in range(rows):
                for b in range(cols):
                    i, j = i0 + a, j0 + b
                    if i <= j:
                        first[j, i], second[j, i] = second[i, j], first[i, j]
