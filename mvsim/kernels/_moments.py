"""Signal-on-noise tables in the polynomial regime by moments: the same sums, an order of magnitude fewer operations.

The table of class y holds, for signal patches with feature f and coefficient beta and for noise patterns g,

    Phi_f(beta, g) = sum_r R(lam beta c_{f,r} + mu n_{g,r}),

a function of the *scalar* beta that all points with feature f share. Each neuron r is put into one of four regimes for f, by an interval
that contains every pre-activation it can have over the beta of the data and all patterns:

    dead        all pre-activations <= 0          contributes nothing
    linear      all pre-activations >= rho        lam beta c + mu n - (1 - 1/alpha) rho, two moments in beta
    polynomial  all in [0, rho], and |mu n| <= kappa |lam beta c|: with A = lam c / rho and B = mu n / rho, by the binomial theorem
                R = (rho / alpha) sum_q binom(alpha, q) beta^q A^q B^(alpha - q), so alpha + 1 moments in beta,
                M_q[f, g] = sum_r A_{f,r}^q B_{g,r}^(alpha - q): matrix products
    other       the interval crosses 0 or rho: evaluated one by one

so Phi_f(beta, g) = sum_q beta^q coefficient_q[f, g] + the others. Work falls from (signal patches) x (patterns) x m activations a class to
2k x (patterns) x m x (alpha + 1) multiply-adds. Nothing is approximated, but the binomial sum cancels where B < 0: the sum of its absolute
terms is ((1 + kappa) / (1 - kappa))^alpha times the result at worst, and kappa is chosen so that this is at most AMPLIFICATION = 3^8. One neuron
at the smallest beta of the data and the largest |n| then has a relative error of at most about 3^8 x 20 x 10^-16 = 10^-11 (the largest found
is 1.2 x 10^-12); at larger beta, which dominate its sums because they enter as beta^alpha, the ratio and with it the error falls quickly.

The derivative is the adjoint: with E_q[f, g] = sum over signal patches of beta^q D, both factors of every product get theirs by a product.
"""



from __future__ import annotations

import numpy as np
from numba import njit

from mvsim.kernels._compiled import _OPTIONS, _relu, _relu_1, _to_power

AMPLIFICATION = 3.0**8
"""Largest factor by which the binomial sum may amplify round-off; at alpha = 8 it allows kappa = 1/2."""

DEAD, LINEAR, POLYNOMIAL, OTHER = 0, 1, 2, 3


@njit(**_OPTIONS)
def regimes_of(features, noise, lam, mu, rho, low, high, order):
    """Return (F, m) regimes; low > high marks a feature that no point has."""
    F, m = features.shape
    spread = AMPLIFICATION ** (1.0 / order)  # (1 + kappa) / (1 - kappa)
    kappa = (spread - 1.0) / (spread + 1.0)
    regimes = np.empty((F, m), np.uint8)
    least, most = np.full(m, np.inf), np.full(m, -np.inf)
    for g in range(noise.shape[0]):
        for r in range(m):
            least[r] = min(least[r], mu * noise[g, r])
            most[r] = max(most[r], mu * noise[g, r])
    for f in range(F):
        for r in range(m):
            first, last = lam * low[f] * features[f, r], lam * high[f] * features[f, r]
            z_low, z_high = min(first, last) + least[r], max(first, last) + most[r]
            if low[f] > high[f] or z_high <= 0.0:
                regimes[f, r] = DEAD
            elif z_low >= rho:
                regimes[f, r] = LINEAR
            elif z_low >= 0.0 and z_high <= rho and max(-least[r], most[r]) <= kappa * min(first, last):
                regimes[f, r] = POLYNOMIAL
            else:
                regimes[f, r] = OTHER
    return regimes


@njit(**_OPTIONS)
def _others(regimes, f, found):
    """Write the neurons that are evaluated one by one for feature f to found, and return how many they are."""
    count = 0
    for r in range(regimes.shape[1]):
        if regimes[f, r] == OTHER:
            found[count] = r
            count += 1
    return count


@njit(**_OPTIONS)
def _noise_powers(noise, scale, alpha):
    """Return (alpha + 1, m, G): powers of the scaled pre-activations of the patterns."""
    G, m = noise.shape
    powers = np.ones((alpha + 1, m, G))
    for q in range(1, alpha + 1):
        for r in range(m):
            for g in range(G):
                powers[q, r, g] = powers[q - 1, r, g] * (scale * noise[g, r])
    return powers


@njit(**_OPTIONS)
def _next_power(powers, features, scale):
    for f in range(powers.shape[0]):
        for r in range(powers.shape[1]):
            powers[f, r] *= scale * features[f, r]


@njit(**_OPTIONS)
def _full_power(mask, features, scale, power):
    """Return mask times (scale * features)^alpha."""
    out = np.empty_like(mask)
    for f in range(mask.shape[0]):
        for r in range(mask.shape[1]):
            out[f, r] = mask[f, r] * _to_power(scale * features[f, r], power, 0)
    return out


@njit(**_OPTIONS)
def _power_before(mask, features, scale, power):
    """Return mask times (scale * features)^(alpha - 1)."""
    out = np.empty_like(mask)
    for f in range(mask.shape[0]):
        for r in range(mask.shape[1]):
            out[f, r] = mask[f, r] * _to_power(scale * features[f, r], power, 1)
    return out


@njit(**_OPTIONS)
def moment_values(
    y0, y1, columns, lam, class_start, class_points, moments, low, high, binomials, slot_start, slot_row, slot_signal,
    entry_start, entry_signal, entry_pattern, entry_point, table, entries, rho, alpha, power,
):  # fmt: skip
    """Fill table[y, g, i] = sum over the signal patches of point i of Phi(beta, g), and subtract Phi of each single entry from entries[y, point].

    Points are taken class by class: class_points[class_start[s] : class_start[s + 1]] have features 2 s and 2 s + 1, and row n of moments holds
    sum beta^q over their patches, q major, view minor. Slots (signal patches; slot_row counts within the class) and entries are sorted by feature.
    Patterns are the last columns, as many as the table has.
    """
    order = len(binomials) - 1
    F, (G, m) = len(low), (table.shape[1], columns.shape[2])
    mu = 1.0 - lam
    coefficient = np.empty((order + 1, F, G))
    of_class = np.empty((2 * (order + 1), G))
    others, pattern = np.empty(m, np.int64), np.empty(G)
    for y in range(y0, y1):
        features, noise = columns[y, :F], columns[y, columns.shape[1] - G :]
        regimes = regimes_of(features, noise, lam, mu, rho, low, high, order)
        powers, noisy = _noise_powers(noise, mu / rho, order), noise.any()
        feature_power = (regimes == POLYNOMIAL).astype(np.float64)
        if noisy:
            for q in range(order + 1):
                coefficient[q] = np.dot(feature_power, powers[order - q])
                coefficient[q] *= rho / alpha * binomials[q]
                if q < order:
                    _next_power(feature_power, features, lam / rho)
        else:  # the powers of patterns that are zero are zero, but for the 0th
            coefficient[:] = 0.0
            coefficient[order] = rho / alpha * np.dot(_full_power(feature_power, features, lam / rho, power), powers[0])
        for f in range(F):
            for r in range(m):
                if regimes[f, r] == LINEAR:
                    for g in range(G):
                        coefficient[0, f, g] += mu * noise[g, r] - (1.0 - 1.0 / alpha) * rho
                        coefficient[1, f, g] += lam * features[f, r]
        for s in range(F // 2):
            n0, n1 = class_start[s], class_start[s + 1]
            if n0 == n1:
                continue
            for q in range(order + 1):
                of_class[2 * q : 2 * q + 2] = coefficient[q, 2 * s : 2 * s + 2]
            rows = np.dot(moments[n0:n1], of_class)
            for f in range(2 * s, 2 * s + 2):
                for other in range(_others(regimes, f, others)):
                    r = others[other]
                    for g in range(G):
                        pattern[g] = mu * noise[g, r]
                    for slot in range(slot_start[f], slot_start[f + 1]):
                        signal, n = lam * slot_signal[slot] * features[f, r], slot_row[slot]
                        for g in range(G):
                            rows[n, g] += _relu(signal + pattern[g], rho, alpha, power)
            for n in range(n0, n1):
                for g in range(G):
                    table[y, g, class_points[n]] = rows[n - n0, g]
        for f in range(F):
            count = _others(regimes, f, others) if entry_start[f] < entry_start[f + 1] else 0
            for e in range(entry_start[f], entry_start[f + 1]):
                value, g = coefficient[order, f, entry_pattern[e]], entry_pattern[e]
                for q in range(order - 1, -1, -1):
                    value = value * entry_signal[e] + coefficient[q, f, g]
                for r in others[:count]:
                    value += _relu(lam * entry_signal[e] * features[f, r] + mu * noise[g, r], rho, alpha, power)
                entries[y, entry_point[e]] -= value


@njit(**_OPTIONS)
def moment_pull_back(
    y0, y1, columns, lam, class_start, class_points, moments, low, high, binomials, slot_start, slot_row, slot_signal,
    entry_start, entry_signal, entry_pattern, entry_point, residual, entry_residual, out, rho, alpha, power,
):  # fmt: skip
    """Add the adjoint of `moment_values` at residual (k, G, N) and entry_residual to out, the shape of columns."""
    order = len(binomials) - 1
    F, (G, m) = len(low), (residual.shape[1], columns.shape[2])
    mu = 1.0 - lam
    E = np.empty((order + 1, F, G))
    others, pattern, by_pattern = np.empty(m, np.int64), np.empty(G), np.empty(G)
    for y in range(y0, y1):
        features, noise = columns[y, :F], columns[y, columns.shape[1] - G :]
        out_features, out_noise = out[y, :F], out[y, columns.shape[1] - G :]
        regimes = regimes_of(features, noise, lam, mu, rho, low, high, order)
        powers, noisy = _noise_powers(noise, mu / rho, order), noise.any()
        E[:] = 0.0
        for s in range(F // 2):
            n0, n1 = class_start[s], class_start[s + 1]
            if n0 == n1:
                continue
            rows = np.empty((n1 - n0, G))
            for n in range(n0, n1):
                for g in range(G):
                    rows[n - n0, g] = residual[y, g, class_points[n]]
            of_class = np.dot(moments[n0:n1].T, rows)
            for q in range(order + 1):
                E[q, 2 * s : 2 * s + 2] = of_class[2 * q : 2 * q + 2]
            for f in range(2 * s, 2 * s + 2):
                for other in range(_others(regimes, f, others)):
                    r, total = others[other], 0.0
                    for g in range(G):
                        pattern[g] = mu * noise[g, r]
                        by_pattern[g] = 0.0
                    for slot in range(slot_start[f], slot_start[f + 1]):
                        signal, n = lam * slot_signal[slot] * features[f, r], slot_row[slot]
                        share = 0.0
                        for g in range(G):
                            w = rows[n, g] * _relu_1(signal + pattern[g], rho, power)
                            by_pattern[g] += w
                            share += w
                        total += slot_signal[slot] * share
                    for g in range(G):
                        out_noise[g, r] += mu * by_pattern[g]
                    out_features[f, r] += lam * total
        for f in range(F):
            count = _others(regimes, f, others) if entry_start[f] < entry_start[f + 1] else 0
            for e in range(entry_start[f], entry_start[f + 1]):
                weight, g = entry_residual[y, entry_point[e]], entry_pattern[e]
                for r in others[:count]:
                    w = weight * _relu_1(lam * entry_signal[e] * features[f, r] + mu * noise[g, r], rho, power)
                    out_noise[g, r] -= mu * w
                    out_features[f, r] -= lam * entry_signal[e] * w
                for q in range(order + 1):
                    E[q, f, g] -= weight
                    weight *= entry_signal[e]
        feature_power = (regimes == POLYNOMIAL).astype(np.float64)
        if not noisy:
            feature_power = _power_before(feature_power, features, lam / rho, power)
        for q in range(0 if noisy else order - 1, order):
            # the derivative of B^(alpha - q) by n, and that of A^(q + 1) by c
            by_noise, scale = np.dot(E[q].T, feature_power), mu / alpha * binomials[q] * (order - q)
            for r in range(m):
                for g in range(G):
                    out_noise[g, r] += scale * powers[order - q - 1, r, g] * by_noise[g, r]
            by_feature, scale = np.dot(E[q + 1], powers[order - q - 1].T), lam / alpha * binomials[q + 1] * (q + 1)
            for f in range(F):
                for r in range(m):
                    out_features[f, r] += scale * feature_power[f, r] * by_feature[f, r]
            if q < order - 1:
                _next_power(feature_power, features, lam / rho)
        for f in range(F):
            for r in range(m):
                if regimes[f, r] == LINEAR:
                    for g in range(G):
                        out_features[f, r] += lam * E[1, f, g]
                        out_noise[g, r] += mu * E[0, f, g]
