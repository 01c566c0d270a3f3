"""The signal part of g(x_i) by moments: `mvsim.multi_view.kernels.shared_noise.loops.moments` without noise, where one moment is left.

For signal patches with feature f and coefficient beta, in units of rho, sum_r R(rho beta c_{f,r}) is rho / alpha times

    beta^alpha sum c^alpha        over the polynomial neurons, whose beta c lie in [0, 1] for all beta of the data,
    alpha beta sum c - (alpha - 1) (their number)      over the linear neurons, whose beta c are >= 1,

and r(beta c) for each of the others. Nothing cancels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mvsim.multi_view.kernels.jit.compiling import SUMS, njit
from mvsim.multi_view.kernels.jit.loops.activation import bend, slope, to_power, value

LARGEST = 1e18
"""Largest correlation, in units of rho, whose powers are taken: those up to the 16th are doubles."""


class UnmixedTable(NamedTuple):
    """The constants. Rows are signal patches, sorted by feature."""

    # low, high: (F,) range of beta for each feature; low > high where no point has it
    low: np.ndarray
    high: np.ndarray
    start: np.ndarray  # (F + 1,): rows start[f] .. start[f + 1] - 1 have feature f.
    # signal, top: (rows,) beta and beta^alpha
    signal: np.ndarray
    top: np.ndarray
    point: np.ndarray  # (rows,) point of each


@njit(inline="always", **SUMS)
def _range(c, low, high):
    """Return whether beta c lies in [0, 1], whether it is >= 1, and whether neither is so although it is not <= 0, for all beta.

    A beta of 0 keeps any c within [0, 1]; where its power is no double, it counts as neither.
    """
    first, last = min(low * c, high * c), max(low * c, high * c)
    polynomial = first >= 0.0 and last <= 1.0 and abs(c) <= LARGEST
    linear = first >= 1.0
    return polynomial, linear, not (polynomial or linear or last <= 0.0)


@njit(**SUMS)
def unmixed_values(y0, y1, columns, constants, outputs, activation):
    """Fill outputs (k, N)."""
    unit, alpha = activation.unit, activation.alpha
    for y in range(y0, y1):
        outputs[y] = 0.0
        for f in range(len(constants.low)):
            first, last = constants.start[f], constants.start[f + 1]
            if first == last:
                continue
            row, signal, top, point = columns[y, f], constants.signal[first:last], constants.top[first:last], constants.point[first:last]
            polynomials, linears, number, others = 0.0, 0.0, 0.0, 0
            for r in range(len(row)):
                polynomial, linear, other = _range(row[r], constants.low[f], constants.high[f])
                polynomials += to_power(row[r], activation.power, 0) if polynomial else 0.0
                linears += row[r] if linear else 0.0
                number += 1.0 if linear else 0.0
                others += other
            for n in range(len(signal)):
                outputs[y, point[n]] += unit * (top[n] * polynomials + alpha * signal[n] * linears - (alpha - 1.0) * number)
            for r in range(len(row) if others else 0):
                if _range(row[r], constants.low[f], constants.high[f])[2]:
                    for n in range(len(signal)):
                        outputs[y, point[n]] += unit * value(signal[n] * row[r], activation)


@njit(**SUMS)
def unmixed_pull_back(y0, y1, columns, constants, residual, out, activation):
    """Add the adjoint of `unmixed_values` at residual (k, N) to out, the shape of columns."""
    for y in range(y0, y1):
        for f in range(len(constants.low)):
            first, last = constants.start[f], constants.start[f + 1]
            if first == last:
                continue
            row, signal, top, point = columns[y, f], constants.signal[first:last], constants.top[first:last], constants.point[first:last]
            by_top, by_signal, others = 0.0, 0.0, 0
            for n in range(len(signal)):
                by_top += top[n] * residual[y, point[n]]
                by_signal += signal[n] * residual[y, point[n]]
            for r in range(len(row)):
                polynomial, linear, other = _range(row[r], constants.low[f], constants.high[f])
                by_power = by_top * to_power(row[r], activation.power, 1) if polynomial else 0.0
                out[y, f, r] += by_signal if linear else by_power
                others += other
            for r in range(len(row) if others else 0):
                if _range(row[r], constants.low[f], constants.high[f])[2]:
                    total = 0.0
                    for n in range(len(signal)):
                        total += signal[n] * residual[y, point[n]] * slope(signal[n] * row[r], activation)
                    out[y, f, r] += total


@njit(**SUMS)
def unmixed_tangents(y0, y1, columns, moves, constants, outputs, activation):
    """Fill outputs with the derivative of `unmixed_values` along moves."""
    for y in range(y0, y1):
        outputs[y] = 0.0
        for f in range(len(constants.low)):
            first, last = constants.start[f], constants.start[f + 1]
            if first == last:
                continue
            row, move, signal, top, point = (
                columns[y, f],
                moves[y, f],
                constants.signal[first:last],
                constants.top[first:last],
                constants.point[first:last],
            )
            polynomials, linears, others = 0.0, 0.0, 0
            for r in range(len(row)):
                polynomial, linear, other = _range(row[r], constants.low[f], constants.high[f])
                polynomials += to_power(row[r], activation.power, 1) * move[r] if polynomial else 0.0
                linears += move[r] if linear else 0.0
                others += other
            for n in range(len(signal)):
                outputs[y, point[n]] += activation.unit * activation.gain * (top[n] * polynomials + signal[n] * linears)
            for r in range(len(row) if others else 0):
                if _range(row[r], constants.low[f], constants.high[f])[2]:
                    for n in range(len(signal)):
                        outputs[y, point[n]] += activation.unit * activation.gain * slope(signal[n] * row[r], activation) * signal[n] * move[r]


@njit(**SUMS)
def unmixed_pull_back_tangent(y0, y1, columns, moves, constants, residual, change, out, activation):
    """Add the derivative of `unmixed_pull_back` along (moves, change) to out."""
    alpha = activation.alpha
    for y in range(y0, y1):
        for f in range(len(constants.low)):
            first, last = constants.start[f], constants.start[f + 1]
            if first == last:
                continue
            row, move, signal, top, point = (
                columns[y, f],
                moves[y, f],
                constants.signal[first:last],
                constants.top[first:last],
                constants.point[first:last],
            )
            by_top, by_top_moved, by_signal_moved, others = 0.0, 0.0, 0.0, 0
            for n in range(len(signal)):
                by_top += top[n] * residual[y, point[n]]
                by_top_moved += top[n] * change[y, point[n]]
                by_signal_moved += signal[n] * change[y, point[n]]
            for r in range(len(row)):
                polynomial, linear, other = _range(row[r], constants.low[f], constants.high[f])
                rate, change_of_rate = to_power(row[r], activation.power, 1), (alpha - 1.0) * to_power(row[r], activation.power, 2)
                by_power = by_top_moved * rate + by_top * change_of_rate * move[r]
                out[y, f, r] += by_signal_moved if linear else (by_power if polynomial else 0.0)
                others += other
            for r in range(len(row) if others else 0):
                if _range(row[r], constants.low[f], constants.high[f])[2]:
                    total = 0.0
                    for n in range(len(signal)):
                        z = signal[n] * row[r]
                        w = change[y, point[n]] * slope(z, activation) + residual[y, point[n]] * bend(z, activation) * signal[n] * move[r]
                        total += signal[n] * w
                    out[y, f, r] += total
