"""Compiled loops behind the stiff part of the Hessian: of `hessian_of_pairs` and `pair_softmax`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mvsim.multi_view.kernels.jit.compiling import SUMS, njit
from mvsim.multi_view.kernels.jit.loops.activation import bend, slope


class Readers(NamedTuple):
    """See `mvsim.multi_view.kernels.shared_noise.escaped.Escaped` and `Layout`."""

    # order, place, labels, pattern, feature, signal: Of the points
    order: np.ndarray
    place: np.ndarray
    labels: np.ndarray
    pattern: np.ndarray
    feature: np.ndarray
    signal: np.ndarray
    # real, c, noise: Of the neurons
    real: np.ndarray
    c: np.ndarray
    noise: np.ndarray
    over_scale: float  # 1 / scale of the activation
    activation: tuple  # See `mvsim.multi_view.activations.Activation.compiled`


_PAIRS_AT_ONCE = 512


class PairWeights(NamedTuple):
    """The weight phi (one - psi) of each pair of points."""

    # phi, psi: (N, N)
    phi: np.ndarray
    one: float  # 1, or 0 for - phi psi
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


@njit(**SUMS)
def fill_pair_rates(row0, row1, lam, readers, meetings, rates):
    """Fill rows row0 .. row1 - 1 of rates (N, N, 2, E, V), own and other; the patches that coincide are those of ``meetings``.

    Own rates depend on the second point only through its pattern. For other rates, what a neuron reads in the signal of all points is formed
    once for each class of the first point.
    """
    order, place, labels, pattern, feature, signal, real, c, noise, over_scale, activation = readers
    N, S = signal.shape
    E, V = rates.shape[3:]
    patches = S // V  # of a view
    weight = np.empty(N * S)
    read = np.empty(N * S)
    other = np.empty(N * S)
    own = np.empty(noise.shape[2])
    for column in range(N):
        for q in range(S):
            weight[column * S + q] = (1.0 - lam) * signal[order[column], q]
    for e in range(E):
        class_read = -1
        for row in range(row0, row1):
            i = order[row]
            y = labels[i]
            if not real[y, e]:
                rates[row, :, :, e] = 0.0
                continue
            if y != class_read:
                class_read = y
                for column in range(N):
                    for q in range(S):
                        read[column * S + q] = over_scale * weight[column * S + q] * c[y, e, feature[order[column], q]]
            shift = over_scale * lam * noise[y, e, pattern[i]]
            for n in range(N * S):
                other[n] = weight[n] * slope(read[n] + shift, activation)
            for view in range(V):
                own[:] = 0.0
                for p in range(view * patches, (view + 1) * patches):
                    share = lam * signal[i, p]
                    own_read = over_scale * share * c[y, e, feature[i, p]]
                    for h in range(len(own)):
                        own[h] += share * slope(own_read + over_scale * (1.0 - lam) * noise[y, e, h], activation)
                for column in range(N):
                    total = 0.0
                    for q in range(view * patches, (view + 1) * patches):
                        total += other[column * S + q]
                    rates[row, column, 0, e, view] = own[pattern[order[column]]]
                    rates[row, column, 1, e, view] = total
    for n in range(len(meetings.pair)):
        i, p, j, q = meetings.i[n], meetings.p[n], meetings.j[n], meetings.q[n]
        row, column, y = place[i], place[j], labels[i]
        if row < row0 or row >= row1:
            continue
        share_i, share_j = lam * signal[i, p], (1.0 - lam) * signal[j, q]
        for e in range(E):
            if real[y, e]:
                from_i, from_j = over_scale * share_i * c[y, e, feature[i, p]], over_scale * share_j * c[y, e, feature[j, q]]
                both = slope(from_i + from_j, activation)
                on_noise = slope(from_i + over_scale * (1.0 - lam) * noise[y, e, pattern[j]], activation)
                rates[row, column, 0, e, p // patches] += share_i * (both - on_noise)
                on_noise = slope(from_j + over_scale * lam * noise[y, e, pattern[i]], activation)
                rates[row, column, 1, e, q // patches] += share_j * (both - on_noise)


@njit(**SUMS)
def sums_on_noise(y0, y1, lam, readers, third, residual, blocks, bends):
    """Add the sums over points of other classes, on the noise of all patterns, for the neurons of classes y0 .. y1 - 1.

    To blocks (k, k, V E, V E) those of third r r^T, to bends (k, k, V E) those of residual (lam beta)^2 R''; third and residual are (k, G, N).
    """
    labels, feature, signal, real = readers.labels, readers.feature, readers.signal, readers.real
    noise, over_scale, activation = readers.noise, readers.over_scale, readers.activation
    N, S = signal.shape
    E, G = noise.shape[1], noise.shape[2]
    n = bends.shape[2]
    patches = S * E // n  # of a view
    rates, sloped, bent = np.empty((n, G)), np.empty(G), np.empty(G)
    for y in range(y0, y1):
        shift = over_scale * (1.0 - lam) * noise[y]
        for i in range(N):
            s = labels[i]
            if s == y:
                continue
            rates[:] = 0.0
            for g in range(G):
                sloped[g], bent[g] = third[y, g, i], residual[y, g, i]
            for e in range(E):
                if not real[y, e]:
                    continue
                for p in range(S):
                    share = lam * signal[i, p]
                    read, place, total = over_scale * share * readers.c[y, e, feature[i, p]], e * (n // E) + p // patches, 0.0
                    row = rates[place]
                    for g in range(G):
                        row[g] += share * slope(read + shift[e, g], activation)
                    for g in range(G):
                        total += bent[g] * bend(read + shift[e, g], activation)
                    bends[y, s, place] += over_scale * share * share * total
            for a in range(n):
                for b in range(a + 1):
                    total = 0.0
                    for g in range(G):
                        total += sloped[g] * rates[a, g] * rates[b, g]
                    blocks[y, s, a, b] += total
                    if b < a:
                        blocks[y, s, b, a] += total


@njit(**SUMS)
def bends_at_meetings(y0, y1, lam, readers, meetings, residual, bends):
    """Replace, in bends (k, k, V E), R'' on noise by R'' on the other's signal where two signal patches coincide; residual is (k, pairs)."""
    labels, feature, signal, real, pattern = readers.labels, readers.feature, readers.signal, readers.real, readers.pattern
    c, noise, over_scale, activation = readers.c, readers.noise, readers.over_scale, readers.activation
    E, n = noise.shape[1], bends.shape[2]
    patches = signal.shape[1] * E // n
    for y in range(y0, y1):
        for entry in range(len(meetings.pair)):
            i, p, j, q = meetings.i[entry], meetings.p[entry], meetings.j[entry], meetings.q[entry]
            if labels[i] == y and labels[j] == y:
                continue
            weight = over_scale * residual[y, meetings.pair[entry]]
            share_i, share_j = lam * signal[i, p], (1.0 - lam) * signal[j, q]
            between = share_i * share_j if feature[i, p] == feature[j, q] else 0.0
            for e in range(E):
                if not real[y, e]:
                    continue
                from_i, from_j = over_scale * share_i * c[y, e, feature[i, p]], over_scale * share_j * c[y, e, feature[j, q]]
                both = bend(from_i + from_j, activation)
                if labels[i] != y:
                    on_noise = bend(from_i + over_scale * (1.0 - lam) * noise[y, e, pattern[j]], activation)
                    bends[y, labels[i], e * (n // E) + p // patches] += weight * (share_i * share_i * (both - on_noise) + between * both)
                if labels[j] != y:
                    on_noise = bend(from_j + over_scale * lam * noise[y, e, pattern[i]], activation)
                    bends[y, labels[j], e * (n // E) + q // patches] += weight * (share_j * share_j * (both - on_noise) + between * both)


@njit(**SUMS)
def pair_probabilities(b0, b1, pairs, exponentials, first, second):
    """Fill first and second (N, N) with the softmax for the classes of both points of each pair of blocks b0 .. b1 - 1.

    See `mvsim.multi_view.kernels.shared_noise.loops.softmax`.
    """
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
