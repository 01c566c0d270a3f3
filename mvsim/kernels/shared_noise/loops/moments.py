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
                M_q[f, g] = binom(alpha, q) sum_r A_{f,r}^q B_{g,r}^(alpha - q): matrix products
    other       the interval crosses 0 or 1: evaluated one by one

so Phi_f(beta, g) = (rho / alpha) sum_q beta^q M_q[f, g] + the others: one more product for each feature, of the powers of the beta of its signal
patches with the M_q[f]. Work falls from (signal patches) x (patterns) x m activations a class to F x (patterns) x m x alpha multiply-adds.
Nothing is approximated, but the binomial sum cancels where A and B differ in sign: the sum of its absolute terms is ((1 + kappa) / (1 - kappa))^alpha
times the result at worst, and kappa is chosen so that this is at most 2^8 (`mvsim.kernels.limits`). One neuron at the smallest beta of the data and
the largest |n| then has a relative error of at most about 2^8 x 20 x 10^-16 = 5 x 10^-13 (`tests/kernels/test_moments.py` holds it to 10^-12); at
larger beta, which dominate its sums because they enter as beta^alpha, the ratio and with it the error falls quickly.

The derivative is the adjoint: with E_q[f, g] = sum over signal patches of beta^q D, both factors of every product get theirs by a product.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mvsim.kernels.jit.compiling import SUMS, njit
from mvsim.kernels.jit.loops.activation import slope, value
from mvsim.kernels.limits import kappa

DEAD, POLYNOMIAL, LINEAR, OTHER = 0, 1, 2, 3

_kappa = njit(**SUMS)(kappa)


class MomentTable(NamedTuple):
    """The constants of one table. Rows are signal patches, sorted by feature, features of one class together, then by patch and by point.

    So the rows of a class of n points are S runs of n rows each, and every run goes through the points of the class in the same order.

    Attributes
    ----------
    lam : float
        Weight of the signal.
    low, high : numpy.ndarray
        (F,) range of beta for each feature; low > high where no point has it.
    start : numpy.ndarray
        (F + 1,): rows start[f] .. start[f + 1] - 1 have feature f.
    class_start : numpy.ndarray
        (k + 1,): features class_start[s] .. class_start[s + 1] - 1 are of class s.
    signal : numpy.ndarray
        (rows,) beta.
    powers : numpy.ndarray
        (rows, alpha + 1) binom(alpha, q) beta^q.
    place : numpy.ndarray
        (N,) place of each point when points are sorted by class.
    entry_start : numpy.ndarray
        (k + 1,): single entries entry_start[s] .. entry_start[s + 1] - 1 are of class s.
    entry_row, entry_pattern, entry_point : numpy.ndarray
        Each is Phi(row, pattern), to be taken from a point; row counts within the class.
    """

    lam: float
    low: np.ndarray
    high: np.ndarray
    start: np.ndarray
    class_start: np.ndarray
    signal: np.ndarray
    powers: np.ndarray
    place: np.ndarray
    entry_start: np.ndarray
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
def _most_rows(constants):
    """Return the largest number of rows of a class."""
    most = 0
    for s in range(len(constants.class_start) - 1):
        most = max(most, constants.start[constants.class_start[s + 1]] - constants.start[constants.class_start[s]])
    return most


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
    """Add scale * a * b to out."""
    a, b, out = a.reshape(a.size), b.reshape(b.size), out.reshape(out.size)
    for n in range(len(out)):
        out[n] += scale * a[n] * b[n]


@njit(forceinline=True, **SUMS)
def _add_product_and_raise(scale, power, b, out, base):
    """Add scale * power * b to out and go on to the next power of base."""
    power, b, out, base = power.reshape(power.size), b.reshape(b.size), out.reshape(out.size), base.reshape(base.size)
    for n in range(len(out)):
        out[n] += scale * power[n] * b[n]
        power[n] *= base[n]


@njit(forceinline=True, **SUMS)
def _fill_powers(base, powers):
    """Fill powers[q] with base^q."""
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
def _add_values(own, noise, signal, rows, activation):
    """Add r of one neuron to rows (n, G): own is lam times its correlation with the feature, noise its mu n over the patterns."""
    for n in range(len(signal)):
        x = signal[n] * own
        for g in range(len(noise)):
            rows[n, g] += value(x + noise[g], activation)


@njit(forceinline=True, **SUMS)
def _add_slopes(own, noise, signal, rows, by_pattern, activation):
    """Add its slopes times rows to by_pattern, and return their sum times the signal."""
    total = 0.0
    for n in range(len(signal)):
        x, share = signal[n] * own, 0.0
        for g in range(len(noise)):
            w = rows[n, g] * slope(x + noise[g], activation)
            by_pattern[g] += w
            share += w
        total += signal[n] * share
    return total


@njit(**SUMS)
def moment_values(y0, y1, columns, constants, table, entries, activation):
    """Fill table[y, g, i] = sum over the signal patches of point i of Phi(beta, g), and subtract the single entries from entries[y, point].

    Patterns are the last columns, as many as the table has.
    """
    unit, alpha = activation.unit, activation.alpha
    order, S = constants.powers.shape[1] - 1, len(constants.signal) // len(constants.place)
    F, (G, m), N = len(constants.low), (table.shape[1], columns.shape[2]), len(constants.place)
    lam, mu = constants.lam, 1.0 - constants.lam
    A = np.empty((F, m))
    scaled = np.empty((F, m))
    noise = np.empty((m, G))
    B = np.empty((order + 1, m, G))
    M = np.empty((order + 1, F, G))
    of_feature = np.empty((order + 1, G))
    of_class = np.empty((_most_rows(constants), G))
    points = np.empty((N, G))
    members = np.empty(m, np.int64)
    for y in range(y0, y1):
        regimes = regimes_of(columns[y, :F], columns[y, F:], lam, constants.low, constants.high, order)
        _mask_and_scale(regimes, columns[y, :F], lam, A, scaled)
        _fill_transposed(columns[y, F:], mu, noise)
        _fill_powers(noise, B)
        for q in range(order + 1):
            np.dot(A, B[order - q], M[q])
            _raise(A, scaled)
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
                        of_feature[0, g] += alpha * noise[r, g] - (alpha - 1.0)
                        of_feature[1, g] += scaled[f, r]
                np.dot(constants.powers[first:last], of_feature, rows[first - start : last - start])
                for n in range(_members(regimes[f], OTHER, members)):
                    r = members[n]
                    _add_values(scaled[f, r], noise[r], constants.signal[first:last], rows[first - start : last - start], activation)
            _sum_runs(rows, points[start // S : stop // S])
            for e in range(constants.entry_start[s], constants.entry_start[s + 1]):
                entries[y, constants.entry_point[e]] -= unit * rows[constants.entry_row[e], constants.entry_pattern[e]]
        for g in range(G):
            for i in range(N):
                table[y, g, i] = unit * points[constants.place[i], g]


@njit(**SUMS)
def moment_pull_back(y0, y1, columns, constants, residual, entry_residual, out, activation):
    """Add the adjoint of `moment_values` at residual (k, G, N) and entry_residual to out, the shape of columns."""
    alpha = activation.alpha
    order, S = constants.powers.shape[1] - 1, len(constants.signal) // len(constants.place)
    F, (G, m), N = len(constants.low), (residual.shape[1], columns.shape[2]), len(constants.place)
    lam, mu = constants.lam, 1.0 - constants.lam
    A = np.empty((F, m))
    scaled = np.empty((F, m))
    noise = np.empty((m, G))
    B = np.empty((order, G, m))
    E = np.zeros((order + 1, F, G))
    of_feature = np.empty((order + 1, G))
    of_class = np.empty((_most_rows(constants), G))
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
            start, stop = constants.start[constants.class_start[s]], constants.start[constants.class_start[s + 1]]
            if start == stop:
                continue
            rows = of_class[: stop - start]
            _repeat_runs(points[start // S : stop // S], rows)
            for e in range(constants.entry_start[s], constants.entry_start[s + 1]):
                rows[constants.entry_row[e], constants.entry_pattern[e]] -= entry_residual[y, constants.entry_point[e]]
            for f in range(constants.class_start[s], constants.class_start[s + 1]):
                first, last = constants.start[f], constants.start[f + 1]
                np.dot(constants.powers[first:last].T, rows[first - start : last - start], of_feature)
                for q in range(order + 1):
                    for g in range(G):
                        E[q, f, g] = of_feature[q, g]
                for n in range(_members(regimes[f], LINEAR, members)):
                    r = members[n]
                    for g in range(G):
                        out_features[f, r] += lam / alpha * of_feature[1, g]
                        by_pattern[r, g] += of_feature[0, g]
                for n in range(_members(regimes[f], OTHER, members)):
                    r = members[n]
                    total = _add_slopes(
                        scaled[f, r], noise[r], constants.signal[first:last], rows[first - start : last - start], by_pattern[r], activation
                    )
                    out_features[f, r] += lam * total
        for g in range(G):
            for r in range(m):
                out_noise[g, r] += mu * by_pattern[r, g]
                scaled_noise[g, r] = mu * columns[y, F + g, r]
        _fill_powers(scaled_noise, B)
        for q in range(order):
            # the derivative of B^(alpha - q) by n, and that of A^(q + 1) by c
            np.dot(E[q].T, A, by_noise)
            _add_product(mu / alpha * (order - q), B[order - q - 1], by_noise, out_noise)
            np.dot(E[q + 1], B[order - q - 1], by_feature)
            _add_product_and_raise(lam / alpha * (q + 1), A, by_feature, out_features, scaled)
