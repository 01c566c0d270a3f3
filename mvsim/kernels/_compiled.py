"""Numba loops over the neurons of one class: no threads, no choice of algorithm.

Conventions. A *source* is a vector over the neurons r of class y: ``columns[n, r]`` is the correlation with feature n = 2 s + l for n < 2k and
the pre-activation of noise pattern n - 2k after that. Every pre-activation is ``a * columns[first, r] + b * columns[second, r]``, so one
*term* is (first, a, second, b) and contributes ``sum_r R(...)`` to an output.

The power alpha of the activation travels in the *type* of the argument ``power`` (a tuple of alpha zeros if alpha is a small integer), so
that the compiler sees a constant exponent and vectorises; any other alpha travels as a float and costs a call to pow.

Loops that call each other live in this one file, because a cached function does not notice that a helper in another file has changed.
Reassociation and contraction are allowed (``reassoc``, ``contract``): sums over neurons or patches vectorise only with them; NaN and
infinity keep their meaning. Bits depend on the machine's vector width, never on the number of threads.
"""



from __future__ import annotations

from numba import njit, types
from numba.extending import overload

_OPTIONS = {"cache": True, "nogil": True, "fastmath": {"reassoc", "contract"}, "error_model": "numpy"}
_LARGEST_UNROLLED_POWER = 16


def power_tag(alpha: float) -> tuple[int, ...] | float:
    """Return alpha in the form in which the loops of this file take it."""
    if float(alpha).is_integer() and 1 <= alpha <= _LARGEST_UNROLLED_POWER:
        return (0,) * int(alpha)
    return float(alpha)


def _to_power(u, power, less):
    """Return u^(alpha - less); only its compiled form below is ever called."""
    raise NotImplementedError


@overload(_to_power, inline="always", prefer_literal=True)
def _compile_to_power(u, power, less):
    if isinstance(power, types.BaseTuple):
        exponent = power.count - less.literal_value
        if exponent <= 0:  # alpha = 1: R' is a step and R'' is 0, which the callers' conditions on z provide
            return lambda u, power, less: 1.0
        return lambda u, power, less: u**exponent
    return lambda u, power, less: u ** (power - less)


@njit(inline="always", **_OPTIONS)
def _relu(z, rho, alpha, power):
    u = min(max(z * (1.0 / rho), 0.0), 1.0)  # 1 / rho leaves the loop, a division would not
    return (rho / alpha) * _to_power(u, power, 0) + max(z - rho, 0.0)


@njit(inline="always", **_OPTIONS)
def _relu_1(z, rho, power):
    u = min(max(z * (1.0 / rho), 0.0), 1.0)  # 1 / rho leaves the loop, a division would not
    return _to_power(u, power, 1) if z > 0.0 else 0.0


@njit(inline="always", **_OPTIONS)
def _relu_2(z, rho, alpha, power):
    u = min(max(z * (1.0 / rho), 0.0), 1.0)  # 1 / rho leaves the loop, a division would not
    return (alpha - 1.0) / rho * _to_power(u, power, 2) if 0.0 < z < rho else 0.0


# One term: its value, its pull-back, its tangent, its second-order pull-back ---------------------------------------------------------


@njit(inline="always", **_OPTIONS)
def _value(columns, first, a, second, b, rho, alpha, power):
    total = 0.0
    for r in range(columns.shape[1]):
        total += _relu(a * columns[first, r] + b * columns[second, r], rho, alpha, power)
    return total


@njit(inline="always", **_OPTIONS)
def _pull_back(columns, first, a, second, b, weight, out, rho, power):
    wa, wb = weight * a, weight * b
    for r in range(columns.shape[1]):
        slope = _relu_1(a * columns[first, r] + b * columns[second, r], rho, power)
        out[first, r] += wa * slope
        out[second, r] += wb * slope


@njit(inline="always", **_OPTIONS)
def _tangent(columns, moves, first, a, second, b, rho, power):
    total = 0.0
    for r in range(columns.shape[1]):
        slope = _relu_1(a * columns[first, r] + b * columns[second, r], rho, power)
        total += slope * (a * moves[first, r] + b * moves[second, r])
    return total


@njit(inline="always", **_OPTIONS)
def _pull_back_tangent(columns, moves, first, a, second, b, weight, move, out, rho, alpha, power):
    for r in range(columns.shape[1]):
        z = a * columns[first, r] + b * columns[second, r]
        dz = a * moves[first, r] + b * moves[second, r]
        w = move * _relu_1(z, rho, power) + weight * _relu_2(z, rho, alpha, power) * dz
        out[first, r] += a * w
        out[second, r] += b * w


# Lists of terms: outputs[e] = sum over the terms t of point e of count[t] * value(t) ---------------------------------------------------


@njit(**_OPTIONS)
def term_values(y0, y1, columns, point, count, first, a, second, b, outputs, rho, alpha, power):
    """Add every term to outputs[y, point], shape (k, E)."""
    for y in range(y0, y1):
        for t in range(len(point)):
            outputs[y, point[t]] += count[t] * _value(columns[y], first[t], a[t], second[t], b[t], rho, alpha, power)


@njit(**_OPTIONS)
def term_pull_back(y0, y1, columns, point, count, first, a, second, b, residual, out, rho, alpha, power):
    """Add the adjoint of `term_values` at residual (k, E) to out, the shape of columns."""
    for y in range(y0, y1):
        for t in range(len(point)):
            _pull_back(columns[y], first[t], a[t], second[t], b[t], count[t] * residual[y, point[t]], out[y], rho, power)


@njit(**_OPTIONS)
def term_tangents(y0, y1, columns, moves, point, count, first, a, second, b, outputs, rho, alpha, power):
    """Add the directional derivative of `term_values` along moves to outputs."""
    for y in range(y0, y1):
        for t in range(len(point)):
            outputs[y, point[t]] += count[t] * _tangent(columns[y], moves[y], first[t], a[t], second[t], b[t], rho, power)


@njit(**_OPTIONS)
def term_pull_back_tangent(y0, y1, columns, moves, point, count, first, a, second, b, residual, change, out, rho, alpha, power):
    """Add the directional derivative of `term_pull_back` along (moves, change of residual) to out."""
    for y in range(y0, y1):
        for t in range(len(point)):
            weight, move = count[t] * residual[y, point[t]], count[t] * change[y, point[t]]
            _pull_back_tangent(columns[y], moves[y], first[t], a[t], second[t], b[t], weight, move, out[y], rho, alpha, power)


# The table of signal patches on noise patterns: table[y, g, i] = sum_p sum_r R(lam * signal_{i,p} + (1 - lam) * noise_g) ------------------


@njit(**_OPTIONS)
def table_values(y0, y1, columns, feature, signal, lam, table, rho, alpha, power):
    """Fill table (k, G, N); feature (N, S) and signal (N, S) name the S signal patches of each point."""
    base = columns.shape[1] - table.shape[1]
    for y in range(y0, y1):
        for g in range(table.shape[1]):
            for i in range(table.shape[2]):
                total = 0.0
                for p in range(feature.shape[1]):
                    total += _value(columns[y], feature[i, p], lam * signal[i, p], base + g, 1.0 - lam, rho, alpha, power)
                table[y, g, i] = total


@njit(**_OPTIONS)
def table_pull_back(y0, y1, columns, feature, signal, lam, residual, out, rho, alpha, power):
    """Add the adjoint of `table_values` at residual (k, G, N) to out."""
    base = columns.shape[1] - residual.shape[1]
    for y in range(y0, y1):
        for i in range(residual.shape[2]):
            for p in range(feature.shape[1]):
                for g in range(residual.shape[1]):
                    _pull_back(columns[y], feature[i, p], lam * signal[i, p], base + g, 1.0 - lam, residual[y, g, i], out[y], rho, power)


@njit(**_OPTIONS)
def table_tangents(y0, y1, columns, moves, feature, signal, lam, table, rho, alpha, power):
    """Fill table with the directional derivative of `table_values` along moves."""
    base = columns.shape[1] - table.shape[1]
    for y in range(y0, y1):
        for g in range(table.shape[1]):
            for i in range(table.shape[2]):
                total = 0.0
                for p in range(feature.shape[1]):
                    total += _tangent(columns[y], moves[y], feature[i, p], lam * signal[i, p], base + g, 1.0 - lam, rho, power)
                table[y, g, i] = total


@njit(**_OPTIONS)
def table_pull_back_tangent(y0, y1, columns, moves, feature, signal, lam, residual, change, out, rho, alpha, power):
    """Add the directional derivative of `table_pull_back` along (moves, change of residual) to out."""
    base = columns.shape[1] - residual.shape[1]
    for y in range(y0, y1):
        for i in range(residual.shape[2]):
            for p in range(feature.shape[1]):
                for g in range(residual.shape[1]):
                    _pull_back_tangent(
                        columns[y], moves[y], feature[i, p], lam * signal[i, p], base + g, 1.0 - lam,
                        residual[y, g, i], change[y, g, i], out[y], rho, alpha, power,
                    )  # fmt: skip
