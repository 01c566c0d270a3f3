"""The rates at which outputs at mixed points change with the correlations of the escaped neurons.

As in `mvsim.multi_view.kernels.shared_noise.stiff_hessian.rates`, for an escaped neuron e of class y, i = (y, a), j = (s, b), mu = 1 - lam,

    own      A(i, j)[e, l] = sum_p lam beta_{i,l,p} R'(lam beta_{i,l,p} c[e, y, l] + mu n[e, h_j]),
    other    O(i, j)[e, l] = sum_q mu beta_{j,l,q} R'(mu beta_{j,l,q} c[e, s, l] + lam n[e, h_i]).

A depends on j through its pattern alone: it is formed for all patterns and gathered. Where patch p of i meets patch q of j, the neuron reads both
signals: with f_i = lam beta_{i,p} c, f_j = mu beta_{j,q} c

    lam beta_{i,p} (R'(f_i + f_j) - R'(f_i + mu n[e, h_j])) is added to A,     mu beta_{j,q} (R'(f_i + f_j) - R'(f_j + lam n[e, h_i])) to O.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mvsim.multi_view.kernels.array.padded import PaddedSum
from mvsim.multi_view.kernels.array.pairs import Pairs
from mvsim.multi_view.kernels.array.stiff_hessian.coincidences import Coincidences, entries_of
from mvsim.multi_view.kernels.array.stiff_hessian.escaped import Escaped


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
