"""The stiff part of the Hessian of all pairs: an arrow matrix (`mvsim.multi_view.kernels.shared_noise.hessian_of_pairs`).

With u = (A, O) at lam and v the same at 1 - lam (`PairRates`), phi and psi the softmax at z_ij for the classes of i and of j (`PairProbability`), the
sums over the pairs of the classes y and s are products of matrices, a pair a row:

    uu[y, s] =  sum_{i in y, j in s} phi (1 - phi)(i, j) u(i, j) u(i, j)^T,
    vv[y, s] =  sum_{j in y, i in s} psi (1 - psi)(i, j) v(j, i) v(j, i)^T,
    uv[y, s] = -sum_{i in y, j in s} phi psi(i, j) u(i, j) v(j, i)^T.

The Gauss-Newton Hessian of the mean is 1 / N^2 times uu[y, s] + uv[y, s] + uv[s, y]^T + vv[s, y] for two classes, and (1, 1)^T uu (1, 1) in the
blocks A and O for one class. Border, blocks and sides are those of the arrow.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from mvsim.multi_view.kernels.array.array_hessian_of_other_classes import OtherClasses
from mvsim.multi_view.kernels.array.array_hessian_parts import Escaped, PairProbability, PairRates, probability_and_derivative
from mvsim.multi_view.kernels.array.pairs import Pairs
from mvsim.numerics.arrow_matrix import Curvature


class StiffHessianOfPairs:
    """What is laid out once for all pairs."""

    def __init__(self, pairs: Pairs) -> None:
        self._pairs = pairs

    def at(self, columns: Any, escaped: Escaped) -> Curvature:
        """Return the stiff part of the Hessian at columns (k, m, F + G)."""
        if not escaped.places:
            return Curvature.nothing()
        pairs, weight = self._pairs, 1.0 / self._pairs.N**2
        probability, D = probability_and_derivative(pairs, pairs.values(columns))
        u = self._rates.at(escaped, pairs.lam)
        v = u if pairs.symmetric else self._rates.at(escaped, 1.0 - pairs.lam)
        uu, uv, vv = (weight * sums for sums in self._sums(probability, u, v))
        return self._arrow(escaped, uu, uv, vv, self._others.blocks(escaped, probability, D))

    @cached_property
    def _rates(self) -> PairRates:
        return PairRates(self._pairs)

    @cached_property
    def _others(self) -> OtherClasses:
        return OtherClasses(self._pairs)

    def _sums(self, probability: PairProbability, u: Any, v: Any) -> tuple[Any, Any, Any]:
        """Return uu, uv and vv, (k, k, n, n) each."""
        xp, k = self._pairs.device.xp, u.shape[0]

        def of_pairs(values: Any) -> Any:
            """Return (s, a b, n), or (s, a b, 1), for (a, s, b, ...)."""
            by_class = xp.permute_dims(values, (1, 0, 2, *range(3, values.ndim)))
            return xp.reshape(by_class, (k, by_class.shape[1] * by_class.shape[2], -1))

        def products(weights: Any, left: Any, right: Any) -> Any:
            return xp.matmul(xp.matrix_transpose(of_pairs(weights) * of_pairs(left)), of_pairs(right))

        phi, psi = probability
        swapped = xp.permute_dims(psi, (2, 3, 0, 1))  # by the second point first
        reversed_v = xp.permute_dims(v, (2, 3, 0, 1, 4))  # v(j, i) at (i, j)
        uu = xp.stack([products((phi * (1.0 - phi))[y, ...], u[y, ...], u[y, ...]) for y in range(k)])
        uv = xp.stack([products(-(phi * psi)[y, ...], u[y, ...], reversed_v[y, ...]) for y in range(k)])
        if self._pairs.symmetric:
            return uu, uv, uu
        return uu, uv, xp.stack([products((swapped * (1.0 - swapped))[y, ...], v[y, ...], v[y, ...]) for y in range(k)])

    def _arrow(self, escaped: Escaped, uu: Any, uv: Any, vv: Any, more: Any) -> Curvature:
        """Put the matrix together from the sums over the pairs of each two classes, as the compiled kernel does."""
        xp, device = self._pairs.device.xp, self._pairs.device
        k, size = escaped.own_index.shape
        own, other = slice(0, size), slice(size, 2 * size)
        identity = xp.eye(k, dtype=xp.float64, device=device.place)[:, :, None, None]
        same = sum(uu[:, :, a, b] for a in (own, other) for b in (own, other)) * identity
        both, uv = (uu + vv) * (1.0 - identity), uv * (1.0 - identity)
        vu = xp.permute_dims(uv, (1, 0, 3, 2))
        border = uv[:, :, own, own] + vu[:, :, own, own] + same + xp.sum(both[:, :, own, own], axis=1)[:, None, :, :] * identity
        others, mixed = both[:, :, other, other] + more, uv[:, :, other, other] + vu[:, :, other, other]
        sides = both[:, :, other, own], uv[:, :, other, own] + vu[:, :, other, own]
        y, s = np.triu_indices(k, 1)
        one, two = device.put(k * y + s), device.put(k * s + y)
        places = np.arange(k * size).reshape(k, size)

        def at(values: Any, which: Any) -> Any:
            return xp.take(xp.reshape(values, (k * k, *values.shape[2:])), which, axis=0)

        def block(rows: list[list[Any]]) -> Any:
            return xp.concat([xp.concat(row, axis=2) for row in rows], axis=1)

        return Curvature(
            border_index=device.fetch(xp.reshape(escaped.own_index, (-1,))),
            border=device.fetch(xp.reshape(xp.permute_dims(border, (0, 2, 1, 3)), (k * size, k * size))),
            block_index=device.fetch(xp.concat([at(escaped.other_index, one), at(escaped.other_index, two)], axis=1)),
            blocks=device.fetch(block([[at(others, one), at(mixed, one)], [at(mixed, two), at(others, two)]])),
            side_index=np.concatenate([places[y], places[s]], axis=1),
            sides=device.fetch(block([[at(sides[0], one), at(sides[1], one)], [at(sides[1], two), at(sides[0], two)]])),
        )
