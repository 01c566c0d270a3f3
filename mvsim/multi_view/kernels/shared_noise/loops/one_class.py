"""The loss of all pairs and its gradient by a few neurons of one class, while all other classes rest.

The partition function of a pair is then Z = R + x y: a constant R, and the exponential of the output of the one class, a product of its tables. No
class but this one has a loop, and points are the longest ones. One thread does it: there is too little for two.

Tables are those of one class for symmetric pairs, as in `mvsim.multi_view.kernels.shared_noise.tables`: U (G, N) and terms (B + E,).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mvsim.multi_view.kernels.jit.compiling import SUMS, njit
from mvsim.multi_view.kernels.jit.loops.activation import slope, value
from mvsim.multi_view.kernels.jit.loops.exponential import exponentiate, largest_entry
from mvsim.multi_view.kernels.limits import LARGEST_OUTPUT
from mvsim.multi_view.kernels.shared_noise.loops.few_neurons import largest_block, softmax_of_block
from mvsim.multi_view.kernels.shared_noise.loops.softmax import linear_part

_OPTIONS = {key: option for key, option in SUMS.items() if key != "cache"}


class OneClass(NamedTuple):
    """What rests."""

    rows: np.ndarray  # (E,) places of the neurons among the moving ones, (k E,)
    U: np.ndarray  # (G, N), (B + E,): values of the other neurons of the class
    terms: np.ndarray
    U_target: np.ndarray  # the same of the derivatives of the mean of soft label times output
    term_target: np.ndarray
    partition: np.ndarray  # (pairs,), (E,) what the other classes add to partition functions
    extra_partition: np.ndarray


class Memory(NamedTuple):
    """What is written on the way."""

    columns: np.ndarray  # (E, F + G + 1) neurons; of the last entry, far below 0, every activation is 0
    x: np.ndarray  # (E, S, N) signal patches of each neuron
    U: np.ndarray  # (G, N), (B + E,): values, then exponentials, then derivatives
    terms: np.ndarray


@njit(forceinline=True, **_OPTIONS)
def _signals(column, feature, signal, x):
    """Fill x (S, N): half of each signal patch."""
    for p in range(len(x)):
        for i in range(x.shape[1]):
            x[p, i] = 0.5 * signal[i, p] * column[feature[i, p]]


@njit(forceinline=True, **_OPTIONS)
def _add_values(column, x, activation, U):
    """Add U of one neuron."""
    G, N = U.shape
    F = len(column) - G - 1
    for g in range(G):
        n = 0.5 * column[F + g]
        for p in range(len(x)):
            for i in range(N):
                U[g, i] += activation.unit * value(x[p, i] + n, activation)


@njit(forceinline=True, **_OPTIONS)
def _pull_back_values(column, x, feature, signal, activation, D, out):
    """Add the adjoint of `_add_values` at D (G, N) to out."""
    G, N = D.shape
    F = len(column) - G - 1
    by_signal = np.zeros(x.shape)
    for g in range(G):
        n, by_noise = 0.5 * column[F + g], 0.0
        for p in range(len(x)):
            for i in range(N):
                rate = D[g, i] * slope(x[p, i] + n, activation)
                by_signal[p, i] += rate
                by_noise += rate
        out[F + g] += 0.5 * by_noise
    for p in range(len(x)):
        for i in range(N):
            out[feature[i, p]] += 0.5 * signal[i, p] * by_signal[p, i]


@njit(forceinline=True, **_OPTIONS)
def _add_terms(column, terms, activation, to):
    point, times, first, a, second, b = terms
    for t in range(len(point)):
        to[point[t]] += activation.unit * times[t] * value(a[t] * column[first[t]] + b[t] * column[second[t]], activation)


@njit(forceinline=True, **_OPTIONS)
def _pull_back_terms(column, terms, activation, residual, out):
    point, times, first, a, second, b = terms
    for t in range(len(point)):
        rate = times[t] * residual[point[t]] * slope(a[t] * column[first[t]] + b[t] * column[second[t]], activation)
        out[first[t]] += a[t] * rate
        out[second[t]] += b[t] * rate


@njit(forceinline=True, **_OPTIONS)
def _derivatives_of_blocks(constants, which, U, terms):
    """Put derivatives of the sum of log Z in the place of exponentials, and return it."""
    pairs = constants.pairs
    start, weight, blocks = pairs.start, pairs.weight, len(pairs.blocks)
    most = largest_block(start)
    y_, by_x_, by_y_, Z_ = np.empty(most), np.empty(most), np.empty(most), np.empty(most * most)
    total = 0.0
    for block in range(blocks):
        g, h = pairs.blocks[block, 0], pairs.blocks[block, 1]
        i0, j0 = start[g], start[h]
        rows, cols = start[g + 1] - i0, start[h + 1] - j0
        x, y, by_x, by_y = U[h, i0 : i0 + rows], y_[:cols], by_x_[:rows], by_y_[:cols]
        Z = Z_[: rows * cols].reshape((rows, cols))
        for b in range(cols):
            y[b] = U[g, j0 + b] * terms[block]
            by_y[b] = 0.0
        for a in range(rows):
            for b in range(cols):
                Z[a, b] = x[a] * y[b]
        total += softmax_of_block(block, pairs, which.partition[constants.offset[block] : constants.offset[block + 1]], Z)
        for a in range(rows):
            s = 0.0
            for b in range(cols):
                s += Z[a, b] * y[b]
                by_y[b] += Z[a, b] * x[a]
            by_x[a] = s * x[a]
        for b in range(cols):
            by_y[b] *= y[b]
        for e in range(pairs.extra_start[block], pairs.extra_start[block + 1]):
            i, j, t = pairs.extra_pairs[e, 0], pairs.extra_pairs[e, 1], blocks + e
            once = weight if i == j else 2.0 * weight
            exponential = x[i - i0] * y[j - j0] * terms[t]
            partition = which.extra_partition[e] + exponential
            total += once * math.log(partition)
            share = once * exponential / partition
            by_x[i - i0] += share
            by_y[j - j0] += share
            terms[t] = share
        s = 0.0
        for a in range(rows):
            s += by_x[a]
        terms[block] = pairs.repeats * s
        for a in range(rows):
            x[a] = by_x[a]
        if g == h:  # the first and the second points are the same
            for b in range(cols):
                x[b] += by_y[b]
        else:
            for b in range(cols):
                U[g, j0 + b] = by_y[b]
    return total


@njit(cache=True, **_OPTIONS)
def one_class_gradient(moving, constants, which, memory, gradient):
    """Fill gradient (k E, F) at moving (k E, F) and return the loss but for a constant; NaN, and no gradient, if exponentials do not fit."""
    columns, x, U, terms, activation = memory.columns, memory.x, memory.U, memory.terms, constants.activation
    blocks, F = len(constants.pairs.blocks), moving.shape[1]
    flat = U.reshape(U.size)
    U[:] = which.U
    terms[:] = which.terms
    for e in range(len(columns)):
        neuron = moving[which.rows[e]]
        for f in range(F):
            columns[e, f] = constants.over_scale * neuron[f]
        np.dot(constants.patterns, columns[e, :F], columns[e, F:-1])
        _signals(columns[e], constants.feature, constants.signal, x[e])
        _add_values(columns[e], x[e], activation, U)
        _add_terms(columns[e], constants.terms, activation, terms)
    linear = linear_part(which.U_target.reshape(U.size), flat) + linear_part(which.term_target, terms)
    for block in range(blocks):
        terms[block] *= constants.pairs.repeats
    if not (2.0 * largest_entry(flat) + largest_entry(terms[:blocks]) + largest_entry(terms[blocks:]) < LARGEST_OUTPUT and np.isfinite(linear)):
        return np.nan
    exponentiate(flat)
    exponentiate(terms)
    loss = _derivatives_of_blocks(constants, which, U, terms) - linear
    U -= which.U_target
    terms -= which.term_target
    out = np.empty(columns.shape[1])
    for e in range(len(columns)):
        out[:] = 0.0
        _pull_back_values(columns[e], x[e], constants.feature, constants.signal, activation, U, out)
        _pull_back_terms(columns[e], constants.terms, activation, terms, out)
        to = gradient[which.rows[e]]
        np.dot(out[F:-1], constants.patterns, to)
        for f in range(F):
            to[f] += out[f]
    return loss
