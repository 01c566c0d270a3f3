"""Signal-on-noise tables in the polynomial regime by moments: the same sums, an order of magnitude fewer operations.

The table of class y holds, for signal patches with feature f and coefficient beta and for noise patterns g,

    Phi_f(beta, g) = sum_r R(lam beta c_{f,r} + mu n_{g,r}),

a function of the *scalar* beta that all points with feature f share. Each neuron r is put into one of four regimes for f, by an interval
that contains every pre-activation it can have over the beta of the data and all patterns:

    dead        all pre-activations <= 0          contributes nothing
    linear      all pre-activations >= rho        lam beta c + mu n - (1 - 1/alpha) rho, two moments in beta
    polynomial  all in [0, rho], and |mu n| <= KAPPA |lam beta c|: with A = lam c / rho and B = mu n / rho, by the binomial theorem
                R = (rho / alpha) sum_q binom(alpha, q) beta^q A^q B^(alpha - q), so alpha + 1 moments in beta,
                M_q[f, g] = sum_r A_{f,r}^q B_{g,r}^(alpha - q): matrix products
    other       the interval crosses 0 or rho: evaluated one by one

so Phi_f(beta, g) = sum_q beta^q coefficient_q[f, g] + the others. Work falls from (signal patches) x (patterns) x m activations a class to
2k x (patterns) x m x (alpha + 1) multiply-adds, and no neuron is approximated. KAPPA = 1/2 bounds the cancellation in the binomial sum: for
B < 0 the sum of the absolute terms is at most ((1 + KAPPA) / (1 - KAPPA))^alpha = 3^8 times the result at alpha = 8, so even the smallest
beta of the data leaves every neuron a relative error below 10^-12, and beta three times as large one below 10^-14.

The derivative is the adjoint: with E_q[f, g] = sum over signal patches of beta^q D, both factors of every product get theirs by a product.
"""

# ruff: noqa: PLR0913 - compiled loops take plain arrays

from __future__ import annotations

import numpy as np
from numba import njit

from mvsim.kernels._compiled import _OPTIONS, _relu, _relu_1

KAPPA = 0.5
DEAD, LINEAR, POLYNOMIAL, OTHER = 0, 1, 2, 3


@njit(**_OPTIONS)
def _regimes(features, noise, lam, mu, rho, low, high):
    """Return (F, m) regimes; low > high marks a feature that no point has."""
    F, m = features.shape
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
            elif z_low >= 0.0 and z_high <= rho and max(-least[r], most[r]) <= KAPPA * min(first, last):
                regimes[f, r] = POLYNOMIAL
            else:
                regimes[f, r] = OTHER
    return regimes


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
def moment_values(
    y0, y1, columns, lam, feature, moments, low, high, binomials, slot_start, slot_point, slot_signal,
    entry_start, entry_signal, entry_pattern, entry_point, table, entries, rho, alpha, power,
):  # fmt: skip
    """Fill table[y, i, g] = sum over the signal patches of point i of Phi(beta, g), and subtract Phi of each single entry from entries[y, point].

    feature (N, L) names the feature of each group of signal patches of a point, moments (alpha + 1, N, L) the sums of beta^q over a group; slots
    and entries are sorted by feature. Patterns are the last columns, as many as the table has.
    """
    order = len(binomials) - 1
    F, (G, m) = len(low), (table.shape[2], columns.shape[2])
    mu = 1.0 - lam
    coefficient = np.empty((order + 1, F, G))
    for y in range(y0, y1):
        features, noise = columns[y, :F], columns[y, columns.shape[1] - G :]
        regimes = _regimes(features, noise, lam, mu, rho, low, high)
        powers, noisy = _noise_powers(noise, mu / rho, order), noise.any()
        feature_power = (regimes == POLYNOMIAL).astype(np.float64)
        coefficient[:] = 0.0
        for q in range(order + 1):
            if q == order or noisy:  # the powers of a pattern that is zero are zero, but for the 0th
                coefficient[q] = (rho / alpha * binomials[q]) * np.dot(feature_power, powers[order - q])
            _next_power(feature_power, features, lam / rho)
        for f in range(F):
            for r in range(m):
                if regimes[f, r] == LINEAR:
                    for g in range(G):
                        coefficient[0, f, g] += mu * noise[g, r] - (1.0 - 1.0 / alpha) * rho
                        coefficient[1, f, g] += lam * features[f, r]
        table[y] = 0.0
        for i in range(table.shape[1]):
            for group in range(feature.shape[1]):
                f = feature[i, group]
                for q in range(order + 1):
                    weight = moments[q, i, group]
                    for g in range(G):
                        table[y, i, g] += weight * coefficient[q, f, g]
        for f in range(F):
            for e in range(entry_start[f], entry_start[f + 1]):
                value, g = coefficient[order, f, entry_pattern[e]], entry_pattern[e]
                for q in range(order - 1, -1, -1):
                    value = value * entry_signal[e] + coefficient[q, f, g]
                entries[y, entry_point[e]] -= value
            for r in range(m):
                if regimes[f, r] != OTHER:
                    continue
                for slot in range(slot_start[f], slot_start[f + 1]):
                    signal, i = lam * slot_signal[slot] * features[f, r], slot_point[slot]
                    for g in range(G):
                        table[y, i, g] += _relu(signal + mu * noise[g, r], rho, alpha, power)
                for e in range(entry_start[f], entry_start[f + 1]):
                    z = lam * entry_signal[e] * features[f, r] + mu * noise[entry_pattern[e], r]
                    entries[y, entry_point[e]] -= _relu(z, rho, alpha, power)


@njit(**_OPTIONS)
def moment_pull_back(
    y0, y1, columns, lam, feature, moments, low, high, binomials, slot_start, slot_point, slot_signal,
    entry_start, entry_signal, entry_pattern, entry_point, residual, entry_residual, out, rho, alpha, power,
):  # fmt: skip
    """Add the adjoint of `moment_values` at residual (k, N, G) and entry_residual to out, the shape of columns."""
    order = len(binomials) - 1
    F, (G, m) = len(low), (residual.shape[2], columns.shape[2])
    mu = 1.0 - lam
    E = np.empty((order + 1, F, G))
    for y in range(y0, y1):
        features, noise = columns[y, :F], columns[y, columns.shape[1] - G :]
        out_features, out_noise = out[y, :F], out[y, columns.shape[1] - G :]
        regimes = _regimes(features, noise, lam, mu, rho, low, high)
        powers, noisy = _noise_powers(noise, mu / rho, order), noise.any()
        E[:] = 0.0
        for i in range(residual.shape[1]):
            for group in range(feature.shape[1]):
                f = feature[i, group]
                for q in range(order + 1):
                    weight = moments[q, i, group]
                    for g in range(G):
                        E[q, f, g] += weight * residual[y, i, g]
        for f in range(F):
            for e in range(entry_start[f], entry_start[f + 1]):
                weight = entry_residual[y, entry_point[e]]
                for q in range(order + 1):
                    E[q, f, entry_pattern[e]] -= weight
                    weight *= entry_signal[e]
        feature_power = (regimes == POLYNOMIAL).astype(np.float64)
        for q in range(order + 1):
            scale = rho / alpha * binomials[q]
            if q < order and (noisy or q == order - 1):
                # the derivative of B^(alpha - q) by n, and that of A^(q + 1) by c
                by_noise = np.dot(E[q].T, feature_power)
                for g in range(G):
                    for r in range(m):
                        out_noise[g, r] += scale * (order - q) * mu / rho * powers[order - q - 1, r, g] * by_noise[g, r]
                by_feature = np.dot(E[q + 1], powers[order - q - 1].T)
                for f in range(F):
                    for r in range(m):
                        out_features[f, r] += rho / alpha * binomials[q + 1] * (q + 1) * lam / rho * feature_power[f, r] * by_feature[f, r]
            _next_power(feature_power, features, lam / rho)
        for f in range(F):
            for r in range(m):
                if regimes[f, r] == LINEAR:
                    for g in range(G):
                        out_features[f, r] += lam * E[1, f, g]
                        out_noise[g, r] += mu * E[0, f, g]
                if regimes[f, r] != OTHER:
                    continue
                total = 0.0
                for slot in range(slot_start[f], slot_start[f + 1]):
                    signal, i = lam * slot_signal[slot] * features[f, r], slot_point[slot]
                    share = 0.0
                    for g in range(G):
                        w = residual[y, i, g] * _relu_1(signal + mu * noise[g, r], rho, power)
                        out_noise[g, r] += mu * w
                        share += w
                    total += slot_signal[slot] * share
                for e in range(entry_start[f], entry_start[f + 1]):
                    g = entry_pattern[e]
                    w = entry_residual[y, entry_point[e]] * _relu_1(lam * entry_signal[e] * features[f, r] + mu * noise[g, r], rho, power)
                    out_noise[g, r] -= mu * w
                    total -= entry_signal[e] * w
                out_features[f, r] += lam * total
