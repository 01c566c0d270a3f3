"""Derivatives along a direction of the sums and adjoints in `mvsim.kernels.shared_noise.loops.moments`, whose letters and regimes they share.

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

from mvsim.kernels.jit.compiling import SUMS, njit
from mvsim.kernels.jit.loops.activation import bend, slope
from mvsim.kernels.shared_noise.loops.moments import (
    LINEAR,
    OTHER,
    _fill_powers,
    _fill_transposed,
    _mask_and_scale,
    _members,
    _most_rows,
    _raise,
    _repeat_runs,
    _sum_runs,
    regimes_of,
)


@njit(**SUMS)
def _fill_moved_powers(powers, move, moved):
    """Fill moved[p] with the derivative p base^(p - 1) move of powers[p] = base^p."""
    moved[0] = 0.0
    for p in range(1, len(powers)):
        _scale_product(float(p), powers[p - 1], move, moved[p])


@njit(**SUMS)
def _scale_product(scale, a, b, out):
    """Fill out with scale * a * b."""
    a, b, out = a.reshape(a.size), b.reshape(b.size), out.reshape(out.size)
    for n in range(len(out)):
        out[n] = scale * a[n] * b[n]


@njit(**SUMS)
def _add_two_products(scale, a, b, c, d, out):
    """Add scale * (a * b + c * d) to out."""
    a, b, c, d, out = a.reshape(a.size), b.reshape(b.size), c.reshape(c.size), d.reshape(d.size), out.reshape(out.size)
    for n in range(len(out)):
        out[n] += scale * (a[n] * b[n] + c[n] * d[n])


@njit(**SUMS)
def _add(a, out):
    a, out = a.reshape(a.size), out.reshape(out.size)
    for n in range(len(out)):
        out[n] += a[n]


@njit(**SUMS)
def _add_tangents(own, own_move, noise, noise_move, signal, scale, rows, activation):
    """Add scale R' z' of one neuron to rows (n, G); arguments as for `_add_values` of `moments`, and how they move."""
    for n in range(len(signal)):
        x, dx = signal[n] * own, signal[n] * own_move
        for g in range(len(noise)):
            rows[n, g] += scale * slope(x + noise[g], activation) * (dx + noise_move[g])


@njit(**SUMS)
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
def moment_tangents(y0, y1, columns, moves, at, table, entries, activation):
    """Fill table with the derivative of `moment_values` along moves, and subtract that of the single entries from entries."""
    unit, alpha = activation.unit, activation.alpha
    order, S = at.powers.shape[1] - 1, len(at.signal) // len(at.place)
    F, (G, m), N = len(at.low), (table.shape[1], columns.shape[2]), len(at.place)
    lam, mu = at.lam, 1.0 - at.lam
    A, A_moved, own, own_move = np.empty((F, m)), np.empty((F, m)), np.empty((F, m)), np.empty((F, m))
    noise, noise_move, B, B_moved = np.empty((m, G)), np.empty((m, G)), np.empty((order + 1, m, G)), np.empty((order + 1, m, G))
    M, M_part, mask = np.empty((order + 1, F, G)), np.empty((F, G)), np.empty((F, m))
    of_feature, of_class, points, found = np.empty((order + 1, G)), np.empty((_most_rows(at), G)), np.empty((N, G)), np.empty(m, np.int64)
    for y in range(y0, y1):
        regimes = regimes_of(columns[y, :F], columns[y, F:], lam, at.low, at.high, order)
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
        for s in range(len(at.class_start) - 1):
            start, stop = at.start[at.class_start[s]], at.start[at.class_start[s + 1]]
            if start == stop:
                continue
            rows = of_class[: stop - start]
            for f in range(at.class_start[s], at.class_start[s + 1]):
                first, last = at.start[f], at.start[f + 1]
                for q in range(order + 1):
                    for g in range(G):
                        of_feature[q, g] = M[q, f, g]
                for n in range(_members(regimes[f], LINEAR, found)):
                    r = found[n]
                    for g in range(G):
                        of_feature[0, g] += alpha * noise_move[r, g]
                        of_feature[1, g] += own_move[f, r]
                signal, of_f = at.signal[first:last], rows[first - start : last - start]
                np.dot(at.powers[first:last], of_feature, of_f)
                for n in range(_members(regimes[f], OTHER, found)):
                    r = found[n]
                    _add_tangents(own[f, r], own_move[f, r], noise[r], noise_move[r], signal, alpha, of_f, activation)
            _sum_runs(rows, points[start // S : stop // S])
            for e in range(at.entry_start[s], at.entry_start[s + 1]):
                entries[y, at.entry_point[e]] -= unit * rows[at.entry_row[e], at.entry_pattern[e]]
        for g in range(G):
            for i in range(N):
                table[y, g, i] = unit * points[at.place[i], g]


@njit(**SUMS)
def moment_pull_back_tangent(y0, y1, columns, moves, at, residual, change, entry_residual, entry_change, out, activation):
    """Add the derivative of `moment_pull_back` along (moves, change, entry_change) to out."""
    alpha = activation.alpha
    order, S = at.powers.shape[1] - 1, len(at.signal) // len(at.place)
    F, (G, m), N = len(at.low), (residual.shape[1], columns.shape[2]), len(at.place)
    lam, mu = at.lam, 1.0 - at.lam
    A, A_moved, own, own_move = np.empty((F, m)), np.empty((F, m)), np.empty((F, m)), np.empty((F, m))
    noise, noise_move, by_pattern = np.empty((m, G)), np.empty((m, G)), np.empty((m, G))
    B, B_moved, scaled_noise, scaled_move = np.empty((order, G, m)), np.empty((order, G, m)), np.empty((G, m)), np.empty((G, m))
    E, E_moved, mask = np.zeros((order + 1, F, G)), np.zeros((order + 1, F, G)), np.empty((F, m))
    by_noise, by_noise_moved, noise_part = np.empty((G, m)), np.empty((G, m)), np.empty((G, m))
    by_feature, by_feature_moved, feature_part = np.empty((F, m)), np.empty((F, m)), np.empty((F, m))
    of_feature, of_feature_moved, found = np.empty((order + 1, G)), np.empty((order + 1, G)), np.empty(m, np.int64)
    of_class, of_class_moved = np.empty((_most_rows(at), G)), np.empty((_most_rows(at), G))
    points, points_moved = np.empty((N, G)), np.empty((N, G))
    for y in range(y0, y1):
        out_features, out_noise = out[y, :F], out[y, F:]
        regimes = regimes_of(columns[y, :F], columns[y, F:], lam, at.low, at.high, order)
        _mask_and_scale(regimes, moves[y, :F], lam, mask, own_move)
        _mask_and_scale(regimes, columns[y, :F], lam, A, own)
        _fill_transposed(columns[y, F:], mu, noise)
        _fill_transposed(moves[y, F:], mu, noise_move)
        by_pattern[:] = 0.0
        for g in range(G):
            for i in range(N):
                points[at.place[i], g] = residual[y, g, i]
                points_moved[at.place[i], g] = change[y, g, i]
        for s in range(len(at.class_start) - 1):
            start, stop = at.start[at.class_start[s]], at.start[at.class_start[s + 1]]
            if start == stop:
                continue
            rows, changes = of_class[: stop - start], of_class_moved[: stop - start]
            _repeat_runs(points[start // S : stop // S], rows)
            _repeat_runs(points_moved[start // S : stop // S], changes)
            for e in range(at.entry_start[s], at.entry_start[s + 1]):
                rows[at.entry_row[e], at.entry_pattern[e]] -= entry_residual[y, at.entry_point[e]]
                changes[at.entry_row[e], at.entry_pattern[e]] -= entry_change[y, at.entry_point[e]]
            for f in range(at.class_start[s], at.class_start[s + 1]):
                first, last = at.start[f], at.start[f + 1]
                powers, signal = at.powers[first:last], at.signal[first:last]
                of_f, of_f_moved = rows[first - start : last - start], changes[first - start : last - start]
                np.dot(powers.T, of_f, of_feature)
                np.dot(powers.T, of_f_moved, of_feature_moved)
                for q in range(order + 1):
                    for g in range(G):
                        E[q, f, g] = of_feature[q, g]
                        E_moved[q, f, g] = of_feature_moved[q, g]
                for n in range(_members(regimes[f], LINEAR, found)):
                    r = found[n]
                    for g in range(G):
                        out_features[f, r] += lam / alpha * of_feature_moved[1, g]
                        by_pattern[r, g] += of_feature_moved[0, g]
                for n in range(_members(regimes[f], OTHER, found)):
                    r = found[n]
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
