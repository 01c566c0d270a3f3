"""The mean cross-entropy of all pairs and its derivative by the tables, without an exponential for every pair and class.

The exponential of an output is a product, exp g_y(z_ij) = E1[y, i] E2[y, j] with E1 = exp U[y, h_j, i] and E2 = exp(V[y, h_i, j] + (P - 2 S) B[y]),
so for the pairs of two noise patterns

    Z = E1^T E2             the sums over classes: a matrix product, (a, b)
    loss                    sum w log Z - sum of soft labels times outputs
    R = w / Z               weights w of pairs over these sums
    dloss/dU = E1 (E2 R^T)  - (soft labels),        dloss/dV = E2 (E1 R) - (soft labels),        (P - 2 S) of their sums for B,

since E1 E2 / Z is the softmax phi and the derivative of the loss by an output is w (phi - t) (Calculation A.10). Of the pairs with coinciding signal
patches w is 0 here, and their outputs are written out. The sum of soft label times output is linear in the tables: its derivative is a constant.

Exponentials are used while outputs are at most `LARGEST_OUTPUT` (`mvsim.multi_view.kernels.limits`) and not negative, so that Z is
neither infinite nor 0; beyond that tile by tile from the outputs (`mvsim.multi_view.kernels.sums`). Where all labels are alike the gradient is made
of gaps 1 - phi alone, of which a difference of sums keeps no digits, and outputs are used as well.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from mvsim.losses import CrossEntropy
from mvsim.losses.points import soft_labels
from mvsim.multi_view.kernels.array.pairs import Adjoint, Pairs, Tile, Values
from mvsim.multi_view.kernels.array.term_sums import PaddedSum
from mvsim.multi_view.kernels.limits import LARGEST_OUTPUT


class PairSoftmax:
    """The loss of all pairs from their values."""

    def __init__(self, pairs: Pairs) -> None:
        self._pairs, self._device = pairs, pairs.device
        self._extra = _ExtraPairs(pairs)

    def fits(self, values: Values) -> bool:
        """Whether exponentials of all outputs fit into a double; not so where a value is not finite."""
        xp, blocks = self._device.xp, len(self._pairs.plan.blocks)
        noise, corrections = self._pairs.plan.repeats * values.terms[:, :blocks], values.terms[:, blocks:]
        largest = xp.max(values.U, axis=(1, 2)) + xp.max(values.V, axis=(1, 2)) + xp.maximum(xp.max(noise, axis=1), 0.0)
        if corrections.shape[1]:
            largest = largest + xp.maximum(xp.max(corrections, axis=1), 0.0)
        return bool(xp.all(largest < LARGEST_OUTPUT))

    def loss_and_derivative(self, values: Values) -> tuple[float, Values]:
        xp, pairs = self._device.xp, self._pairs
        blocks = len(pairs.plan.blocks)
        E1 = xp.exp(values.U)
        E2 = E1 if pairs.symmetric else xp.exp(values.V)
        of_noise = xp.exp(pairs.plan.repeats * values.terms[:, :blocks])
        D = Adjoint(pairs)
        of_tiles = [self._add_tile(D, tile, weight, E1, E2, of_noise) for tile, weight in zip(pairs.tiles, self._weights, strict=True)]
        loss = float(sum(of_tiles[1:], of_tiles[0]))  # at the end, so that no tile waits for the one before it
        of_extra, residual = self._extra.add(D, values)
        U, V, linear = self._targets
        linear_part = [(values.U, U), (values.terms[:, :blocks], linear)] + ([] if pairs.symmetric else [(values.V, V)])
        loss += of_extra - sum(float(xp.sum(value * target)) for value, target in linear_part)
        by_U = D.U - U
        by_V = by_U if pairs.symmetric else D.V - V
        return loss, Values(by_U, by_V, xp.concat([D.blocks - linear, residual], axis=1))

    def _add_tile(self, D: Adjoint, tile: Tile, weight: Any, E1: Any, E2: Any, of_noise: Any) -> Any:
        """Add the derivative of sum w log Z of a tile, and return that sum, which stays on the device."""
        xp, pairs = self._device.xp, self._pairs
        h = pairs.G - tile.from_pattern
        first = xp.permute_dims(E1[:, tile.from_pattern :, tile.rows], (1, 2, 0))  # (h, a, k)
        second = xp.reshape(E2[:, tile.pattern, tile.from_pattern * pairs.width :], (pairs.k, h, pairs.width))
        second = xp.permute_dims(second * of_noise[:, tile.blocks][:, :, None], (1, 0, 2))  # (h, k, b)
        Z = xp.matmul(first, second)
        R = weight / Z
        by_first = first * xp.matmul(R, xp.matrix_transpose(second))  # (h, a, k)
        by_second = second * xp.matmul(xp.matrix_transpose(first), R)  # (h, k, b)
        D.add_sums(tile, xp.permute_dims(by_first, (2, 0, 1)), xp.permute_dims(by_second, (1, 0, 2)))
        return xp.sum(weight * xp.log(Z))

    @cached_property
    def _weights(self) -> list[Any]:
        """(h, a, b) for each tile: weights of pairs, 0 for those that are written out."""
        xp, pairs = self._device.xp, self._pairs
        weights = []
        for tile in pairs.tiles:
            alone = xp.where(tile.correction < tile.extra.shape[0], xp.zeros_like(tile.weight), tile.weight)
            weights.append(xp.reshape(alone, (pairs.G - tile.from_pattern, -1, pairs.width)))
        return weights

    @cached_property
    def _targets(self) -> tuple[Any, Any, Any]:
        """The derivatives of the mean of soft label times output over the pairs that are not written out, by U, V and the blocks."""
        xp, pairs = self._device.xp, self._pairs
        lam, mu, D = pairs.lam, 1.0 - pairs.lam, Adjoint(pairs)
        for tile, weight in zip(pairs.tiles, self._weights, strict=True):
            of_first = pairs.labels_of_slots[:, None, tile.rows]  # (k, 1, a)
            of_second = xp.reshape(pairs.labels_of_slots[:, tile.from_pattern * pairs.width :], (pairs.k, -1, pairs.width))  # (k, h, b)
            seconds = xp.permute_dims(xp.matmul(weight, xp.permute_dims(of_second, (1, 2, 0))), (2, 0, 1))  # (k, h, a)
            firsts = xp.permute_dims(xp.matmul(xp.matrix_transpose(weight), xp.permute_dims(of_first, (1, 2, 0))), (2, 0, 1))  # (k, h, b)
            by_first = lam * of_first * xp.sum(weight, axis=2)[None, :, :] + mu * seconds
            by_second = mu * of_second * xp.sum(weight, axis=1)[None, :, :] + lam * firsts
            D.add_sums(tile, by_first, by_second)
        return D.U, D.V, D.blocks


class _ExtraPairs:
    """The pairs with coinciding signal patches, whose outputs are written out."""

    def __init__(self, pairs: Pairs) -> None:
        device, layout, plan = pairs.device, pairs.layout, pairs.plan
        self._pairs, self._device, self._loss = pairs, device, CrossEntropy()
        i, j = plan.extra_pairs.T
        in_U = layout.pattern[j] * pairs.slots + pairs.extra_slots[:, 0]
        in_V = layout.pattern[i] * pairs.slots + pairs.extra_slots[:, 1]
        block = np.searchsorted(plan.extra_start, np.arange(len(i)), side="right") - 1
        self._in_U, self._in_V, self._block = device.put(in_U), device.put(in_V), device.put(block)
        size = pairs.G * pairs.slots
        self._by_U, self._by_V = PaddedSum(device, in_U, size), PaddedSum(device, in_V, size)
        self._by_block = PaddedSum(device, block, len(plan.blocks))
        self._targets = device.put(soft_labels(pairs.k, layout.labels[i], layout.labels[j], pairs.lam))
        twice = 2.0 if pairs.symmetric else 1.0
        self._weight = device.put(np.where(i == j, 1.0, twice) / pairs.N**2)

    def add(self, D: Adjoint, values: Values) -> tuple[float, Any]:
        """Add the derivative of their loss to the tables; return their loss, and its derivative by their corrections."""
        xp, pairs = self._device.xp, self._pairs
        blocks = len(pairs.plan.blocks)
        tables = xp.reshape(values.U, (pairs.k, -1)), xp.reshape(values.V, (pairs.k, -1))
        noise = pairs.plan.repeats * xp.take(values.terms, self._block, axis=1)
        sums = xp.take(tables[0], self._in_U, axis=1) + xp.take(tables[1], self._in_V, axis=1)
        outputs = sums + noise + values.terms[:, blocks:]
        residual = self._weight * self._loss.residual(outputs, self._targets)
        for y in self._device.pieces(pairs.k, pairs.G * pairs.slots * max(self._by_U.width, self._by_V.width)):
            D.U[y, :, :] += xp.reshape(self._by_U(residual[y, :]), (-1, pairs.G, pairs.slots))
            D.V[y, :, :] += xp.reshape(self._by_V(residual[y, :]), (-1, pairs.G, pairs.slots))
        D.blocks[:, :] += pairs.plan.repeats * self._by_block(residual)
        return float(xp.sum(self._weight * self._loss.value(outputs, self._targets))), residual
