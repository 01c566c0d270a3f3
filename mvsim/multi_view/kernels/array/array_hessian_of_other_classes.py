"""What the correlations of escaped neurons with features of other classes add to the Hessian of all pairs, besides `array_hessian`.

As in `mvsim.multi_view.kernels.shared_noise.hessian_of_pairs`, with D the derivative of the loss by the table of signal on noise and, for
the points i = (s, a) of other classes than that of the neuron, y,

    r(i, h)[e, l] = sum_p lam beta_{i,l,p} R'(z),      z = lam beta_{i,l,p} c[e, s, l] + (1 - lam) n[e, h],

there come to the block of c[y, s] with itself

    sum_{a, h} T[y, s, h, a] r r^T,                    T = max(0, D - (1/N^2) sum_{j of pattern h and class y} (phi_y(z_ij) - (1 - lam)))

and to its diagonal, where it is positive,

    sum_{p, h, a} D (lam beta)^2 R''(z),

in which R'' on noise is replaced where two signal patches coincide: with W the derivative of the loss by the output of the pair,

    W ((lam beta_i)^2 (R''(f_i + f_j) - R''(f_i + (1 - lam) n[e, h_j])) + [same feature] lam beta_i (1 - lam) beta_j R''(f_i + f_j)).

At lam = 1/2 first and second points are the same, and both parts of T are counted at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mvsim.multi_view.kernels.array.array_hessian_parts import Coincidences, Escaped, PairProbability, Side, entries_of
from mvsim.multi_view.kernels.array.pairs import Pairs, Values
from mvsim.multi_view.kernels.array.term_sums import PaddedSum


class OtherClasses:
    """What is laid out once for these sums."""

    def __init__(self, pairs: Pairs) -> None:
        layout, plan, meetings, points = pairs.layout, pairs.plan, pairs.plan.meetings, pairs.by_class
        self._pairs = pairs
        self._meetings = Coincidences.of(pairs, meetings.i, meetings.p, meetings.j, meetings.q)
        self._terms = pairs.device.put(len(plan.blocks) + meetings.pair)
        features = layout.feature[meetings.i, meetings.p], layout.feature[meetings.j, meetings.q]
        self._by_feature = [PaddedSum(pairs.device, feature, layout.features) for feature in features]
        self._in_pattern = points.one_hot(layout.pattern, pairs.G)

    def blocks(self, escaped: Escaped, probability: PairProbability, D: Values) -> Any:
        """Return (k, k, E V, E V): what is added to the block of c[y, s] with itself, for each y and s."""
        xp, k, n = self._pairs.device.xp, escaped.k, escaped.places * escaped.views
        roles, rows, bends = list(self._roles(probability, D)), [], []
        for y in range(k):
            products, of_noise = zip(*(self._on_noise(escaped, y, lam, third, residual) for lam, third, residual in roles), strict=True)
            rows.append(sum(products))
            bends.append(sum(of_noise) + self._at_meetings(escaped, y, D))
        identity = xp.eye(n, dtype=xp.float64, device=self._pairs.device.place)
        blocks = xp.stack(rows) + xp.maximum(xp.stack(bends), 0.0)[:, :, :, None] * identity
        return blocks * (1.0 - xp.eye(k, dtype=xp.float64, device=self._pairs.device.place))[:, :, None, None]

    def _roles(self, probability: PairProbability, D: Values) -> Iterator[tuple[float, Any, Any]]:
        """Yield the weight of a point, T and D (k, s, G, a), for the first points of pairs and for the second ones."""
        xp, lam, points = self._pairs.device.xp, self._pairs.lam, self._pairs.by_class
        first, second = points.in_classes(D.U), points.in_classes(D.V)
        if self._pairs.symmetric:
            yield lam, self._third(first, 2.0 * (probability.second - lam)), first
        else:
            yield lam, self._third(first, probability.second - (1.0 - lam)), first
            yield 1.0 - lam, self._third(second, xp.permute_dims(probability.first, (2, 3, 0, 1)) - lam), second

    def _third(self, on_noise: Any, of_class: Any) -> Any:
        """Return T (k, s, G, a): D less the sums over j of pattern h and class y of ``of_class`` (s, a, y, b) at (i, j) / N^2."""
        xp, (k, _, G, places) = self._pairs.device.xp, on_noise.shape
        by_class = xp.reshape(xp.permute_dims(of_class, (2, 0, 1, 3)), (k, k * places, places))
        sums = xp.reshape(xp.matmul(by_class, self._in_pattern), (k, k, places, G))
        return xp.maximum(on_noise - xp.permute_dims(sums, (0, 1, 3, 2)) / self._pairs.N**2, 0.0)

    def _on_noise(self, escaped: Escaped, y: int, lam: float, third: Any, residual: Any) -> tuple[Any, Any]:
        """Return (s, E V, E V) and (s, E V): the sums over the points of each class s on the noise of all patterns."""
        xp, (c, noise) = self._pairs.device.xp, escaped.of_class(y)
        share = lam * self._pairs.by_class.signal[None, :, :, :, None, :]  # (1, s, l, p, 1, a)
        z = share * c[:, :, :, None, None, None] + (1.0 - lam) * noise[:, None, None, None, :, None]  # (e, s, l, p, h, a)
        real = escaped.real[y, :, None, None, None, None]
        rates = real * xp.sum(share * escaped.activation.slope(z), axis=3)  # (e, s, l, h, a)
        rates = xp.reshape(xp.permute_dims(rates, (1, 0, 2, 3, 4)), (escaped.k, escaped.places * escaped.views, -1))
        products = xp.matmul(rates * xp.reshape(third[y, ...], (escaped.k, 1, -1)), xp.matrix_transpose(rates))
        bends = xp.sum(share * share * escaped.activation.bend(z) * residual[y, ...][None, :, None, None, :, :], axis=(3, 4, 5))  # (e, s, l)
        bends = xp.permute_dims(bends * real[..., 0, 0], (1, 0, 2))
        return products, xp.reshape(bends, (escaped.k, -1))

    def _at_meetings(self, escaped: Escaped, y: int, D: Values) -> Any:
        """Return (s, E V): what coincidences change of the second sum."""
        xp, (i, j), lam = self._pairs.device.xp, self._meetings, self._pairs.lam
        W = xp.take(D.terms[y, :], self._terms)
        of_class = xp.full_like(i.label, y)
        same = xp.astype(i.feature == j.feature, xp.float64)

        def read(side: Side, pattern: Any, share: float) -> tuple[Any, Any, Any, Any]:
            c, noise, real = entries_of(self._pairs, escaped, of_class, side.feature, pattern)
            weight = share * side.beta[:, None] * real
            return weight, weight * c, noise, real

        (share_i, from_i, noise_j, real), (share_j, from_j, noise_i, _) = read(i, j.pattern, lam), read(j, i.pattern, 1.0 - lam)
        bend = escaped.activation.bend
        both = bend(from_i + from_j)
        between = (same[:, None] * share_i * share_j) * both
        of_i = share_i * share_i * (both - bend(from_i + (1.0 - lam) * noise_j)) + between
        of_j = share_j * share_j * (both - bend(from_j + lam * noise_i)) + between
        sums = [by(xp.matrix_transpose(W[:, None] * real * each)) for by, each in zip(self._by_feature, (of_i, of_j), strict=True)]  # (E, F)
        by_class = xp.permute_dims(xp.reshape(sums[0] + sums[1], (escaped.places, escaped.k, escaped.views)), (1, 0, 2))
        return xp.reshape(by_class, (escaped.k, -1))
