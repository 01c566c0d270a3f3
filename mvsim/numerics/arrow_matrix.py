"""An approximate Hessian that is cheap to invert: small blocks that are coupled only through a border.

Its arrays are of any namespace of the array API standard, all on one device.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from array_api_compat import device

from mvsim.numerics.namespaces import namespace_of
from mvsim.numerics.primitives import primitives_of
from mvsim.numerics.vectors import flat, integers_like, same_entries


@dataclass(frozen=True, eq=False)
class Curvature:
    """A symmetric matrix in the form of an arrow; coordinates that it does not name have none.

    Attributes
    ----------
    border_index : array
        (a,) integers: coordinates of the border, -1 for none.
    border : array
        (a, a) the border with itself.
    block_index : array
        (B, q) coordinates of each block, -1 for none; no coordinate occurs twice.
    blocks : array
        (B, q, q) each block with itself.
    side_index : array
        (B, e) positions within the border that each block is coupled to.
    sides : array
        (B, q, e) that coupling.
    lifetime : int
        Steps of an integrator after which it has to be made anew. A direction in which it is stiff and the loss no longer is, because a
        neuron has died, would be damped for ever. A matrix that is cheap to make can have the lifetime 1.
    """

    border_index: Any
    border: Any
    block_index: Any
    blocks: Any
    side_index: Any
    sides: Any
    lifetime: int = 50

    @staticmethod
    def of_border(index: Any, border: Any, lifetime: int = 50) -> Curvature:
        """Return a border without blocks."""
        xp, place = namespace_of(border), device(border)
        none, empty = xp.zeros((0, 1), dtype=index.dtype, device=place), xp.zeros((0, 1, 1), dtype=border.dtype, device=place)
        return Curvature(index, border, none, empty, none, empty, lifetime)

    @staticmethod
    def nothing(like: Any = np.zeros(0)) -> Curvature:  # noqa: B008 - nobody writes to it
        """Return the zero matrix, in the namespace and on the device of an array."""
        xp = namespace_of(like)
        return Curvature.of_border(integers_like(0, like), xp.zeros((0, 0), dtype=xp.float64, device=device(like)))

    def with_arrays(self, to: Callable[[Any], Any]) -> Curvature:
        """Return the same matrix with its arrays elsewhere, by a function that brings an array there."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return Curvature(**{name: value if name == "lifetime" else to(value) for name, value in values.items()})

    @staticmethod
    def mean(weights: Sequence[float], parts: Sequence[Curvature]) -> Curvature:
        """Return the weighted sum of matrices, exactly.

        Where all have the same indices, so has the sum. Otherwise all are first written with one border, see `_common_border`. After that their
        blocks are the same or absent, so borders and blocks are added. Sides are put next to each other, as they may reach other parts of
        the border.
        """
        lifetime = min(part.lifetime for part in parts)
        first = parts[0]
        if all(same_entries(getattr(part, name), getattr(first, name)) for part in parts for name in ("border_index", "block_index", "side_index")):
            border, blocks, sides = (
                sum(w * getattr(part, name) for w, part in zip(weights, parts, strict=True)) for name in ("border", "blocks", "sides")
            )
            return Curvature(first.border_index, border, first.block_index, blocks, first.side_index, sides, lifetime)
        border_index, xp = _common_border(parts), namespace_of(first.border)
        terms = [(w, part.with_border(border_index)) for w, part in zip(weights, parts, strict=True)]
        border = sum(w * part.border for w, part in terms)
        terms = [(w, part) for w, part in terms if part.blocks.shape[0]]
        if not terms:
            return Curvature.of_border(border_index, border, lifetime)
        return Curvature(
            border_index,
            border,
            block_index=terms[0][1].block_index,
            blocks=sum(w * part.blocks for w, part in terms),
            side_index=xp.concat([part.side_index for _, part in terms], axis=1),
            sides=xp.concat([w * part.sides for w, part in terms], axis=2),
            lifetime=lifetime,
        )

    def with_border(self, index: Any) -> Curvature:
        """Return the same matrix with another border.

        Parameters
        ----------
        index : array
            (a,) increasing coordinates: all of the border, and all or none of each block. A block whose coordinates it has becomes part of the
            border, its sides too.
        """
        xp, by, size = namespace_of(self.border), primitives_of(self.border), index.shape[0]
        new, before = by.lookup(index, self.border_index), by.lookup(self.border_index, index)  # where each of the one stands in the other
        border = xp.matrix_transpose(by.entries(xp.matrix_transpose(by.entries(self.border, before)), before))
        joins = xp.any(by.lookup(index, self.block_index) >= 0, axis=1)
        joining, staying = (self._of_blocks(xp.nonzero(which)[0]) for which in (joins, ~joins))
        block, side = by.lookup(index, joining.block_index), by.entries(new, joining.side_index)
        added = [
            (block[:, :, None], block[:, None, :], joining.blocks),
            (block[:, :, None], side[:, None, :], joining.sides),
            (side[:, None, :], block[:, :, None], joining.sides),
        ]
        to = [xp.where((row >= 0) & (column >= 0), row * size + column, size * size) for row, column, _ in added]
        sums = by.spread(xp.concat([flat(each) for each in to]), size * size + 1)  # the last one is of what has no place
        border = border + xp.reshape(sums(xp.concat([flat(values) for _, _, values in added]))[:-1], (size, size))
        side = by.entries(new, staying.side_index)
        sides = xp.where(side[:, None, :] >= 0, staying.sides, xp.zeros_like(staying.sides))
        return Curvature(index, border, staying.block_index, staying.blocks, xp.where(side >= 0, side, size - 1), sides, self.lifetime)

    def _of_blocks(self, which: Any) -> Curvature:
        """Return the same matrix with some of its blocks alone, by their numbers (J,)."""
        xp = namespace_of(self.border)
        names = "block_index", "blocks", "side_index", "sides"
        return replace(self, **{name: xp.take(getattr(self, name), which, axis=0) for name in names})

    def shifted(self, gamma: float) -> Shifted:
        """Factorise I + gamma H."""
        return Shifted(self, gamma)

    def dense(self, n: int) -> np.ndarray:
        """Return the (n, n) matrix, for tests."""
        border, block = _selection(self.border_index, n), _selection(self.block_index, n)
        H = border.T @ self.border @ border
        for E, diagonal, side, border_rows in zip(block, self.blocks, self.sides, self.side_index, strict=True):
            coupling = E.T @ side @ border[border_rows]
            H += E.T @ diagonal @ E + coupling + coupling.T
        return H


def _common_border(parts: Sequence[Curvature]) -> Any:
    """Return the increasing coordinates of a border with which all matrices can be written, so that only blocks are left that they share.

    Any two coordinates of a border may be coupled, so that it can take in what another matrix has as blocks. It has the coordinates of every
    border, those of each block that meets one of them, and where matrices have different blocks those of all blocks. For the kernels it is no
    larger than the largest border of one of them: on the escaped neurons, points that are not mixed couple all correlations, and then have
    them all in their border, or the own ones alone, and then have the border of the pairs.
    """
    xp, by = namespace_of(parts[0].border), primitives_of(parts[0].border)
    blocks = [part.block_index for part in parts if part.block_index.shape[0]]
    different = any(not same_entries(index, blocks[0]) for index in blocks)
    border = _coordinates([part.border_index for part in parts])

    def joining(index: Any) -> Any:
        return index if different else xp.take(index, xp.nonzero(xp.any(by.lookup(border, index) >= 0, axis=1))[0], axis=0)

    return _coordinates([border, *(joining(index) for index in blocks)])


def _coordinates(indices: Sequence[Any]) -> Any:
    """Return the coordinates that occur in some indices, increasing."""
    xp = namespace_of(indices[0])
    named = xp.sort(xp.unique_values(xp.concat([flat(index) for index in indices])))
    return named[named >= 0]


def _selection(index: np.ndarray, n: int) -> np.ndarray:
    """Return the rows of the identity that an index names, zero rows for -1."""
    return np.eye(n)[index] * (index >= 0)[..., None]


class Shifted:
    """I + gamma H, factorised by blocks A, sides C and border B: the border is solved with S = I + gamma B - gamma^2 C^T (I + gamma A)^-1 C.

    Parameters
    ----------
    curvature : Curvature
        H.
    gamma : float
        >= 0.

    Raises
    ------
    numpy.linalg.LinAlgError
        If it is singular to working precision, on NumPy; elsewhere solutions are then not finite.
    """

    def __init__(self, curvature: Curvature, gamma: float) -> None:
        h, self._by = curvature, primitives_of(curvature.border)
        schur = _identity(h.border) + gamma * h.border
        self._eliminated = _Blocks(h, gamma) if h.blocks.shape[0] else None
        if self._eliminated is not None:
            schur = self._by.less_at(schur, h.side_index, self._eliminated.coupled)
        self._solved = self._by.solver(schur) if schur.shape[0] else None
        self._set_coordinates(h.border_index, h.block_index)

    def _set_coordinates(self, border_index: Any, block_index: Any) -> None:
        xp = namespace_of(border_index)
        self._border_index, self._block_index = border_index, block_index
        self._places = self._by.places(xp.concat([border_index, flat(block_index)]))

    def within(self, index: Any) -> Shifted:
        """Return the inverse for vectors of which only the coordinates ``index`` are kept, the others being 0 before and dropped after it."""
        same = copy(self)
        same._set_coordinates(self._by.lookup(index, self._border_index), self._by.lookup(index, self._block_index))
        return same

    def solve(self, r: Any) -> Any:
        """Return (I + gamma H)^-1 r for r (n,), or for each r of (p, n)."""
        xp, by, many = namespace_of(r), self._by, r.shape[:-1]
        if self._solved is None or 0 in r.shape:
            return xp.reshape(flat(r), r.shape)  # in memory as all results are
        border = by.entries(r, self._border_index)
        if self._eliminated is None:
            return self._places.written(r, self._solved(border))
        blocks = by.entries(r, self._block_index)
        border = self._solved(border - self._eliminated.onto_border(blocks))
        return self._places.written(r, xp.concat([border, xp.reshape(self._eliminated.solved(blocks, border), (*many, -1))], axis=-1))


class _Blocks:
    """The blocks of I + gamma H, eliminated. Vectors are theirs, (..., B, q), or of the border, (..., a).

    Attributes
    ----------
    coupled : array
        (B, e, e): gamma^2 C^T (I + gamma A)^-1 C, what this takes away from the border.
    """

    def __init__(self, h: Curvature, gamma: float) -> None:
        xp, self._by = namespace_of(h.border), primitives_of(h.border)
        self._inverse = xp.linalg.inv(_identity(h.blocks) + gamma * h.blocks)
        self._down = xp.matmul(self._inverse, gamma * h.sides)  # (I + gamma A)^-1 gamma C
        self.coupled = xp.matmul(gamma * xp.matrix_transpose(h.sides), self._down)
        self._side_index, self._spread = h.side_index, self._by.spread(flat(h.side_index), h.border.shape[0])

    def onto_border(self, r: Any) -> Any:
        """Return gamma C^T (I + gamma A)^-1 r, for r of the blocks."""
        sides = self._by.transposed_products(self._down, r)
        return self._spread(namespace_of(r).reshape(sides, (*r.shape[:-2], -1)))

    def solved(self, r: Any, border: Any) -> Any:
        """Return the solution in the blocks, for r of the blocks and the solution in the border."""
        return self._by.products(self._inverse, r) - self._by.products(self._down, self._by.entries(border, self._side_index))


def _identity(square: Any) -> Any:
    """Return the identity of the size of square matrices (..., n, n)."""
    return namespace_of(square).eye(square.shape[-1], dtype=square.dtype, device=device(square))
