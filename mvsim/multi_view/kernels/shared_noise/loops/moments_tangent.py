"""Derivatives along a direction of the sums and adjoints in `moments` beside this file, whose letters and regimes they share.

Let a dot be the derivative along the direction, so that A and B of a neuron move by A' = lam c' and B' = mu n' (all in units of rho). Regimes
do not move. With

    [A^q]' = q A^(q - 1) A',      [B^p]' = p B^(p - 1) B',

the values need the products M_q' = [A^q]' B^(alpha - q) + A^q [B^(alpha - q)]', and the adjoint, with E_q and E_q' from D and its derivative,

    by n:   N_q = E_q^T A^q,               N_q' = E_q'^T A^q + E_q^T [A^q]',
    by c:   F_q = E_(q+1) B^(alpha-q-1),   F_q' = E_(q+1)' B^(alpha-q-1) + E_(q+1) [B^(alpha-q-1)]',

which is three products where the adjoint has one. For the others, evaluated one by one, w = D R' becomes D' R' + D R'' z'.
"""

from __future__ import annotations

import numpy as np

from mvsim.multi_view.kernels.jit.compiling import SUMS, njit
from mvsim.multi_view.kernels.jit.loops.activation import bend, slope
from mvsim.multi_view.kernels.shared_noise.loops.moments import (
    LINEAR,
    OTHER,
    _fill_powers,
    _fill_transposed,
    _mask_and_scale,
    _members,
    _raise,
    regimes_of,
)


@njit(forceinline=True, **SUMS)
def _most_rows(constants):
    """Return the largest number of rows of a class."""
    most = 0
    for s in range(len(constants.class_start) - 1):
        most = max(most, constants.start[constants.class_start[s + 1]] - constants.start[constants.class_start[s]])
    return most


@njit(forceinline=True, **SUMS)
def _sum_runs(rows, total):
    """Fill total (n, G) with the sum of the runs of n rows."""
    rows, total = rows.reshape(rows.size), total.reshape(total.size)
    total[:] = 0.0
    for first in range(0, len(rows), len(total)):
        run = rows[first : first + len(total)]
        for n in range(len(total)):
            total[n] += run[n]


@njit(forceinline=True, **SUMS)
def _repeat_runs(total, rows):
    """Fill every run of rows with total: the adjoint of `_sum_runs`."""
    rows, total = rows.reshape(rows.size), total.reshape(total.size)
    for first in range(0, len(rows), len(total)):
        run = rows[first : first + len(total)]
        for n in range(len(total)):
            run[n] = total[n]


@njit(forceinline=True, **SUMS)
def _fill_moved_powers(powers, move, moved):
    """Fill moved[p] with the derivative p base^(p - 1) move of powers[p] = base^p."""
    moved[0] = 0.0
    for p in range(1, len(powers)):
        _scale_product(float(p), powers[p - 1], move, moved[p])


@njit(forceinline=True, **SUMS)
def _scale_product(scale, a, b, out):
    a, b, out = a.reshape(a.size), b.reshape(b.size), out.reshape(out.size)
    for n in range(len(out)):
        out[n] = scale * a[n] * b[n]


@njit(forceinline=True, **SUMS)
def _add_two_products(scale, a, b, c, d, out):
    a, b, c, d, out = a.reshape(a.size), b.reshape(b.size), c.reshape(c.size), d.reshape(d.size), out.reshape(out.size)
    for n in range(len(out)):
        out[n] += scale * (a[n] * b[n] + c[n] * d[n])


@njit(forceinline=True, **SUMS)
def _add(a, out):
    a, out = a.reshape(a.size), out.reshape(out.size)
    for n in range(len(out)):
        out[n] += a[n]


@njit(forceinline=True, **SUMS)
def _add_tangents(own, own_move, noise, noise_move, signal, scale, rows, activation):
    """Add scale R' z' of one neuron to rows (n, G); arguments as for `_add_values` of `moments`, and how they move."""
    for n in range(len(signal)):
        x, dx = signal[n] * own, signal[n] * own_move
        for g in range(len(noise)):
            rows[n, g] += scale * slope(x + noise[g], activation) * (dx + noise_move[g])


@njit(forceinline=True, **SUMS)
def _add_bends(own, own_move, noise, noise_move, signal, rows, changes, by_pattern, activation):
    """Add w = D' R' + D R'' z' of one neuron to by_pattern, with D in rows and D' in changes, and return its sum times the signal."""
    total = 0.0
    for n in range(len(signal)):
        x, dx, share = signal[n] * own, signal[n] * own_move, 0.0
        for g in range(len(noise)):
            z = x + noise[g]
            w = changes[n, g] * slope(z, activation) + rows[n, g] * bend(z, activation) * (dx + noise_move[g])
            by_pattern[g] += w
            share += w
        total += signal[n] * share
    return total


@njit(**SUMS)
def moment_tangents(y0, y1, columns, moves, constants, table, entries, activation):
    """Fill table with the derivative of `moment_values` along moves, and subtract that of the single entries from entries."""
    unit, alpha = activation.unit, activation.alpha
    order, S = constants.powers.shape[1] - 1, len(constants.signal) // len(constants.place)
    F, (G, m), N = len(constants.low), (table.shape[1], columns.shape[2]), len(constants.place)
    lam, mu = constants.lam, 1.0 - constants.lam
    A = np.empty((F, m))
    A_moved = np.empty((F, m))
    own = np.empty((F, m))
    own_move = np.empty((F, m))
    noise = np.empty((m, G))
    noise_move = np.empty((m, G))
    B = np.empty((order + 1, m, G))
    B_moved = np.empty((order + 1, m, G))
    M = np.empty((order + 1, F, G))
    M_part = np.empty((F, G))
    mask = np.empty((F, m))
    of_feature = np.empty((order + 1, G))
    of_class = np.empty((_most_rows(constants), G))
    points = np.empty((N, G))
    members = np.empty(m, np.int64)
    for y in range(y0, y1):
        regimes = regimes_of(columns[y, :F], columns[y, F:], lam, constants.low, constants.high, order)
        _mask_and_scale(regimes, moves[y, :F], lam, mask, own_move)
        _mask_and_scale(regimes, columns[y, :F], lam, A, own)
        _fill_transposed(columns[y, F:], mu, noise)
        _fill_transposed(moves[y, F:], mu, noise_move)
        _fill_powers(noise, B)
        _fill_moved_powers(B, noise_move, B_moved)
        A_moved[:] = 0.0
        for q in range(order + 1):
            np.dot(A, B_moved[order - q], M[q])
            np.dot(A_moved, B[order - q], M_part)
            _add(M_part, M[q])
            _scale_product(float(q + 1), A, own_move, A_moved)
            _raise(A, own)
        for s in range(len(constants.class_start) - 1):
            start, stop = constants.start[constants.class_start[s]], constants.start[constants.class_start[s + 1]]
            if start == stop:
                continue
            rows = of_class[: stop - start]
            for f in range(constants.class_start[s], constants.class_start[s + 1]):
                first, last = constants.start[f], constants.start[f + 1]
                for q in range(order + 1):
                    for g in range(G):
                        of_feature[q, g] = M[q, f, g]
                for n in range(_members(regimes[f], LINEAR, members)):
                    r = members[n]
                    for g in range(G):
                        of_feature[0, g] += alpha * noise_move[r, g]
                        of_feature[1, g] += own_move[f, r]
                signal, of_f = constants.signal[first:last], rows[first - start : last - start]
                np.dot(constants.powers[first:last], of_feature, of_f)
                for n in range(_members(regimes[f], OTHER, members)):
                    r = members[n]
                    _add_tangents(own[f, r], own_move[f, r], noise[r], noise_move[r], signal, alpha, of_f, activation)
            _sum_runs(rows, points[start // S : stop // S])
            for e in range(constants.entry_start[constants.class_start[s]], constants.entry_start[constants.class_start[s + 1]]):
                entries[y, constants.entry_point[e]] -= unit * rows[constants.entry_row[e] - start, constants.entry_pattern[e]]
        for g in range(G):
            for i in range(N):
                table[y, g, i] = unit * points[constants.place[i], g]


@njit(**SUMS)
def moment_pull_back_tangent(y0, y1, columns, moves, constants, residual, change, entry_residual, entry_change, out, activation):
    """Add the derivative of `moment_pull_back` along (moves, change, entry_change) to out."""
    alpha = activation.alpha
    order, S = constants.powers.shape[1] - 1, len(constants.signal) // len(constants.place)
    F, (G, m), N = len(constants.low), (residual.shape[1], columns.shape[2]), len(constants.place)
    lam, mu = constants.lam, 1.0 - constants.lam
    A = np.empty((F, m))
    A_moved = np.empty((F, m))
    own = np.empty((F, m))
    own_move = np.empty((F, m))
    noise = np.empty((m, G))
    noise_move = np.empty((m, G))
    by_pattern = np.empty((m, G))
    B = np.empty((order, G, m))
    B_moved = np.empty((order, G, m))
    scaled_noise = np.empty((G, m))
    scaled_move = np.empty((G, m))
    E = np.zeros((order + 1, F, G))
    E_moved = np.zeros((order + 1, F, G))
    mask = np.empty((F, m))
    by_noise = np.empty((G, m))
    by_noise_moved = np.empty((G, m))
    noise_part = np.empty((G, m))
    by_feature = np.empty((F, m))
    by_feature_moved = np.empty((F, m))
    feature_part = np.empty((F, m))
    of_feature = np.empty((order + 1, G))
    of_feature_moved = np.empty((order + 1, G))
    members = np.empty(m, np.int64)
    of_class = np.empty((_most_rows(constants), G))
    of_class_moved = np.empty((_most_rows(constants), G))
    points = np.empty((N, G))
    points_moved = np.empty((N, G))
    for y in range(y0, y1):
        out_features, out_noise = out[y, :F], out[y, F:]
        regimes = regimes_of(columns[y, :F], columns[y, F:], lam, constants.low, constants.high, order)
        _mask_and_scale(regimes, moves[y, :F], lam, mask, own_move)
        _mask_and_scale(regimes, columns[y, :F], lam, A, own)
        _fill_transposed(columns[y, F:], mu, noise)
        _fill_transposed(moves[y, F:], mu, noise_move)
        by_pattern[:] = 0.0
        for g in range(G):
            for i in range(N):
                points[constants.place[i], g] = residual[y, g, i]
                points_moved[constants.place[i], g] = change[y, g, i]
        for s in range(len(constants.class_start) - 1):
            start, stop = constants.start[constants.class_start[s]], constants.start[constants.class_start[s + 1]]
            if start == stop:
                continue
            rows, changes = of_class[: stop - start], of_class_moved[: stop - start]
            _repeat_runs(points[start // S : stop // S], rows)
            _repeat_runs(points_moved[start // S : stop // S], changes)
            for e in range(constants.entry_start[constants.class_start[s]], constants.entry_start[constants.class_start[s + 1]]):
                rows[constants.entry_row[e] - start, constants.entry_pattern[e]] -= entry_residual[y, constants.entry_point[e]]
                changes[constants.entry_row[e] - start, constants.entry_pattern[e]] -= entry_change[y, constants.entry_point[e]]
            for f in range(constants.class_start[s], constants.class_start[s + 1]):
                first, last = constants.start[f], constants.start[f + 1]
                powers, signal = constants.powers[first:last], constants.signal[first:last]
                of_f, of_f_moved = rows[first - start : last - start], changes[first - start : last - start]
                np.dot(powers.T, of_f, of_feature)
                np.dot(powers.T, of_f_moved, of_feature_moved)
                for q in range(order + 1):
                    for g in range(G):
                        E[q, f, g] = of_feature[q, g]
                        E_moved[q, f, g] = of_feature_moved[q, g]
                for n in range(_members(regimes[f], LINEAR, members)):
                    r = members[n]
                    for g in range(G):
                        out_features[f, r] += lam / alpha * of_feature_moved[1, g]
                        by_pattern[r, g] += of_feature_moved[0, g]
                for n in range(_members(regimes[f], OTHER, members)):
                    r = members[n]
                    total = _add_bends(
                        own[f, r], own_move[f, r], noise[r], noise_move[r], signal, of_f, of_f_moved, by_pattern[r], activation
                    )  # fmt: skip
                    out_features[f, r] += lam * total
        for g in range(G):
            for r in range(m):
                out_noise[g, r] += mu * by_pattern[r, g]
                scaled_noise[g, r] = mu * columns[y, F + g, r]
                scaled_move[g, r] = mu * moves[y, F + g, r]
        _fill_powers(scaled_noise, B)
        _fill_moved_powers(B, scaled_move, B_moved)
        A_moved[:] = 0.0
        for q in range(order):
            p = order - q - 1
            np.dot(E[q].T, A, by_noise)
            np.dot(E_moved[q].T, A, by_noise_moved)
            np.dot(E[q].T, A_moved, noise_part)
            _add(noise_part, by_noise_moved)
            _add_two_products(mu / alpha * (order - q), B_moved[p], by_noise, B[p], by_noise_moved, out_noise)
            np.dot(E[q + 1], B[p], by_feature)
            np.dot(E_moved[q + 1], B[p], by_feature_moved)
            np.dot(E[q + 1], B_moved[p], feature_part)
            _add(feature_part, by_feature_moved)
            _add_two_products(lam / alpha * (q + 1), A_moved, by_feature, A, by_feature_moved, out_features)
            _scale_product(float(q + 1), A, own_move, A_moved)
            _raise(A, own)
