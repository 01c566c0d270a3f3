"""Softmax cross-entropy of all pairs of two groups of points at outputs whose exponentials do not fit into a double.

With top the class of the largest output of a pair and rest = sum_{y != top} exp(g_y - g_top), the loss of a pair with labels s and t and its
derivative are

    log1p(rest) + lam (g_top - g_s) + (1 - lam) (g_top - g_t),
    phi_y - lam 1[y = s] - (1 - lam) 1[y = t],   phi_y = exp(g_y - g_top) / (1 + rest),   1 - phi_top = rest / (1 + rest),

as in `mvsim.losses.cross_entropy`: nothing overflows, and a gap 1 - phi_top of 1e-300 keeps its digits. That is one exponential for each pair
and class, where `mvsim.multi_view.kernels.shared_noise.loops.softmax` needs one for each point, pattern and class.
"""

from __future__ import annotations

import math

import numpy as np

from mvsim.multi_view.kernels.jit.compiling import njit
from mvsim.multi_view.kernels.jit.loops.exponential import exponentiate

_LOWEST, _NOTHING = -700.0, 1e-304
"""No exponents below the first are taken, and what is then below the second counts as 0."""

# Sums may not be reordered: g_top - g_s must be 0 for s = top.
_OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy", "fastmath": {"contract"}}


@njit(forceinline=True, **_OPTIONS)
def _find_largest(outputs, top, largest):
    """Fill top and largest (n,) with the class of the largest output (k, n), and with this."""
    for n in range(len(top)):
        top[n] = 0
        largest[n] = outputs[0, n]
    for y in range(1, len(outputs)):
        row = outputs[y]
        for n in range(len(row)):
            if row[n] > largest[n]:
                largest[n], top[n] = row[n], y


@njit(forceinline=True, **_OPTIONS)
def _softmax(outputs, top, largest, rest):
    """Put phi in the place of outputs (k, n), but 0 for the class of the largest, and fill rest (n,)."""
    for y in range(len(outputs)):
        row = outputs[y]
        for n in range(len(row)):
            drop = row[n] - largest[n]
            row[n] = _LOWEST if drop < _LOWEST else drop
    exponentiate(outputs.reshape(outputs.size))
    rest[:] = 0.0
    for y in range(len(outputs)):
        row = outputs[y]
        for n in range(len(row)):
            row[n] = 0.0 if row[n] < _NOTHING or top[n] == y else row[n]
            rest[n] += row[n]
    for y in range(len(outputs)):
        row = outputs[y]
        for n in range(len(row)):
            row[n] /= 1.0 + rest[n]


@njit(**_OPTIONS)
def cross_entropy_of_pairs(b0, b1, block_pairs, values, sums):
    """Fill sums[block] with the weighted loss of blocks b0 .. b1 - 1, and put its derivative in the place of the values.

    Among the values, those of the blocks have been multiplied by ``repeats``.
    """
    start, labels, lam, weight = block_pairs.start, block_pairs.labels, block_pairs.lam, block_pairs.weight
    extra_start, extra_pairs, symmetric = block_pairs.extra_start, block_pairs.extra_pairs, block_pairs.symmetric
    U, V, terms = values.U, values.V, values.terms
    k, blocks, size = U.shape[0], len(block_pairs.blocks), 0
    for g in range(len(start) - 1):
        size = max(size, start[g + 1] - start[g])
    D_ = np.empty(k * size**2)
    for_each_pair = np.empty((4, size**2))
    top_ = np.empty(size**2, np.int64)
    by_first = np.empty(size)
    by_second = np.empty(size)
    for block in range(b0, b1):
        g, h = block_pairs.blocks[block, 0], block_pairs.blocks[block, 1]
        i0, j0 = start[g], start[h]
        rows, cols, folded = start[g + 1] - i0, start[h + 1] - j0, symmetric and g == h
        pairs, first_extra, last_extra = rows * cols, extra_start[block], extra_start[block + 1]
        D, top = D_[: k * pairs].reshape((k, pairs)), top_[:pairs]
        largest, rest, missed, weights = for_each_pair[0, :pairs], for_each_pair[1, :pairs], for_each_pair[2, :pairs], for_each_pair[3, :pairs]
        for y in range(k):
            row, noise = D[y], terms[y, block]
            for a in range(rows):
                for b in range(cols):
                    row[a * cols + b] = U[y, h, i0 + a] + (V[y, g, j0 + b] + noise)
            for e in range(first_extra, last_extra):
                row[(extra_pairs[e, 0] - i0) * cols + extra_pairs[e, 1] - j0] += terms[y, blocks + e]
        _find_largest(D, top, largest)
        for a in range(rows):
            for b in range(cols):
                n, s, t = a * cols + b, labels[i0 + a], labels[j0 + b]
                missed[n] = lam * (largest[n] - D[s, n]) + (1.0 - lam) * (largest[n] - D[t, n])
                weights[n] = weight if not symmetric or i0 + a == j0 + b else 0.0 if folded and a > b else 2.0 * weight
        _softmax(D, top, largest, rest)
        total = 0.0
        for a in range(rows):
            for b in range(cols):
                n, s, t = a * cols + b, labels[i0 + a], labels[j0 + b]
                total += weights[n] * (math.log1p(rest[n]) + missed[n])
                # The labels first: where both are the largest class, what is left is the gap, with all its digits.
                D[top[n], n] = 1.0
                D[s, n] -= lam
                D[t, n] -= 1.0 - lam
                D[top[n], n] -= rest[n] / (1.0 + rest[n])
        sums[block] = total
        for y in range(k):
            row, all_pairs = D[y], 0.0
            for n in range(pairs):
                row[n] *= weights[n]
            for e in range(first_extra, last_extra):
                terms[y, blocks + e] = row[(extra_pairs[e, 0] - i0) * cols + extra_pairs[e, 1] - j0]
            by_second[:cols] = 0.0
            for a in range(rows):
                by_first[a] = 0.0
                for b in range(cols):
                    by_first[a] += row[a * cols + b]
                    by_second[b] += row[a * cols + b]
                all_pairs += by_first[a]
            terms[y, block] = block_pairs.repeats * all_pairs
            for a in range(rows):
                U[y, h, i0 + a] = by_first[a]
            for b in range(cols):
                # Folded, first and second are the same entries.
                V[y, g, j0 + b] = V[y, g, j0 + b] + by_second[b] if folded else by_second[b]
