"""Numba loops over the neurons of one class: no threads, no choice of algorithm.

Conventions. A *source* is a vector over the neurons r of class y: ``columns[n, r]`` is the correlation with feature n for n < F and the
pre-activation of noise pattern n - F after that, both in units of the scale of the activation. Every pre-activation is
``a * columns[first, r] + b * columns[second, r]``, so one *term* is (first, a, second, b) and contributes ``sum_r R(...)`` to an output.
Values, slopes and constants are those of `mvsim.multi_view.activations.Activation.compiled`; ``unit`` is multiplied at the end. Directions are in
units of the scale as well; derivatives are those by the correlations themselves.

Reassociation and contraction are allowed (``reassoc``, ``contract``): sums over neurons or patches vectorise only with them; NaN and
infinity keep their meaning. Bits depend on the machine's vector width, never on the number of threads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mvsim.multi_view.kernels.jit.compiling import SUMS, njit
from mvsim.multi_view.kernels.jit.loops.activation import bend, slope, value

# One term: its value, its pull-back, its tangent, its second-order pull-back ---------------------------------------------------------


@njit(inline="always", **SUMS)
def _value(columns, first, a, second, b, activation):
    total = 0.0
    for r in range(columns.shape[1]):
        total += value(a * columns[first, r] + b * columns[second, r], activation)
    return total


@njit(inline="always", **SUMS)
def _pull_back(columns, first, a, second, b, weight, out, activation):
    wa, wb = weight * a, weight * b
    for r in range(columns.shape[1]):
        rate = slope(a * columns[first, r] + b * columns[second, r], activation)
        out[first, r] += wa * rate
        out[second, r] += wb * rate


@njit(inline="always", **SUMS)
def _tangent(columns, moves, first, a, second, b, activation):
    total = 0.0
    for r in range(columns.shape[1]):
        rate = slope(a * columns[first, r] + b * columns[second, r], activation)
        total += rate * (a * moves[first, r] + b * moves[second, r])
    return total


@njit(inline="always", **SUMS)
def _pull_back_tangent(columns, moves, first, a, second, b, weight, move, out, activation):
    for r in range(columns.shape[1]):
        x = a * columns[first, r] + b * columns[second, r]
        dx = a * moves[first, r] + b * moves[second, r]
        w = move * slope(x, activation) + weight * bend(x, activation) * dx
        out[first, r] += a * w
        out[second, r] += b * w


# Lists of terms: outputs[e] = sum over the terms t of point e of times[t] * value(t) ---------------------------------------------------


@njit(**SUMS)
def term_values(y0, y1, columns, terms, outputs, activation):
    """Add every term to outputs[y, point], shape (k, E)."""
    point, times, first, a, second, b = terms
    for y in range(y0, y1):
        for t in range(len(point)):
            outputs[y, point[t]] += activation.unit * times[t] * _value(columns[y], first[t], a[t], second[t], b[t], activation)


@njit(**SUMS)
def term_pull_back(y0, y1, columns, terms, residual, out, activation):
    """Add the adjoint of `term_values` at residual (k, E) to out, the shape of columns."""
    point, times, first, a, second, b = terms
    for y in range(y0, y1):
        for t in range(len(point)):
            _pull_back(columns[y], first[t], a[t], second[t], b[t], times[t] * residual[y, point[t]], out[y], activation)


@njit(**SUMS)
def term_tangents(y0, y1, columns, moves, terms, outputs, activation):
    """Add the directional derivative of `term_values` along moves to outputs."""
    point, times, first, a, second, b = terms
    for y in range(y0, y1):
        for t in range(len(point)):
            outputs[y, point[t]] += (
                activation.unit * activation.gain * times[t] * _tangent(columns[y], moves[y], first[t], a[t], second[t], b[t], activation)
            )


@njit(**SUMS)
def term_pull_back_tangent(y0, y1, columns, moves, terms, residual, change, out, activation):
    """Add the directional derivative of `term_pull_back` along (moves, change of residual) to out."""
    point, times, first, a, second, b = terms
    for y in range(y0, y1):
        for t in range(len(point)):
            weight, move = times[t] * residual[y, point[t]], times[t] * change[y, point[t]]
            _pull_back_tangent(columns[y], moves[y], first[t], a[t], second[t], b[t], weight, move, out[y], activation)


# The table of signal patches on noise patterns: table[y, g, i] = sum_p sum_r R(lam * signal_{i,p} + (1 - lam) * noise_g) ------------------


class Signals(NamedTuple):
    """The signal patches of all points, and the weight with which they are mixed."""

    # feature, signal: (N, S) feature and coefficient of each signal patch
    feature: np.ndarray
    signal: np.ndarray
    lam: float  # Their weight


@njit(**SUMS)
def table_values(y0, y1, columns, signals, table, activation):
    """Fill table (k, G, N)."""
    feature, signal, lam = signals
    base = columns.shape[1] - table.shape[1]
    for y in range(y0, y1):
        for g in range(table.shape[1]):
            for i in range(table.shape[2]):
                total = 0.0
                for p in range(feature.shape[1]):
                    total += _value(columns[y], feature[i, p], lam * signal[i, p], base + g, 1.0 - lam, activation)
                table[y, g, i] = activation.unit * total


@njit(**SUMS)
def table_pull_back(y0, y1, columns, signals, residual, out, activation):
    """Add the adjoint of `table_values` at residual (k, G, N) to out."""
    feature, signal, lam = signals
    base = columns.shape[1] - residual.shape[1]
    for y in range(y0, y1):
        for i in range(residual.shape[2]):
            for p in range(feature.shape[1]):
                for g in range(residual.shape[1]):
                    _pull_back(columns[y], feature[i, p], lam * signal[i, p], base + g, 1.0 - lam, residual[y, g, i], out[y], activation)


@njit(**SUMS)
def table_tangents(y0, y1, columns, moves, signals, table, activation):
    """Fill table with the directional derivative of `table_values` along moves."""
    feature, signal, lam = signals
    base = columns.shape[1] - table.shape[1]
    for y in range(y0, y1):
        for g in range(table.shape[1]):
            for i in range(table.shape[2]):
                total = 0.0
                for p in range(feature.shape[1]):
                    total += _tangent(columns[y], moves[y], feature[i, p], lam * signal[i, p], base + g, 1.0 - lam, activation)
                table[y, g, i] = activation.unit * activation.gain * total


@njit(**SUMS)
def table_pull_back_tangent(y0, y1, columns, moves, signals, residual, change, out, activation):
    """Add the directional derivative of `table_pull_back` along (moves, change of residual) to out."""
    feature, signal, lam = signals
    base = columns.shape[1] - residual.shape[1]
    for y in range(y0, y1):
        for i in range(residual.shape[2]):
            for p in range(feature.shape[1]):
                for g in range(residual.shape[1]):
                    _pull_back_tangent(
                        columns[y], moves[y], feature[i, p], lam * signal[i, p], base + g, 1.0 - lam,
                        residual[y, g, i], change[y, g, i], out[y], activation,
                    )  # fmt: skip
