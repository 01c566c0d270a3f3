"""The loss of all pairs and its gradient by a few neurons of each class, in one compiled call that several threads enter together.

Classes stand side by side: where there are only a few neurons of each, loops over classes are the longest. Tables are those of
`mvsim.multi_view.kernels.shared_noise.tables` for symmetric pairs, turned round: U[g, i, z] and terms[t, z] for the class in column z. Neurons are
summed one by one, level by level: neuron 0 of each class that has one, then neuron 1 of each that has two. Classes with most neurons come first, so
that level e has columns 0 .. n_e - 1. Columns are padded to a multiple of `WIDTH`; what the padding adds to partition functions is 0.

Classes without such neurons have no column. They rest, and what they add to the partition function of each pair is a constant.

Points are cut into `PARTS` ranges whose derivatives are added up in their order, so that bits do not depend on the number of threads.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from mvsim.multi_view.kernels.jit.compiling import SUMS, njit
from mvsim.multi_view.kernels.jit.loops.activation import slope, value
from mvsim.multi_view.kernels.jit.loops.exponential import exponentiate, largest_entry
from mvsim.multi_view.kernels.jit.loops.work_list import mark_done, take, wait_for
from mvsim.multi_view.kernels.limits import LARGEST_OUTPUT
from mvsim.multi_view.kernels.shared_noise.layout import PairBlocks, Terms
from mvsim.multi_view.kernels.shared_noise.loops.softmax import linear_part, sum_of_logarithms

_OPTIONS = {key: option for key, option in SUMS.items() if key != "cache"}
WIDTH = 8
"""Columns fill whole vectors."""
PARTS = 8
SIGNALS_AT_ONCE = 4
_BLOCKS_AT_ONCE = 8
_COLUMNS, _VALUES, _SOFTMAX, _ADJOINT, _SUM = range(5)


class Constants(NamedTuple):
    """What depends on the data alone.

    Attributes
    ----------
    patterns, over_scale : numpy.ndarray, float
        See `mvsim.multi_view.kernels.shared_noise.loops.columns`.
    activation : tuple
        See `mvsim.multi_view.activations.Activation.compiled`.
    feature, signal : numpy.ndarray
        (N, S) feature and coefficient of each signal patch, S a multiple of `SIGNALS_AT_ONCE`: patches of feature F + G add nothing.
    terms : Terms
        All terms of all tables but U.
    pairs : PairBlocks
        The pairs.
    offset : numpy.ndarray
        (B + 1,): pairs offset[q] .. offset[q + 1] - 1 are those of block q, the second point fastest.
    label_weight : numpy.ndarray
        (G,): the target of U[g, i] for the class of point i, beside ``Columns.noise_target``.
    """

    patterns: np.ndarray
    over_scale: float
    activation: tuple
    feature: np.ndarray
    signal: np.ndarray
    terms: Terms
    pairs: PairBlocks
    offset: np.ndarray
    label_weight: np.ndarray


class Columns(NamedTuple):
    """Which classes have columns, and what rests.

    Attributes
    ----------
    rows : numpy.ndarray
        (w,) places of the neurons among the moving ones, (k E,), level by level and in each by column.
    level_start : numpy.ndarray
        (levels + 1,) ranges of ``rows``.
    of_label : numpy.ndarray
        (N,) column of the class of each point, -1 if it has none.
    used : int
        Number of columns without padding.
    U, terms : numpy.ndarray
        (G, N, W), (B + E, W) values of the resting neurons of the classes with columns.
    partition, extra_partition : numpy.ndarray
        (pairs,), (E,) what classes without columns add to partition functions.
    noise_target, term_target : numpy.ndarray
        (G, W), (B + E, W): targets of U[g, i] for every i, and of the terms.
    """

    rows: np.ndarray
    level_start: np.ndarray
    of_label: np.ndarray
    used: int
    U: np.ndarray
    terms: np.ndarray
    partition: np.ndarray
    extra_partition: np.ndarray
    noise_target: np.ndarray
    term_target: np.ndarray


class Memory(NamedTuple):
    """What is written on the way.

    Attributes
    ----------
    columns : numpy.ndarray
        (levels, F + G + 1, W) neurons of each level; of the last row, far below 0, every activation is 0.
    U, terms : numpy.ndarray
        (G, N, W), (B + E, W): values, then exponentials, then derivatives.
    out : numpy.ndarray
        (PARTS + 1, levels, F + G + 1, W) derivatives by columns: by each range of points, and by the terms.
    linear, largest : numpy.ndarray
        (PARTS + 1,) sum of soft label times output, and largest value.
    sums : numpy.ndarray
        (B,) sums of log Z over each block.
    """

    columns: np.ndarray
    U: np.ndarray
    terms: np.ndarray
    out: np.ndarray
    linear: np.ndarray
    largest: np.ndarray
    sums: np.ndarray


@njit(inline="always", **_OPTIONS)
def _fill_columns(moving, constants, which, columns):
    F = moving.shape[1]
    for e in range(len(columns)):
        n0 = which.level_start[e]
        columns[e, :F] = 0.0
        for z in range(which.level_start[e + 1] - n0):
            neuron = moving[which.rows[n0 + z]]
            for f in range(F):
                columns[e, f, z] = constants.over_scale * neuron[f]
        np.dot(constants.patterns, columns[e, :F], columns[e, F:-1])


@njit(forceinline=True, **_OPTIONS)
def width_of(level_start, level):
    """Return the number of columns of a level, padded."""
    return -(-(level_start[level + 1] - level_start[level]) // WIDTH) * WIDTH


@njit(forceinline=True, **_OPTIONS)
def _add_values(i0, i1, columns, feature, signal, width, activation, U):
    """Add U of points i0 .. i1 - 1 for one level."""
    G, unit = len(U), activation.unit
    F = len(columns) - G - 1
    for i in range(i0, i1):
        for p in range(0, feature.shape[1], SIGNALS_AT_ONCE):
            b0, b1, b2, b3 = 0.5 * signal[i, p], 0.5 * signal[i, p + 1], 0.5 * signal[i, p + 2], 0.5 * signal[i, p + 3]
            x0, x1, x2, x3 = columns[feature[i, p]], columns[feature[i, p + 1]], columns[feature[i, p + 2]], columns[feature[i, p + 3]]
            for g in range(G):
                row, noise = U[g, i], columns[F + g]
                for z in range(width):
                    n = 0.5 * noise[z]
                    first = value(b0 * x0[z] + n, activation) + value(b1 * x1[z] + n, activation)
                    second = value(b2 * x2[z] + n, activation) + value(b3 * x3[z] + n, activation)
                    row[z] += unit * (first + second)


@njit(forceinline=True, **_OPTIONS)
def _pull_back_values(i0, i1, columns, feature, signal, width, activation, D, out):
    """Fill out with the adjoint of `_add_values` at D (G, N, W)."""
    G, W = D.shape[0], D.shape[2]
    F = len(columns) - G - 1
    by_noise, by_signal = np.zeros((G, W)), np.empty((SIGNALS_AT_ONCE, W))
    s0, s1, s2, s3 = by_signal[0], by_signal[1], by_signal[2], by_signal[3]
    for n in range(len(out)):
        for z in range(W):
            out[n, z] = 0.0
    for i in range(i0, i1):
        for p in range(0, feature.shape[1], SIGNALS_AT_ONCE):
            b0, b1, b2, b3 = 0.5 * signal[i, p], 0.5 * signal[i, p + 1], 0.5 * signal[i, p + 2], 0.5 * signal[i, p + 3]
            x0, x1, x2, x3 = columns[feature[i, p]], columns[feature[i, p + 1]], columns[feature[i, p + 2]], columns[feature[i, p + 3]]
            for z in range(width):
                s0[z] = 0.0
                s1[z] = 0.0
                s2[z] = 0.0
                s3[z] = 0.0
            for g in range(G):
                for z in range(width):
                    n, d = 0.5 * columns[F + g, z], D[g, i, z]
                    r0, r1 = d * slope(b0 * x0[z] + n, activation), d * slope(b1 * x1[z] + n, activation)
                    r2, r3 = d * slope(b2 * x2[z] + n, activation), d * slope(b3 * x3[z] + n, activation)
                    s0[z] += r0
                    s1[z] += r1
                    s2[z] += r2
                    s3[z] += r3
                    by_noise[g, z] += (r0 + r1) + (r2 + r3)
            for q in range(SIGNALS_AT_ONCE):
                b, to, s = 0.5 * signal[i, p + q], out[feature[i, p + q]], by_signal[q]
                for z in range(width):
                    to[z] += b * s[z]
    for g in range(G):
        for z in range(width):
            out[F + g, z] = 0.5 * by_noise[g, z]


@njit(forceinline=True, **_OPTIONS)
def _linear_part(i0, i1, U, of_label, noise_target, label_weight):
    """Return the sum of target times U over some points."""
    G, _, W = U.shape
    sums, of_labels, linear = np.empty(W), 0.0, 0.0
    for g in range(G):
        for z in range(W):
            sums[z] = 0.0
        for i in range(i0, i1):
            for z in range(W):
                sums[z] += U[g, i, z]
            if of_label[i] >= 0:
                of_labels += label_weight[g] * U[g, i, of_label[i]]
        for z in range(W):
            linear += noise_target[g, z] * sums[z]
    return of_labels + linear


@njit(forceinline=True, **_OPTIONS)
def _exponentiate_points(i0, i1, U, used):
    """Put exponentials in the place of values of some points, 0 in the padding; return the largest value."""
    G, _, W = U.shape
    most = 0.0
    for g in range(G):
        row = U[g, i0:i1].reshape((i1 - i0) * W)
        most = max(most, largest_entry(row))
        exponentiate(row)
        for i in range(i0, i1):
            for z in range(used, W):
                U[g, i, z] = 0.0
    return most


@njit(inline="always", **_OPTIONS)
def _exponentials_of_points(part, constants, which, memory):
    """Form values, and exponentials in their place, of one range of points; and the part of the loss that is linear in them."""
    N = memory.U.shape[1]
    i0, i1, U = N * part // PARTS, N * (part + 1) // PARTS, memory.U
    for g in range(len(U)):
        U[g, i0:i1] = which.U[g, i0:i1]
    for e in range(len(memory.columns)):
        width = width_of(which.level_start, e)
        _add_values(i0, i1, memory.columns[e], constants.feature, constants.signal, width, constants.activation, U)
    memory.linear[part] = _linear_part(i0, i1, U, which.of_label, which.noise_target, constants.label_weight)
    most = _exponentiate_points(i0, i1, U, which.used)
    memory.largest[part] = most if np.isfinite(memory.linear[part]) else np.inf


@njit(forceinline=True, **_OPTIONS)
def _add_terms(columns, terms, width, activation, to):
    """Add all terms for one level to (B + E, W)."""
    point, times, first, a, second, b = terms
    for t in range(len(point)):
        row, x, y, weight, a_t, b_t = to[point[t]], columns[first[t]], columns[second[t]], activation.unit * times[t], a[t], b[t]
        for z in range(width):
            row[z] += weight * value(a_t * x[z] + b_t * y[z], activation)


@njit(forceinline=True, **_OPTIONS)
def _pull_back_terms(columns, terms, width, activation, residual, out):
    """Fill out with the adjoint of `_add_terms` at residual (B + E, W)."""
    point, times, first, a, second, b = terms
    for n in range(len(out)):
        for z in range(out.shape[1]):
            out[n, z] = 0.0
    for t in range(len(point)):
        row, x, y, weight, a_t, b_t = residual[point[t]], columns[first[t]], columns[second[t]], times[t], a[t], b[t]
        to_x, to_y = out[first[t]], out[second[t]]
        for z in range(width):
            rate = weight * row[z] * slope(a_t * x[z] + b_t * y[z], activation)
            to_x[z] += a_t * rate
            to_y[z] += b_t * rate


@njit(inline="always", **_OPTIONS)
def _exponentials_of_terms(constants, which, memory):
    terms, blocks = memory.terms, len(constants.pairs.blocks)
    terms[:] = which.terms
    for e in range(len(memory.columns)):
        _add_terms(memory.columns[e], constants.terms, width_of(which.level_start, e), constants.activation, terms)
    flat = terms.reshape(terms.size)
    of_blocks, of_extra = flat[: blocks * terms.shape[1]], flat[blocks * terms.shape[1] :]
    memory.linear[PARTS] = linear_part(which.term_target.reshape(terms.size), flat)
    for n in range(len(of_blocks)):
        of_blocks[n] *= constants.pairs.repeats
    most = largest_entry(of_blocks) + largest_entry(of_extra)
    memory.largest[PARTS] = most if np.isfinite(memory.linear[PARTS]) else np.inf
    exponentiate(flat)


@njit(cache=True, **_OPTIONS)
def put_side_by_side(table, classes, out):
    """Fill out (n, W) with some rows of a table (k, n) as its first columns, a stretch of them at a time."""
    for n0 in range(0, len(out), 64):
        n1 = min(n0 + 64, len(out))
        for z in range(len(classes)):
            for n in range(n0, n1):
                out[n, z] = table[classes[z], n]


@njit(**_OPTIONS)
def largest_block(start):
    """Return the largest number of points with one pattern."""
    largest = 0
    for g in range(len(start) - 1):
        largest = max(largest, start[g + 1] - start[g])
    return largest


@njit(forceinline=True, **_OPTIONS)
def _times_noise(second, noise, Y):
    """Fill Y (cols, W) with the exponentials of second points times those of the noise, (W,)."""
    for b in range(len(Y)):
        for z in range(len(noise)):
            Y[b, z] = second[b, z] * noise[z]


@njit(cache=True, **_OPTIONS)
def fill_partition_functions(used, pairs, offset, U, terms, partition, extra_partition):
    """Fill the partition functions of all pairs from values U (G, N, W) and terms (B + E, W), of which exponentials take the place.

    Return whether these fit; if not, nothing is filled.
    """
    start, blocks = pairs.start, len(pairs.blocks)
    W = U.shape[2]
    terms[:blocks] *= pairs.repeats
    most = _exponentiate_points(0, U.shape[1], U, used)
    flat = terms.reshape(terms.size)
    if not 2.0 * most + largest_entry(flat[: blocks * W]) + largest_entry(flat[blocks * W :]) < LARGEST_OUTPUT:
        return False
    exponentiate(flat)
    Y_ = np.empty((largest_block(start), W))
    for block in range(blocks):
        g, h = pairs.blocks[block, 0], pairs.blocks[block, 1]
        i0, j0 = start[g], start[h]
        rows, cols = start[g + 1] - i0, start[h + 1] - j0
        X, Y = U[h, i0 : i0 + rows], Y_[:cols]
        _times_noise(U[g, j0 : j0 + cols], terms[block], Y)
        np.dot(X, Y.T, partition[offset[block] : offset[block + 1]].reshape((rows, cols)))
        for e in range(pairs.extra_start[block], pairs.extra_start[block + 1]):
            a, b, total = pairs.extra_pairs[e, 0] - i0, pairs.extra_pairs[e, 1] - j0, 0.0
            for z in range(W):
                total += X[a, z] * Y[b, z] * terms[blocks + e, z]
            extra_partition[e] = total
    return True


@njit(forceinline=True, **_OPTIONS)
def _set_apart(block, pairs, Z, number):
    """Put a number in the place of pairs that are summed by themselves, and of those below the diagonal, which are not visited."""
    g, h = pairs.blocks[block, 0], pairs.blocks[block, 1]
    i0, j0 = pairs.start[g], pairs.start[h]
    for e in range(pairs.extra_start[block], pairs.extra_start[block + 1]):
        Z[pairs.extra_pairs[e, 0] - i0, pairs.extra_pairs[e, 1] - j0] = number
    if g == h:
        for a in range(len(Z)):
            for b in range(a):
                Z[a, b] = number


@njit(**_OPTIONS)
def softmax_of_block(block, pairs, resting, Z):
    """Add the partition functions of what rests, put weights / Z in their place, 0 for pairs that are summed apart, and return the sum of log Z."""
    flat = Z.reshape(Z.size)
    for n in range(len(flat)):
        flat[n] += resting[n]
    _set_apart(block, pairs, Z, 1.0)
    total = 2.0 * pairs.weight * sum_of_logarithms(flat)
    for n in range(len(flat)):
        flat[n] = 2.0 * pairs.weight / flat[n]
    _set_apart(block, pairs, Z, 0.0)
    return total


@njit(forceinline=True, **_OPTIONS)
def _softmax_apart(weight, resting, X, a, Y, b, terms, t, targets, by_X, by_Y):
    """Add the derivatives of one pair that is summed by itself, put that by its term in the place of its exponential, and return its log Z."""
    partition = resting
    for z in range(X.shape[1]):
        terms[t, z] *= X[a, z] * Y[b, z]
        partition += terms[t, z]
    scale = weight / partition
    for z in range(X.shape[1]):
        share = terms[t, z] * scale
        by_X[a, z] += share
        by_Y[b, z] += share
        terms[t, z] = share - targets[t, z]
    return weight * math.log(partition)


@njit(forceinline=True, **_OPTIONS)
def _multiply(x, to):
    x, to = x.reshape(x.size), to.reshape(to.size)
    for n in range(len(to)):
        to[n] *= x[n]


@njit(forceinline=True, **_OPTIONS)
def _put_derivatives(by_outputs, of_label, noise_target, label_weight, D):
    """Take the targets off and fill D, the derivatives by U of some points and one pattern, (n, W)."""
    for n in range(D.shape[0]):
        for z in range(D.shape[1]):
            D[n, z] = by_outputs[n, z] - noise_target[z]
        if of_label[n] >= 0:
            D[n, of_label[n]] -= label_weight


@njit(forceinline=True, **_OPTIONS)
def _noise_derivative(by_outputs, repeats, target, t):
    for z in range(len(t)):
        t[z] = 0.0
    for n in range(len(by_outputs)):
        for z in range(len(t)):
            t[z] += by_outputs[n, z]
    for z in range(len(t)):
        t[z] = repeats * t[z] - target[z]


@njit(inline="always", **_OPTIONS)
def _derivatives_of_blocks(b0, b1, constants, which, memory):
    """Put derivatives in the place of exponentials and fill the sums of log Z."""
    pairs, U, terms = constants.pairs, memory.U, memory.terms
    start, weight, blocks = pairs.start, pairs.weight, len(pairs.blocks)
    W, most = U.shape[2], largest_block(start)
    Y_, by_X_, by_Y_, Z_ = np.empty((most, W)), np.empty((most, W)), np.empty((most, W)), np.empty(most * most)
    for block in range(b0, b1):
        g, h = pairs.blocks[block, 0], pairs.blocks[block, 1]
        i0, j0 = start[g], start[h]
        i1, j1 = start[g + 1], start[h + 1]
        X, Y, by_X, by_Y = U[h, i0:i1], Y_[: j1 - j0], by_X_[: i1 - i0], by_Y_[: j1 - j0]
        Z = Z_[: (i1 - i0) * (j1 - j0)].reshape((i1 - i0, j1 - j0))
        _times_noise(U[g, j0:j1], terms[block], Y)
        np.dot(X, Y.T, Z)
        total = softmax_of_block(block, pairs, which.partition[constants.offset[block] : constants.offset[block + 1]], Z)
        np.dot(Z, Y, by_X)
        np.dot(Z.T, X, by_Y)
        _multiply(X, by_X)
        _multiply(Y, by_Y)
        for e in range(pairs.extra_start[block], pairs.extra_start[block + 1]):
            i, j = pairs.extra_pairs[e, 0], pairs.extra_pairs[e, 1]
            once, resting = weight if i == j else 2.0 * weight, which.extra_partition[e]
            total += _softmax_apart(once, resting, X, i - i0, Y, j - j0, terms, blocks + e, which.term_target, by_X, by_Y)
        memory.sums[block] = total
        _noise_derivative(by_X, pairs.repeats, which.term_target[block], terms[block])
        if g == h:  # the first and the second points are the same
            by_X += by_Y
        else:
            _put_derivatives(by_Y, which.of_label[j0:j1], which.noise_target[g], constants.label_weight[g], U[g, j0:j1])
        _put_derivatives(by_X, which.of_label[i0:i1], which.noise_target[h], constants.label_weight[h], X)


@njit(inline="always", **_OPTIONS)
def _pull_back(part, constants, which, memory):
    """Fill the derivatives by columns with those of one range of points, or in the end with those of the terms."""
    N = memory.U.shape[1]
    for e in range(len(memory.columns)):
        columns, out, width = memory.columns[e], memory.out[part, e], width_of(which.level_start, e)
        if part < PARTS:
            i0, i1 = N * part // PARTS, N * (part + 1) // PARTS
            _pull_back_values(i0, i1, columns, constants.feature, constants.signal, width, constants.activation, memory.U, out)
        else:
            _pull_back_terms(columns, constants.terms, width, constants.activation, memory.terms, out)


@njit(inline="always", **_OPTIONS)
def _fill_gradient(constants, which, memory, gradient):
    F, total = gradient.shape[1], memory.out[0]
    for part in range(1, PARTS + 1):
        more = memory.out[part]
        for e in range(len(total)):
            for n in range(total.shape[1]):
                for z in range(total.shape[2]):
                    total[e, n, z] += more[e, n, z]
    by_noise = np.empty((F, total.shape[2]))
    for e in range(len(total)):
        np.dot(constants.patterns.T, total[e, F:-1], by_noise)
        n0 = which.level_start[e]
        for z in range(which.level_start[e + 1] - n0):
            to = gradient[which.rows[n0 + z]]
            for f in range(F):
                to[f] = total[e, f, z] + by_noise[f, z]


@njit(**_OPTIONS)
def fits(largest):
    """Whether the exponentials of outputs fit: largest U of each range of points, then of the terms."""
    of_points = 0.0
    for part in range(PARTS):
        of_points = max(of_points, largest[part])
    return 2.0 * of_points + largest[PARTS] < LARGEST_OUTPUT


@njit(cache=True, **_OPTIONS)
def few_neurons_gradient(counters, moving, constants, which, memory, gradient):
    """Take part in filling gradient (k E, F) and the sums of the loss at moving (k E, F); there is neither unless ``memory.largest`` `fits`."""
    blocks = len(constants.pairs.blocks)
    while take(counters, _COLUMNS) < 1:
        _fill_columns(moving, constants, which, memory.columns)
        mark_done(counters, _COLUMNS)
    wait_for(counters, _COLUMNS, 1)
    part = take(counters, _VALUES)
    while part <= PARTS:
        if part < PARTS:
            _exponentials_of_points(part, constants, which, memory)
        else:
            _exponentials_of_terms(constants, which, memory)
        mark_done(counters, _VALUES)
        part = take(counters, _VALUES)
    wait_for(counters, _VALUES, PARTS + 1)
    if not fits(memory.largest):
        return
    parts = (blocks + _BLOCKS_AT_ONCE - 1) // _BLOCKS_AT_ONCE
    part = take(counters, _SOFTMAX)
    while part < parts:
        first, last = part * _BLOCKS_AT_ONCE, min((part + 1) * _BLOCKS_AT_ONCE, blocks)
        _derivatives_of_blocks(first, last, constants, which, memory)
        mark_done(counters, _SOFTMAX)
        part = take(counters, _SOFTMAX)
    wait_for(counters, _SOFTMAX, parts)
    part = take(counters, _ADJOINT)
    while part <= PARTS:
        _pull_back(part, constants, which, memory)
        mark_done(counters, _ADJOINT)
        part = take(counters, _ADJOINT)
    wait_for(counters, _ADJOINT, PARTS + 1)
    while take(counters, _SUM) < 1:
        _fill_gradient(constants, which, memory, gradient)
        mark_done(counters, _SUM)
    wait_for(counters, _SUM, 1)
