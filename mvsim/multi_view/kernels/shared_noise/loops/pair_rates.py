"""The rates of `mvsim.multi_view.kernels.shared_noise.stiff_hessian.rates` at all pairs: one compiled loop."""

from __future__ import annotations

import numpy as np

from mvsim.multi_view.kernels.jit.compiling import SUMS, njit
from mvsim.multi_view.kernels.jit.loops.activation import slope


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
