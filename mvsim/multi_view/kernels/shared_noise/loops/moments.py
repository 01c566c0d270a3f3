"""Signal-on-noise tables in the polynomial regime by moments: the same sums, an order of magnitude fewer operations.

The table of class y holds, for signal patches with feature f and coefficient beta and for noise patterns g, in units of rho,

    Phi_f(beta, g) = sum_r R(rho (lam beta c_{f,r} + mu n_{g,r})),      mu = 1 - lam,

a function of the *scalar* beta that all points with feature f share. Each neuron r is put into one of four regimes for f, by an interval
that contains every pre-activation it can have over the beta of the data and all patterns:

    dead        all pre-activations <= 0          contributes nothing
    linear      all pre-activations >= 1          lam beta c + mu n - (1 - 1/alpha), two moments in beta
    polynomial  all in [0, 1], and A = lam c and B = mu n >= 0, or the one that is negative at most kappa times the other: by the binomial
                theorem
                R = (rho / alpha) sum_q binom(alpha, q) beta^q A^q B^(alpha - q), so alpha + 1 moments in beta,
                M_q[f, g] = sum_r A_{f,r}^q B_{g,r}^(alpha - q): matrix products
    other       the interval crosses 0 or 1: evaluated one by one

so Phi_f(beta, g) = (rho / alpha) sum_q binom(alpha, q) beta^q M_q[f, g] + the others. What a point adds up is one more product for each class, of the
powers of the beta, summed over the signal patches of a point with one feature, with the M_q[f]. Work falls from (signal patches) x (patterns) x m
activations a class to F x (patterns) x m x alpha multiply-adds. Nothing is approximated, but the binomial sum cancels where A and B differ in sign:
the sum of its absolute terms is ((1 + kappa) / (1 - kappa))^alpha times the result at worst, and kappa is chosen so that this is at most 2^8
(`mvsim.multi_view.kernels.limits`). One neuron at the smallest beta of the data and the largest |n| then has a relative error of at most about 2^8 x
20 x 10^-16 = 5 x 10^-13 (`tests/multi_view/kernels/test_moments.py` holds it to 10^-12); at larger beta, which dominate its sums because they enter
as beta^alpha, the ratio and with it the error falls quickly.

The derivative is the adjoint: with E_q[f, g] = sum over signal patches of beta^q D, which is again one product for each class, both factors of
every product get theirs by a product.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mvsim.multi_view.kernels.jit.compiling import SUMS, njit
from mvsim.multi_view.kernels.jit.loops.activation import slope, value
from mvsim.multi_view.kernels.limits import kappa

DEAD, POLYNOMIAL, LINEAR, OTHER = 0, 1, 2, 3

_kappa = njit(**SUMS)(kappa)


class MomentTable(NamedTuple):
    """The constants of one table. Rows are signal patches, sorted by feature, features of one class together, then by patch and by point.

    So the rows of a class of n points are S runs of n rows each, and every run goes through the points of the class in the same order.
    """

    lam: float  # Weight of the signal
    # low, high: (F,) range of beta for each feature; low > high where no point has it
    low: np.ndarray
    high: np.ndarray
    start: np.ndarray  # (F + 1,): rows start[f] .. start[f + 1] - 1 have feature f.
    class_start: np.ndarray  # (k + 1,): features class_start[s] .. class_start[s + 1] - 1 are of class s.
    signal: np.ndarray  # (rows,) beta
    powers: np.ndarray  # (rows, alpha + 1) binom(alpha, q) beta^q
    # (t,) the sums of `powers` over the signal patches with one feature: of each class a matrix, points by features and powers, row by row
    of_points: np.ndarray
    of_points_start: np.ndarray  # (k + 1,): entries of_points_start[s] .. of_points_start[s + 1] - 1 are of class s.
    place: np.ndarray  # (N,) place of each point when points are sorted by class
    entry_start: np.ndarray  # (F + 1,): single entries entry_start[f] .. entry_start[f + 1] - 1 are of feature f.
    # entry_row, entry_pattern, entry_point: Each is Phi(row, pattern), to be taken from a point
    entry_row: np.ndarray
    entry_pattern: np.ndarray
    entry_point: np.ndarray


@njit(forceinline=True, **SUMS)
def regimes_of(features, noise, lam, low, high, order):
    """Return (F, m) regimes; low > high marks a feature that no point has."""
    F, m = features.shape
    allowed = _kappa(order)
    regimes = np.empty((F, m), np.uint8)
    least, most = np.full(m, np.inf), np.full(m, -np.inf)
    for g in range(noise.shape[0]):
        for r in range(m):
            least[r] = min(least[r], (1.0 - lam) * noise[g, r])
            most[r] = max(most[r], (1.0 - lam) * noise[g, r])
    for f in range(F):
        if low[f] > high[f]:
            regimes[f] = DEAD
            continue
        for r in range(m):
            at_low, at_high = lam * low[f] * features[f, r], lam * high[f] * features[f, r]
            first, last = min(at_low, at_high), max(at_low, at_high)
            z_low, z_high = first + least[r], last + most[r]
            tame = -least[r] <= allowed * first if first >= 0.0 else -first <= allowed * least[r]
            regime = POLYNOMIAL if tame and z_high <= 1.0 else OTHER
            regime = LINEAR if z_low >= 1.0 else regime
            regimes[f, r] = DEAD if z_high <= 0.0 else regime
    return regimes


@njit(forceinline=True, **SUMS)
def _members(regimes, regime, members):
    """Write the neurons in a regime to members, and return how many they are."""
    count = 0
    for r in range(len(regimes)):
        if regimes[r] == regime:
            members[count] = r
            count += 1
    return count


@njit(forceinline=True, **SUMS)
def _multiply(a, b, out):
    """Fill out with a * b: as one long loop, which vectorises better than many short ones."""
    a, b, out = a.reshape(a.size), b.reshape(b.size), out.reshape(out.size)
    for n in range(len(out)):
        out[n] = a[n] * b[n]


@njit(forceinline=True, **SUMS)
def _raise(power, base):
    """Multiply power by base: in place, for loops that see two names of one array do not vectorise."""
    power, base = power.reshape(power.size), base.reshape(base.size)
    for n in range(len(power)):
        power[n] *= base[n]


@njit(forceinline=True, **SUMS)
def _add_product(scale, a, b, out):
    a, b, out = a.reshape(a.size), b.reshape(b.size), out.reshape(out.size)
    for n in range(len(out)):
        out[n] += scale * a[n] * b[n]


@njit(forceinline=True, **SUMS)
def _add_product_and_raise(scale, power, b, out, base):
    power, b, out, base = power.reshape(power.size), b.reshape(b.size), out.reshape(out.size), base.reshape(base.size)
    for n in range(len(out)):
        out[n] += scale * power[n] * b[n]
        power[n] *= base[n]


@njit(forceinline=True, **SUMS)
def _fill_powers(base, powers):
    powers[0] = 1.0
    for q in range(1, len(powers)):
        _multiply(powers[q - 1], base, powers[q])


@njit(forceinline=True, **SUMS)
def _mask_and_scale(regimes, features, lam, mask, scaled):
    """Fill mask with 1 where a neuron is polynomial and 0 elsewhere, and scaled with lam times the features."""
    for f in range(features.shape[0]):
        for r in range(features.shape[1]):
            mask[f, r] = 1.0 if regimes[f, r] == POLYNOMIAL else 0.0
            scaled[f, r] = lam * features[f, r]


@njit(forceinline=True, **SUMS)
def _fill_transposed(a, scale, out):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = scale * a[j, i]


@njit(forceinline=True, **SUMS)
def _add_values(own, noise, signal, points, activation):
    """Add r of one neuron to points (n, G), for the signal of one or more runs of n rows; own is lam c, noise (G,) mu n."""
    for first in range(0, len(signal), len(points)):
        for n in range(len(points)):
            x = signal[first + n] * own
            for g in range(len(noise)):
                points[n, g] += value(x + noise[g], activation)


@njit(forceinline=True, **SUMS)
def _add_slopes(own, noise, signal, points, by_pattern, activation):
    """Add its slopes times points to by_pattern, and return their sum times the signal."""
    total = 0.0
    for first in range(0, len(signal), len(points)):
        for n in range(len(points)):
            x, share = signal[first + n] * own, 0.0
            for g in range(len(noise)):
                w = points[n, g] * slope(x + noise[g], activation)
                by_pattern[g] += w
                share += w
            total += signal[first + n] * share
    return total


@njit(forceinline=True, **SUMS)
def _copy_order(E, q, out):
    for f in range(len(E)):
        for g in range(out.shape[1]):
            out[f, g] = E[f, q, g]


@njit(forceinline=True, **SUMS)
def _points_of(constants, s):
    """Return the sums of powers of class s, (n, features (alpha + 1)) for its n points; its points are places first .. first + n - 1."""
    S = len(constants.signal) // len(constants.place)
    features, size = constants.class_start[s + 1] - constants.class_start[s], constants.powers.shape[1]
    first, last = constants.start[constants.class_start[s]] // S, constants.start[constants.class_start[s + 1]] // S
    flat = constants.of_points[constants.of_points_start[s] : constants.of_points_start[s + 1]]
    return first, last, flat.reshape((last - first, features * size))


@njit(**SUMS)
def moment_values(y0, y1, columns, constants, table, entries, activation):
    """Fill table[y, g, i] = sum over the signal patches of point i of Phi(beta, g), and subtract the single entries from entries[y, point].

    Patterns are the last columns, as many as the table has.
    """
    unit, alpha = activation.unit, activation.alpha
    order, powers = constants.powers.shape[1] - 1, constants.powers
    F, (G, m), N = len(constants.low), (table.shape[1], columns.shape[2]), len(constants.place)
    lam, mu = constants.lam, 1.0 - constants.lam
    A = np.empty((F, m))
    scaled = np.empty((F, m))
    noise = np.empty((m, G))
    B = np.empty((order + 1, m, G))
    M_q = np.empty((F, G))
    M = np.empty((F, order + 1, G))
    points = np.empty((N, G))
    members = np.empty(m, np.int64)
    for y in range(y0, y1):
        regimes = regimes_of(columns[y, :F], columns[y, F:], lam, constants.low, constants.high, order)
        _mask_and_scale(regimes, columns[y, :F], lam, A, scaled)
        _fill_transposed(columns[y, F:], mu, noise)
        _fill_powers(noise, B)
        for q in range(order + 1):
            np.dot(A, B[order - q], M_q)
            for f in range(F):
                for g in range(G):
                    M[f, q, g] = M_q[f, g]
            _raise(A, scaled)
        for f in range(F):
            for n in range(_members(regimes[f], LINEAR, members)):
                r = members[n]
                for g in range(G):
                    M[f, 0, g] += alpha * noise[r, g] - (alpha - 1.0)
                    M[f, 1, g] += scaled[f, r]
        for s in range(len(constants.class_start) - 1):
            first, last, of_points = _points_of(constants, s)
            if first == last:
                continue
            f0, f1 = constants.class_start[s], constants.class_start[s + 1]
            np.dot(of_points, M[f0:f1].reshape(((f1 - f0) * (order + 1), G)), points[first:last])
            for f in range(f0, f1):
                signal = constants.signal[constants.start[f] : constants.start[f + 1]]
                others = _members(regimes[f], OTHER, members)
                for n in range(others):
                    _add_values(scaled[f, members[n]], noise[members[n]], signal, points[first:last], activation)
                for e in range(constants.entry_start[f], constants.entry_start[f + 1]):
                    row, g, single = constants.entry_row[e], constants.entry_pattern[e], 0.0
                    for q in range(order + 1):
                        single += powers[row, q] * M[f, q, g]
                    for n in range(others):
                        single += value(constants.signal[row] * scaled[f, members[n]] + noise[members[n], g], activation)
                    entries[y, constants.entry_point[e]] -= unit * single
        for g in range(G):
            for i in range(N):
                table[y, g, i] = unit * points[constants.place[i], g]


@njit(**SUMS)
def moment_pull_back(y0, y1, columns, constants, residual, entry_residual, out, activation):
    """Add the adjoint of `moment_values` at residual (k, G, N) and entry_residual to out, the shape of columns."""
    alpha = activation.alpha
    order, powers = constants.powers.shape[1] - 1, constants.powers
    F, (G, m), N = len(constants.low), (residual.shape[1], columns.shape[2]), len(constants.place)
    lam, mu = constants.lam, 1.0 - constants.lam
    A = np.empty((F, m))
    scaled = np.empty((F, m))
    noise = np.empty((m, G))
    B = np.empty((order, G, m))
    E = np.zeros((F, order + 1, G))
    E_q = np.zeros((2, F, G))
    points = np.empty((N, G))
    members = np.empty(m, np.int64)
    by_noise = np.empty((G, m))
    by_feature = np.empty((F, m))
    scaled_noise = np.empty((G, m))
    by_pattern = np.empty((m, G))
    for y in range(y0, y1):
        out_features, out_noise = out[y, :F], out[y, F:]
        regimes = regimes_of(columns[y, :F], columns[y, F:], lam, constants.low, constants.high, order)
        _mask_and_scale(regimes, columns[y, :F], lam, A, scaled)
        _fill_transposed(columns[y, F:], mu, noise)
        by_pattern[:] = 0.0
        for g in range(G):
            for i in range(N):
                points[constants.place[i], g] = residual[y, g, i]
        for s in range(len(constants.class_start) - 1):
            first, last, of_points = _points_of(constants, s)
            if first == last:
                continue
            f0, f1 = constants.class_start[s], constants.class_start[s + 1]
            np.dot(of_points.T, points[first:last], E[f0:f1].reshape(((f1 - f0) * (order + 1), G)))
            for f in range(f0, f1):
                signal = constants.signal[constants.start[f] : constants.start[f + 1]]
                others = _members(regimes[f], OTHER, members)
                for n in range(others):
                    r = members[n]
                    out_features[f, r] += lam * _add_slopes(scaled[f, r], noise[r], signal, points[first:last], by_pattern[r], activation)
                for e in range(constants.entry_start[f], constants.entry_start[f + 1]):
                    row, g, single = constants.entry_row[e], constants.entry_pattern[e], entry_residual[y, constants.entry_point[e]]
                    for q in range(order + 1):
                        E[f, q, g] -= powers[row, q] * single
                    for n in range(others):
                        r = members[n]
                        w = single * slope(constants.signal[row] * scaled[f, r] + noise[r, g], activation)
                        by_pattern[r, g] -= w
                        out_features[f, r] -= lam * constants.signal[row] * w
                for n in range(_members(regimes[f], LINEAR, members)):
                    r = members[n]
                    for g in range(G):
                        out_features[f, r] += lam / alpha * E[f, 1, g]
                        by_pattern[r, g] += E[f, 0, g]
        for g in range(G):
            for r in range(m):
                out_noise[g, r] += mu * by_pattern[r, g]
                scaled_noise[g, r] = mu * columns[y, F + g, r]
        _fill_powers(scaled_noise, B)
        _copy_order(E, 0, E_q[0])
        for q in range(order):
            # the derivative of B^(alpha - q) by n, and that of A^(q + 1) by c
            np.dot(E_q[q % 2].T, A, by_noise)
            _add_product(mu / alpha * (order - q), B[order - q - 1], by_noise, out_noise)
            _copy_order(E, q + 1, E_q[(q + 1) % 2])
            np.dot(E_q[(q + 1) % 2], B[order - q - 1], by_feature)
            _add_product_and_raise(lam / alpha * (q + 1), A, by_feature, out_features, scaled)
