"""What `mvsim.multi_view.kernels.shared_noise.stiff_hessian.other_classes` sums over points: compiled loops."""

from __future__ import annotations

import numpy as np

from mvsim.multi_view.kernels.jit.compiling import SUMS, njit
from mvsim.multi_view.kernels.jit.loops.activation import bend, slope


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
