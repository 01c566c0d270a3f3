"""What the Hessian of all pairs is made of, on a device: the neurons that have escaped, the rates at which they move outputs, and the softmax.

**Rates.** As in `mvsim.multi_view.kernels.shared_noise.pair_rates`, for an escaped neuron e of class y, i = (y, a), j = (s, b), mu = 1 - lam,

    own      A(i, j)[e, l] = sum_p lam beta_{i,l,p} R'(lam beta_{i,l,p} c[e, y, l] + mu n[e, h_j]),
    other    O(i, j)[e, l] = sum_q mu beta_{j,l,q} R'(mu beta_{j,l,q} c[e, s, l] + lam n[e, h_i]).

A depends on j through its pattern alone: it is formed for all patterns and gathered. Where patch p of i meets patch q of j, the neuron reads both
signals: with f_i = lam beta_{i,p} c, f_j = mu beta_{j,q} c

    lam beta_{i,p} (R'(f_i + f_j) - R'(f_i + mu n[e, h_j])) is added to A,     mu beta_{j,q} (R'(f_i + f_j) - R'(f_j + lam n[e, h_i])) to O.

**Softmax.** It and the derivative of the mean cross-entropy by the values of the pairs come from the outputs, tile by tile
(`mvsim.multi_view.kernels.array.pairs`): phi_y(z_ij) = exp(g_y - max g) / sum_s exp(g_s - max g), of which only the entries y = y_i and y = y_j are
kept.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mvsim.losses import CrossEntropy
from mvsim.multi_view.activations import Activation
from mvsim.multi_view.kernels.array.device import Device
from mvsim.multi_view.kernels.array.pairs import Adjoint, Pairs, Tile, Values
from mvsim.multi_view.kernels.array.term_sums import PaddedSum


class Escaped:
    """The escaped neurons at some correlations. Every class has the same number of places: as many as the class with most escaped neurons needs.

    k, places, views        Classes, E places of a class, and V views.
    real                    (k, E) doubles, 1 where a place is taken, else 0.
    c                       (k, E, F), correlations, 0 in places that are not taken.
    noise                   (k, E, G), what they read in a patch of noise.
    own_index, other_index  (k, E V) and (k, k, E V), coordinates of their correlations with the features of their own class and of each class; -1 in
                            places that are not taken.
    """

    def __init__(self, device: Device, activation: Activation, patterns: Any, c: Any, escaped: Any) -> None:
        xp, (k, m, F) = device.xp, c.shape
        which = xp.astype(escaped, xp.int64)
        self._xp, self.activation, self.k, self.views, self.places = xp, activation.elementwise(xp), k, F // k, int(xp.max(xp.sum(which, axis=1)))
        neuron = xp.argsort(1 - which, axis=1, stable=True)[:, : self.places]
        taken = xp.take_along_axis(which, neuron, axis=1)
        self.real = xp.astype(taken, xp.float64)
        rows = xp.reshape(m * device.integers(k)[:, None] + neuron, (-1,))
        by_neuron = xp.reshape(xp.take(xp.reshape(c, (k * m, F)), rows, axis=0), (k, self.places, F))
        self.c = by_neuron * self.real[:, :, None]
        self.noise = xp.matmul(self.c, xp.matrix_transpose(patterns))
        index = F * xp.reshape(rows, (k, self.places, 1)) + device.integers(F)
        index = xp.reshape(xp.where(taken[:, :, None] > 0, index, xp.full_like(index, -1)), (k, self.places, k, self.views))
        self.other_index = xp.reshape(xp.permute_dims(index, (0, 2, 1, 3)), (k, k, self.places * self.views))
        self.own_index = xp.take(xp.reshape(self.other_index, (k * k, -1)), (k + 1) * device.integers(k), axis=0)

    def of_class(self, y: int) -> tuple[Any, Any]:
        """Return (E, k, V) and (E, G): correlations and what is read in noise, of the neurons of one class."""
        return self._xp.reshape(self.c[y, :, :], (self.places, self.k, self.views)), self.noise[y, :, :]


class Side(NamedTuple):
    """One of the two patches of each meeting."""

    beta: Any  # (M,) signal
    feature: Any  # (M,) its feature
    # label, pattern: (M,) class and noise pattern of the point
    label: Any
    pattern: Any


class Coincidences(NamedTuple):
    """Meetings of patch p of point i with patch q of point j."""

    # first, second: The patches p of i and q of j
    first: Side
    second: Side

    @staticmethod
    def of(pairs: Pairs, i: np.ndarray, p: np.ndarray, j: np.ndarray, q: np.ndarray) -> Coincidences:
        """Put the meetings where the pairs are."""
        layout, put = pairs.layout, pairs.device.put
        sides = (
            Side(put(layout.signal[at, patch]), put(layout.feature[at, patch]), put(layout.labels[at]), put(layout.pattern[at]))
            for at, patch in ((i, p), (j, q))
        )
        return Coincidences(*sides)


def entries_of(pairs: Pairs, escaped: Escaped, label: Any, feature: Any, pattern: Any) -> tuple[Any, Any, Any]:
    """Return (M, E) each, of the neurons of the class of each meeting: correlations with a feature, what is read in a pattern, 1 for real places."""
    xp, (k, E, F), G = pairs.device.xp, escaped.c.shape, pairs.G
    c = xp.reshape(xp.permute_dims(escaped.c, (0, 2, 1)), (k * F, E))
    noise = xp.reshape(xp.permute_dims(escaped.noise, (0, 2, 1)), (k * G, E))
    return xp.take(c, F * label + feature, axis=0), xp.take(noise, G * label + pattern, axis=0), xp.take(escaped.real, label, axis=0)


class PairRates:
    """What is laid out once for the rates of all pairs."""

    def __init__(self, pairs: Pairs) -> None:
        self._pairs, layout, points, put = pairs, pairs.layout, pairs.by_class, pairs.device.put
        self._views = points.views
        pattern = np.zeros(points.classes * points.places, np.int64)
        pattern[points.place_of_point] = layout.pattern
        self._pattern, self._pattern_of_class = put(pattern), put(pattern.reshape(points.classes, points.places))
        i, p, j, q = _both_orders(pairs)
        self._meetings = Coincidences.of(pairs, i, p, j, q)
        count = points.classes * points.places
        met, which = np.unique(points.place_of_point[i] * count + points.place_of_point[j], return_inverse=True)
        self._met = len(met)
        own, other = (which * self._views + patch // points.patches for patch in (p, q))
        self._sums = [PaddedSum(pairs.device, output, self._met * self._views) for output in (own, other)]
        table = np.full(count * count, self._met)  # beyond the last pair stands a zero
        table[met] = np.arange(self._met)
        self._table = put(table.reshape(points.classes, points.places * count))

    def at(self, escaped: Escaped, lam: float) -> Any:
        """Return (k, a, k, b, 2 E V): A and O of every ordered pair."""
        xp, points, corrections = self._pairs.device.xp, self._pairs.by_class, self._corrections(escaped, lam)
        rows = []
        for y in range(escaped.k):
            of_pairs = xp.stack([self._own(escaped, lam, y), self._other(escaped, lam, y)], axis=2) * escaped.real[y, None, None, None, :, None]
            of_pairs = xp.reshape(of_pairs, (-1, corrections.shape[1])) + xp.take(corrections, self._table[y, :], axis=0)
            rows.append(xp.reshape(of_pairs, (points.places, points.classes, points.places, -1)))
        return xp.stack(rows)

    def _own(self, escaped: Escaped, lam: float, y: int) -> Any:
        """Return (a, k b, E, V): A for the first points of class y."""
        xp, (c, noise) = self._pairs.device.xp, escaped.of_class(y)
        share = lam * self._pairs.by_class.signal[y, ...][None, :, :, None, :]  # (1, l, p, 1, a)
        z = share * c[:, y, :][:, :, None, None, None] + (1.0 - lam) * noise[:, None, None, :, None]
        by_pattern = xp.sum(share * escaped.activation.slope(z), axis=2)  # (e, l, h, a)
        return xp.take(xp.permute_dims(by_pattern, (3, 2, 0, 1)), self._pattern, axis=1)

    def _other(self, escaped: Escaped, lam: float, y: int) -> Any:
        """Return (a, k b, E, V): O for the first points of class y."""
        xp, (c, noise) = self._pairs.device.xp, escaped.of_class(y)
        share = (1.0 - lam) * self._pairs.by_class.signal[None, :, :, :, :, None]  # (1, s, l, q, b, 1)
        read = xp.take(noise, self._pattern_of_class[y, :], axis=1)  # (e, a)
        z = share * c[:, :, :, None, None, None] + lam * read[:, None, None, None, None, :]
        rates = xp.sum(share * escaped.activation.slope(z), axis=3)  # (e, s, l, b, a)
        return xp.reshape(xp.permute_dims(rates, (4, 1, 3, 0, 2)), (rates.shape[4], -1, escaped.places, escaped.views))

    def _corrections(self, escaped: Escaped, lam: float) -> Any:
        """Return (pairs that meet + 1, 2 E V): what is added to A and O; the last row is 0."""
        xp, device, (i, j) = self._pairs.device.xp, self._pairs.device, self._meetings
        slope, mu = escaped.activation.slope, 1.0 - lam
        c_i, noise_j, real = entries_of(self._pairs, escaped, i.label, i.feature, j.pattern)
        c_j, noise_i, _ = entries_of(self._pairs, escaped, i.label, j.feature, i.pattern)
        share_i, share_j = lam * i.beta[:, None] * real, mu * j.beta[:, None] * real
        from_i, from_j = share_i * c_i, share_j * c_j
        both = slope(from_i + from_j)
        own, other = share_i * (both - slope(from_i + mu * noise_j)), share_j * (both - slope(from_j + lam * noise_i))
        sums = [
            xp.reshape(of_pairs(xp.matrix_transpose(each)), (escaped.places, self._met, self._views))
            for of_pairs, each in zip(self._sums, (own, other), strict=True)
        ]
        rows = xp.reshape(xp.permute_dims(xp.stack(sums), (2, 0, 1, 3)), (self._met, 2 * escaped.places * self._views))
        return xp.concat([rows, device.zeros(1, rows.shape[1])])


def _both_orders(pairs: Pairs) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return (i, p, j, q) of the meetings of every ordered pair."""
    meetings = pairs.plan.meetings
    i, p, j, q = meetings.i, meetings.p, meetings.j, meetings.q
    if not pairs.symmetric:
        return i, p, j, q
    apart = i != j
    return tuple(np.concatenate([one, other[apart]]) for one, other in ((i, j), (p, q), (j, i), (q, p)))  # type: ignore[return-value]


class PairProbability(NamedTuple):
    """The softmax at z_ij for the class of the first point and for that of the second, (k, a, k, b) each; 0 where a place has no point."""

    first: Any
    second: Any


def probability_and_derivative(pairs: Pairs, values: Values) -> tuple[PairProbability, Values]:
    """Return both."""
    xp, device, loss = pairs.device.xp, pairs.device, CrossEntropy()
    first, second, D = device.zeros(pairs.slots, pairs.slots), device.zeros(pairs.slots, pairs.slots), Adjoint(pairs)
    for tile in pairs.tiles:
        outputs = pairs.gather(values, tile)
        D.add(tile, tile.weight * loss.residual(outputs, pairs.targets(tile)))
        columns = slice(tile.from_pattern * pairs.width, pairs.slots)
        first[tile.rows, columns], second[tile.rows, columns] = _of_tile(pairs, tile, outputs)
    if pairs.symmetric:  # only i <= j is visited: z_ij is z_ji
        slot = device.integers(pairs.slots)
        mirrored = slot[:, None] > slot[None, :]
        first, second = xp.where(mirrored, xp.matrix_transpose(second), first), xp.where(mirrored, xp.matrix_transpose(first), second)
    return PairProbability(*(_by_classes(pairs, each) for each in (first, second))), D.values()


def _of_tile(pairs: Pairs, tile: Tile, outputs: Any) -> tuple[Any, Any]:
    """Return the two probabilities of the pairs of a tile, (a, h b) each, for outputs (k, n)."""
    xp, h = pairs.device.xp, pairs.G - tile.from_pattern
    weights = xp.exp(outputs - xp.max(outputs, axis=0))
    phi = xp.reshape(weights / xp.sum(weights, axis=0), (pairs.k, h, -1, pairs.width))
    of_first = pairs.labels_of_slots[:, None, tile.rows, None]
    of_second = xp.reshape(pairs.labels_of_slots[:, tile.from_pattern * pairs.width :], (pairs.k, h, 1, pairs.width))
    both = xp.sum(phi * of_first, axis=0) * xp.max(of_second, axis=0), xp.sum(phi * of_second, axis=0) * xp.max(of_first, axis=0)
    first, second = (xp.reshape(xp.permute_dims(each, (1, 0, 2)), (phi.shape[2], -1)) for each in both)
    return first, second


def _by_classes(pairs: Pairs, matrix: Any) -> Any:
    """Return (k, a, k, b) for a matrix (slots, slots)."""
    xp, points = pairs.device.xp, pairs.by_class
    columns = xp.matrix_transpose(points.places_of(matrix))
    return xp.reshape(xp.matrix_transpose(points.places_of(columns)), (points.classes, points.places, points.classes, points.places))
