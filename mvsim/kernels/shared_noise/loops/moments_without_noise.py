"""The signal part of g(x_i) by moments: `mvsim.kernels.shared_noise.loops.moments` without noise, where one moment is left.

For signal patches with feature f and coefficient beta, in units of rho, sum_r R(rho beta c_{f,r}) is rho / alpha times

    beta^alpha sum c^alpha        over the polynomial neurons, whose beta c lie in [0, 1] for all beta of the data,
    alpha beta sum c - (alpha - 1) (their number)      over the linear neurons, whose beta c are >= 1,

and r(beta c) for each of the others. Nothing cancels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mvsim.kernels.jit.compiling import SUMS, njit
from mvsim.kernels.jit.loops.activation import _r, _r_1, _r_2, _to_power


class UnmixedTable(NamedTuple):
    """The constants. Rows are signal patches, sorted by feature.

    Attributes
    ----------
    low, high : numpy.ndarray
        (2k,) range of beta for each feature; low > high where no point has it.
    start : numpy.ndarray
        (2k + 1,): rows start[f] .. start[f + 1] - 1 have feature f.
    signal, top : numpy.ndarray
        (rows,) beta and beta^alpha.
    point : numpy.ndarray
        (rows,) point of each.
    """

    low: np.ndarray
    high: np.ndarray
    start: np.ndarray
    signal: np.ndarray
    top: np.ndarray
    point: np.ndarray


@njit(inline="always", **SUMS)
def _range(c, low, high):
    """Return whether beta c lies in [0, 1], whether it is >= 1, and whether neither is so although it is not <= 0, for all beta."""
    first, last = min(low * c, high * c), max(low * c, high * c)
    polynomial, linear = first >= 0.0 and last <= 1.0, first >= 1.0
    return polynomial, linear, not (polynomial or linear or last <= 0.0)


@njit(**SUMS)
def unmixed_values(y0, y1, columns, at, outputs, activation):
    """Fill outputs (k, N)."""
    unit, alpha, power = activation
    for y in range(y0, y1):
        outputs[y] = 0.0
        for f in range(len(at.low)):
            first, last = at.start[f], at.start[f + 1]
            if first == last:
                continue
            row, signal, top, point = columns[y, f], at.signal[first:last], at.top[first:last], at.point[first:last]
            polynomials, linears, number, others = 0.0, 0.0, 0.0, 0
            for r in range(len(row)):
                polynomial, linear, other = _range(row[r], at.low[f], at.high[f])
                polynomials += _to_power(row[r], power, 0) if polynomial else 0.0
                linears += row[r] if linear else 0.0
                number += 1.0 if linear else 0.0
                others += other
            for n in range(len(signal)):
                outputs[y, point[n]] += unit * (top[n] * polynomials + alpha * signal[n] * linears - (alpha - 1.0) * number)
            for r in range(len(row) if others else 0):
                if _range(row[r], at.low[f], at.high[f])[2]:
                    for n in range(len(signal)):
                        outputs[y, point[n]] += unit * _r(signal[n] * row[r], alpha, power)


@njit(**SUMS)
def unmixed_pull_back(y0, y1, columns, at, residual, out, activation):
    """Add the adjoint of `unmixed_values` at residual (k, N) to out, the shape of columns."""
    _, _, power = activation
    for y in range(y0, y1):
        for f in range(len(at.low)):
            first, last = at.start[f], at.start[f + 1]
            if first == last:
                continue
            row, signal, top, point = columns[y, f], at.signal[first:last], at.top[first:last], at.point[first:last]
            by_top, by_signal, others = 0.0, 0.0, 0
            for n in range(len(signal)):
                by_top += top[n] * residual[y, point[n]]
                by_signal += signal[n] * residual[y, point[n]]
            for r in range(len(row)):
                polynomial, linear, other = _range(row[r], at.low[f], at.high[f])
                slope = by_top * _to_power(row[r], power, 1) if polynomial else 0.0
                out[y, f, r] += by_signal if linear else slope
                others += other
            for r in range(len(row) if others else 0):
                if _range(row[r], at.low[f], at.high[f])[2]:
                    total = 0.0
                    for n in range(len(signal)):
                        total += signal[n] * residual[y, point[n]] * _r_1(signal[n] * row[r], power)
                    out[y, f, r] += total


@njit(**SUMS)
def unmixed_tangents(y0, y1, columns, moves, at, outputs, activation):
    """Fill outputs with the derivative of `unmixed_values` along moves."""
    unit, alpha, power = activation
    for y in range(y0, y1):
        outputs[y] = 0.0
        for f in range(len(at.low)):
            first, last = at.start[f], at.start[f + 1]
            if first == last:
                continue
            row, move, signal, top, point = columns[y, f], moves[y, f], at.signal[first:last], at.top[first:last], at.point[first:last]
            polynomials, linears, others = 0.0, 0.0, 0
            for r in range(len(row)):
                polynomial, linear, other = _range(row[r], at.low[f], at.high[f])
                polynomials += _to_power(row[r], power, 1) * move[r] if polynomial else 0.0
                linears += move[r] if linear else 0.0
                others += other
            for n in range(len(signal)):
                outputs[y, point[n]] += unit * alpha * (top[n] * polynomials + signal[n] * linears)
            for r in range(len(row) if others else 0):
                if _range(row[r], at.low[f], at.high[f])[2]:
                    for n in range(len(signal)):
                        outputs[y, point[n]] += unit * alpha * _r_1(signal[n] * row[r], power) * signal[n] * move[r]


@njit(**SUMS)
def unmixed_pull_back_tangent(y0, y1, columns, moves, at, residual, change, out, activation):
    """Add the derivative of `unmixed_pull_back` along (moves, change) to out."""
    _, alpha, power = activation
    for y in range(y0, y1):
        for f in range(len(at.low)):
            first, last = at.start[f], at.start[f + 1]
            if first == last:
                continue
            row, move, signal, top, point = columns[y, f], moves[y, f], at.signal[first:last], at.top[first:last], at.point[first:last]
            by_top, by_top_moved, by_signal_moved, others = 0.0, 0.0, 0.0, 0
            for n in range(len(signal)):
                by_top += top[n] * residual[y, point[n]]
                by_top_moved += top[n] * change[y, point[n]]
                by_signal_moved += signal[n] * change[y, point[n]]
            for r in range(len(row)):
                polynomial, linear, other = _range(row[r], at.low[f], at.high[f])
                bend = by_top_moved * _to_power(row[r], power, 1) + by_top * (alpha - 1.0) * _to_power(row[r], power, 2) * move[r]
                out[y, f, r] += by_signal_moved if linear else (bend if polynomial else 0.0)
                others += other
            for r in range(len(row) if others else 0):
                if _range(row[r], at.low[f], at.high[f])[2]:
                    total = 0.0
                    for n in range(len(signal)):
                        z = signal[n] * row[r]
                        w = change[y, point[n]] * _r_1(z, power) + residual[y, point[n]] * _r_2(z, alpha, power) * signal[n] * move[r]
                        total += signal[n] * w
                    out[y, f, r] += total
