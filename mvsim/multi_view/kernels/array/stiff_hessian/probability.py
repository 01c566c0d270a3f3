"""The softmax at all pairs for the classes of their two points, and the derivative of the mean cross-entropy by the values of the pairs.

Both come from the outputs, tile by tile (`mvsim.multi_view.kernels.array.pairs`): phi_y(z_ij) = exp(g_y - max g) / sum_s exp(g_s - max g), of which
only the entries y = y_i and y = y_j are kept.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from mvsim.losses import CrossEntropy
from mvsim.multi_view.kernels.array.pairs import Adjoint, Pairs, Tile, Values


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
