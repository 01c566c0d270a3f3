"""Compiled loops of `mvsim.multi_view.kernels.shared_noise.hessian_of_pairs`.

Of a class with fewer neurons than places the first places are taken, and the rows of the others are neither filled nor read.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mvsim.multi_view.kernels.jit.compiling import SUMS, njit
from mvsim.multi_view.kernels.jit.loops.activation import bend, slope


class Readers(NamedTuple):
    """See `mvsim.multi_view.kernels.shared_noise.escaped.Escaped` and `Layout`."""

    # order, place, start, labels, pattern, feature, signal: Of the points
    order: np.ndarray
    place: np.ndarray
    start: np.ndarray
    labels: np.ndarray
    pattern: np.ndarray
    feature: np.ndarray
    signal: np.ndarray
    # count, c, noise: Of the neurons
    count: np.ndarray
    c: np.ndarray
    noise: np.ndarray
    over_scale: float  # 1 / scale of the activation
    activation: tuple  # See `mvsim.multi_view.activations.Activation.compiled`


class Pairs(NamedTuple):
    """The ordered pairs of points, what their signal patches meet, and the softmax."""

    lam: float
    symmetric: bool
    # meetings, meetings_start: See `mvsim.multi_view.kernels.shared_noise.layout.by_classes`
    meetings: tuple
    meetings_start: np.ndarray
    # first, second: See `mvsim.multi_view.kernels.shared_noise.pair_softmax.PairProbability`
    first: np.ndarray
    second: np.ndarray
    # U, V: (k, G, N) derivatives of the loss by the tables of signal on noise
    U: np.ndarray
    V: np.ndarray
    # own_first, own_second: (V E, N G) rates of the neurons of each point's class on noise, of a first and of a second point, points by classes
    own_first: np.ndarray
    own_second: np.ndarray


class Sums(NamedTuple):
    """What is summed over the pairs of each two classes y and s, in both orders: (k, k, ...)."""

    # squares, mixed: (2 V E, 2 V E), A before O, of the rates of neurons of y with themselves, and with those of neurons of s
    squares: np.ndarray
    mixed: np.ndarray
    # others, bends: (V E, V E) and (V E,), T r r^T and D (lam beta)^2 R'' of neurons of y on points of s
    others: np.ndarray
    bends: np.ndarray


_PAIRS_AT_ONCE = 512


@njit(**SUMS)
def own_rates(y0, y1, lam, readers, rates):
    """Fill rates (V E, N G), points of one class together, for neurons of classes y0 .. y1 - 1 and points of their own class."""
    start, G = readers.start, readers.noise.shape[2]
    bends = np.empty((len(rates), np.diff(start).max() * G))
    for y in range(y0, y1):
        _fill_rates(y, y, lam, readers, rates, start[y] * G, bends)


@njit(forceinline=True, **SUMS)
def _fill_rates(y, s, lam, readers, rates, begin, bends):
    """Fill, for neurons of class y on points of class s and all patterns, rates from ``begin`` on with r, and bends with sums of (lam beta)^2 R''."""
    signal, feature, noise, start = readers.signal, readers.feature, readers.noise, readers.start
    over_scale, activation = readers.over_scale, readers.activation
    S, E, G = signal.shape[1], noise.shape[1], noise.shape[2]
    views = len(rates) // E
    patches = S // views
    shift = over_scale * (1.0 - lam)
    for e in range(readers.count[y]):
        for a in range(start[s], start[s + 1]):
            i, at = readers.order[a], (a - start[s]) * G
            for view in range(views):
                row, bent = rates[e * views + view, begin + at : begin + at + G], bends[e * views + view, at : at + G]
                row[:] = 0.0
                bent[:] = 0.0
                for p in range(view * patches, (view + 1) * patches):
                    share = lam * signal[i, p]
                    read, twice = over_scale * share * readers.c[y, e, feature[i, p]], over_scale * share * share
                    for g in range(G):
                        x = read + shift * noise[y, e, g]
                        row[g] += share * slope(x, activation)
                        bent[g] += twice * bend(x, activation)


@njit(**SUMS)
def sums_of_pairs(y0, y1, readers, pairs, sums):
    """Add the sums of classes y0 .. y1 - 1 with the half of the classes that follows each, cyclically, so that all have the same share of the work.

    Some pairs at once: each rate has a row of its own, so that sums over pairs vectorise.
    """
    start, order, place, count, lam = readers.start, readers.order, readers.place, readers.count, pairs.lam
    k, R, most = len(start) - 1, sums.squares.shape[2], np.diff(start).max()
    places, E, G = R // 2, readers.noise.shape[1], readers.noise.shape[2]
    u, v = np.empty((R, max(_PAIRS_AT_ONCE, most))), np.empty((R, max(_PAIRS_AT_ONCE, most)))
    weights = np.empty((3, u.shape[1]))
    on_first, on_second = np.empty((places, most * G)), np.empty((places, most * G))
    work = np.empty((places + 2, most * G))
    for y in range(y0, y1):
        for step in range(k // 2 + 1):
            s = (y + step) % k
            if count[y] + count[s] == 0 or (2 * step == k and y > s):
                continue
            weight = (2.0 if pairs.symmetric and step > 0 else 1.0) / len(order) ** 2
            for turn in range(1 if pairs.symmetric or step == 0 else 2):
                a, b = (y, s) if turn == 0 else (s, y)
                n, m, columns = places // E * count[a], places // E * count[b], start[b + 1] - start[b]
                if step == 0:
                    _fill_rates(a, b, 1.0 - lam, readers, on_second, 0, work)
                else:
                    _sums_on_noise(a, b, 1.0 - lam, weight, readers, pairs.V, pairs.first, on_second, work, sums)
                    _sums_on_noise(b, a, lam, weight, readers, pairs.U, pairs.second, on_first, work, sums)
                rows, entry = max(1, _PAIRS_AT_ONCE // max(1, columns)), pairs.meetings_start[a * k + b]
                for row in range(start[a], start[a + 1], rows):
                    one, other = (row, min(row + rows, start[a + 1])), (start[b], start[b + 1])
                    size = 0
                    for i in order[one[0] : one[1]]:
                        for j in order[other[0] : other[1]]:
                            phi, psi = pairs.first[i, j], pairs.second[j, i]
                            weights[0, size], weights[1, size] = weight * phi * (1.0 - phi), weight * psi * (1.0 - psi)
                            weights[2, size] = -weight * phi * psi
                            size += 1
                    _spread(u, n, readers, one, columns, pairs.own_first, other, 1, on_second, start[b])
                    if step > 0:
                        _spread(v, m, readers, other, 1, pairs.own_second, one, columns, on_first, start[a])
                    while entry < pairs.meetings_start[a * k + b + 1] and place[pairs.meetings.i[entry]] < one[1]:
                        i, p, j, q = pairs.meetings.i[entry], pairs.meetings.p[entry], pairs.meetings.j[entry], pairs.meetings.q[entry]
                        pair = (place[i] - row) * columns + place[j] - start[b]
                        _meet(u, pair, a, lam, i, p, j, q, readers)
                        if step > 0:
                            _meet(v, pair, b, 1.0 - lam, j, q, i, p, readers)
                        entry += 1
                    if step == 0:
                        for p in range(n):
                            for pair in range(size):
                                u[p, pair] += u[places + p, pair]
                        _add_products(u[:places], n, u[:places], n, places, True, weights[0, :size], sums.squares[a, a], sums.squares[a, a])
                    else:
                        _add_products(u, n, u, n, places, True, weights[0, :size], sums.squares[a, b], sums.squares[a, b])
                        _add_products(v, m, v, m, places, True, weights[1, :size], sums.squares[b, a], sums.squares[b, a])
                        _add_products(u, n, v, m, places, False, weights[2, :size], sums.mixed[a, b], sums.mixed[b, a])


@njit(forceinline=True, **SUMS)
def _spread(rows, n, readers, own, own_step, own_rates, other, other_step, other_rates, other_start):
    """Write A and O of pairs that do not meet, for points own[0] .. own[1] - 1 and other[0] .. other[1] - 1 by classes, to n places of rows."""
    pattern, order, G, places = readers.pattern, readers.order, readers.noise.shape[2], len(rows) // 2
    for place in range(n):
        for a in range(own[0], own[1]):
            h = pattern[order[a]]
            for b in range(other[0], other[1]):
                pair = (a - own[0]) * own_step + (b - other[0]) * other_step
                rows[place, pair] = own_rates[place, a * G + pattern[order[b]]]
                rows[places + place, pair] = other_rates[place, (b - other_start) * G + h]


@njit(forceinline=True, **SUMS)
def _meet(rows, pair, y, lam, i, p, j, q, readers):
    """Replace, in one pair, the rates of neurons of class y, that of i, where signal patch p of i meets q of j."""
    pattern, feature, signal, noise = readers.pattern, readers.feature, readers.signal, readers.noise
    over_scale, activation = readers.over_scale, readers.activation
    E, places = noise.shape[1], len(rows) // 2
    views = places // E
    patches = signal.shape[1] // views
    share_i, share_j = lam * signal[i, p], (1.0 - lam) * signal[j, q]
    for e in range(readers.count[y]):
        from_i, from_j = over_scale * share_i * readers.c[y, e, feature[i, p]], over_scale * share_j * readers.c[y, e, feature[j, q]]
        both = slope(from_i + from_j, activation)
        on_noise = slope(from_i + over_scale * (1.0 - lam) * noise[y, e, pattern[j]], activation)
        rows[e * views + p // patches, pair] += share_i * (both - on_noise)
        on_noise = slope(from_j + over_scale * lam * noise[y, e, pattern[i]], activation)
        rows[places + e * views + q // patches, pair] += share_j * (both - on_noise)


@njit(forceinline=True, **SUMS)
def _add_products(left, n, right, m, places, lower, weight, out, mirrored):
    """Add the sums of weight left[p] right[q] to out[p, q] and mirrored[q, p]; of p >= q alone, and once where p = q, if ``lower``.

    The rows are places, once or twice, of which the first n are taken on the left and m on the right.
    """
    weighted = np.empty(len(weight))
    for p in range(len(left)):
        if p % places >= n:
            continue
        for pair in range(len(weight)):
            weighted[pair] = weight[pair] * left[p, pair]
        for q in range(p + 1 if lower else len(right)):
            if q % places >= m:
                continue
            total = 0.0
            for pair in range(len(weight)):
                total += weighted[pair] * right[q, pair]
            out[p, q] += total
            if not lower or q < p:
                mirrored[q, p] += total


@njit(forceinline=True, **SUMS)
def _sums_on_noise(y, s, lam, weight, readers, residual, of_class, rates, work, sums):
    """Fill rates as `_fill_rates` does, and add what belongs to others[y, s] and bends[y, s].

    lam is the weight of a point of s, residual (k, G, N) the derivative by its table; of_class[j, i] is the softmax for the class of j beside i.
    """
    order, start, pattern, G = readers.order, readers.start, readers.pattern, readers.noise.shape[2]
    places, size = len(rates), (start[s + 1] - start[s]) * G
    bends, derivative, third = work[:places], work[places], work[places + 1]
    _fill_rates(y, s, lam, readers, rates, 0, bends)
    n = places // readers.noise.shape[1] * readers.count[y]
    if n == 0:
        return
    for a in range(start[s], start[s + 1]):
        i, at = order[a], (a - start[s]) * G
        for g in range(G):
            derivative[at + g] = third[at + g] = residual[y, g, i]
        for j in order[start[y] : start[y + 1]]:
            third[at + pattern[j]] -= weight * (of_class[j, i] - (1.0 - lam))
        for g in range(G):
            third[at + g] = max(third[at + g], 0.0)
    for place in range(n):
        total = 0.0
        for h in range(size):
            total += derivative[h] * bends[place, h]
        sums.bends[y, s, place] += total
    _add_products(rates, n, rates, n, places, True, third[:size], sums.others[y, s], sums.others[y, s])


@njit(**SUMS)
def bends_at_meetings(y0, y1, lam, readers, meetings, residual, bends):
    """Replace, in bends (k, k, V E), R'' on noise by R'' on the other's signal where two signal patches coincide; residual is (k, pairs)."""
    labels, feature, signal, count, pattern = readers.labels, readers.feature, readers.signal, readers.count, readers.pattern
    c, noise, over_scale, activation = readers.c, readers.noise, readers.over_scale, readers.activation
    E, n = noise.shape[1], bends.shape[2]
    patches = signal.shape[1] * E // n
    for y in range(y0, y1):
        if count[y] == 0:
            continue
        for entry in range(len(meetings.pair)):
            i, p, j, q = meetings.i[entry], meetings.p[entry], meetings.j[entry], meetings.q[entry]
            if labels[i] == y and labels[j] == y:
                continue
            weight = over_scale * residual[y, meetings.pair[entry]]
            share_i, share_j = lam * signal[i, p], (1.0 - lam) * signal[j, q]
            between = share_i * share_j if feature[i, p] == feature[j, q] else 0.0
            for e in range(count[y]):
                from_i, from_j = over_scale * share_i * c[y, e, feature[i, p]], over_scale * share_j * c[y, e, feature[j, q]]
                both = bend(from_i + from_j, activation)
                if labels[i] != y:
                    on_noise = bend(from_i + over_scale * (1.0 - lam) * noise[y, e, pattern[j]], activation)
                    bends[y, labels[i], e * (n // E) + p // patches] += weight * (share_i * share_i * (both - on_noise) + between * both)
                if labels[j] != y:
                    on_noise = bend(from_j + over_scale * lam * noise[y, e, pattern[i]], activation)
                    bends[y, labels[j], e * (n // E) + q // patches] += weight * (share_j * share_j * (both - on_noise) + between * both)
