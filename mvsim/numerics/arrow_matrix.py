"""An approximate Hessian that is cheap to invert: small blocks that are coupled only through a border."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg.lapack import dgetrf, dgetrs
from scipy.sparse import csr_array

from mvsim.numerics.indexing import entries, lookup


@dataclass(frozen=True, eq=False)
class Curvature:
    """A symmetric matrix in the form of an arrow; coordinates that it does not name have none."""

    border_index: np.ndarray  # (a,) integers: coordinates of the border, -1 for none
    border: np.ndarray  # (a, a) the border with itself
    block_index: np.ndarray  # (B, q) coordinates of each block, -1 for none; no coordinate occurs twice
    blocks: np.ndarray  # (B, q, q) each block with itself
    side_index: np.ndarray  # (B, e) positions within the border that each block is coupled to
    sides: np.ndarray  # (B, q, e) that coupling
    # Steps of an integrator after which it has to be made anew, 1 if it is cheap to make. A direction in which it is stiff and the loss no longer is,
    # because a neuron has died, would be damped for ever.
    lifetime: int = 50

    @staticmethod
    def of_border(index: np.ndarray, border: np.ndarray, lifetime: int = 50) -> Curvature:
        """Return a border without blocks."""
        none, empty = np.zeros((0, 1), dtype=np.int64), np.zeros((0, 1, 1))
        return Curvature(index, border, none, empty, none, empty, lifetime)

    @staticmethod
    def nothing() -> Curvature:
        """Return the zero matrix."""
        return Curvature.of_border(np.zeros(0, dtype=np.int64), np.zeros((0, 0)))

    @staticmethod
    def mean(weights: Sequence[float], parts: Sequence[Curvature]) -> Curvature:
        """Return the weighted sum of matrices, exactly.

        Where all have the same indices, so has the sum. Otherwise all are first written with one border, see `_common_border`. After that their
        blocks are the same or absent, so borders and blocks are added. Sides are put next to each other, as they may reach other parts of
        the border.
        """
        lifetime, first = min(part.lifetime for part in parts), parts[0]
        if all(np.array_equal(getattr(part, name), getattr(first, name)) for part in parts for name in ("border_index", "block_index", "side_index")):
            border, blocks, sides = (
                np.asarray(sum(w * getattr(part, name) for w, part in zip(weights, parts, strict=True))) for name in ("border", "blocks", "sides")
            )
            return Curvature(first.border_index, border, first.block_index, blocks, first.side_index, sides, lifetime)
        border_index = _common_border(parts)
        terms = [(w, part.with_border(border_index)) for w, part in zip(weights, parts, strict=True)]
        border = np.asarray(sum(w * part.border for w, part in terms))
        terms = [(w, part) for w, part in terms if len(part.blocks)]
        if not terms:
            return Curvature.of_border(border_index, border, lifetime)
        return Curvature(
            border_index,
            border,
            block_index=terms[0][1].block_index,
            blocks=np.asarray(sum(w * part.blocks for w, part in terms)),
            side_index=np.concatenate([part.side_index for _, part in terms], axis=1),
            sides=np.concatenate([w * part.sides for w, part in terms], axis=2),
            lifetime=lifetime,
        )

    def with_border(self, index: np.ndarray) -> Curvature:
        """Return the same matrix with another border: increasing coordinates (a,), all of the border, and all or none of each block.

        A block whose coordinates it has becomes part of the border, its sides too.
        """
        size = len(index)
        new, before = lookup(index, self.border_index), lookup(self.border_index, index)  # where each of the one stands in the other
        border = entries(entries(self.border, before).T, before).T
        joins = np.any(lookup(index, self.block_index) >= 0, axis=1)
        joining, staying = self._of_blocks(np.flatnonzero(joins)), self._of_blocks(np.flatnonzero(~joins))
        block, side = lookup(index, joining.block_index), entries(new, joining.side_index)
        added = [
            (block[:, :, None], block[:, None, :], joining.blocks),
            (block[:, :, None], side[:, None, :], joining.sides),
            (side[:, None, :], block[:, :, None], joining.sides),
        ]
        inside = [(row >= 0) & (column >= 0) for row, column, _ in added]
        place = np.concatenate([(row * size + column)[selected] for (row, column, _), selected in zip(added, inside, strict=True)])
        values = np.concatenate([values[selected] for (*_, values), selected in zip(added, inside, strict=True)])
        border = border + np.bincount(place, values, size * size).reshape(size, size)
        side = entries(new, staying.side_index)
        sides = np.where(side[:, None, :] >= 0, staying.sides, 0.0)
        return Curvature(index, border, staying.block_index, staying.blocks, np.where(side >= 0, side, size - 1), sides, self.lifetime)

    def _of_blocks(self, which: np.ndarray) -> Curvature:
        """Return the same matrix with some of its blocks alone, by their numbers (J,)."""
        return replace(self, **{name: getattr(self, name)[which] for name in ("block_index", "blocks", "side_index", "sides")})

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


def _common_border(parts: Sequence[Curvature]) -> np.ndarray:
    """Return the increasing coordinates of a border with which all matrices can be written, so that only blocks are left that they share.

    Any two coordinates of a border may be coupled, so that it can take in what another matrix has as blocks. It has the coordinates of every
    border, those of each block that meets one of them, and where matrices have different blocks those of all blocks. For the kernels it is no
    larger than the largest border of one of them: on the escaped neurons, points that are not mixed couple all correlations, and then have
    them all in their border, or the own ones alone, and then have the border of the pairs.
    """
    blocks = [part.block_index for part in parts if len(part.block_index)]
    different = any(not np.array_equal(index, blocks[0]) for index in blocks)
    border = _coordinates([part.border_index for part in parts])
    return _coordinates([border, *(index if different else index[(lookup(border, index) >= 0).any(axis=1)] for index in blocks)])


def _coordinates(indices: Sequence[np.ndarray]) -> np.ndarray:
    """Return the coordinates that occur in some indices, increasing."""
    named = np.unique(np.concatenate([index.ravel() for index in indices]))
    return named[named >= 0]


def _selection(index: np.ndarray, n: int) -> np.ndarray:
    """Return the rows of the identity that an index names, zero rows for -1."""
    return np.eye(n)[index] * (index >= 0)[..., None]


class Shifted:
    """I + gamma H, gamma >= 0, by blocks A, sides C and border B: the border is solved with S = I + gamma B - gamma^2 C^T (I + gamma A)^-1 C."""

    def __init__(self, curvature: Curvature, gamma: float) -> None:
        h = curvature
        schur = np.eye(len(h.border)) + gamma * h.border
        self._eliminated = _Blocks(h, gamma) if len(h.blocks) else None
        if self._eliminated is not None:
            np.subtract.at(schur, (h.side_index[:, :, None], h.side_index[:, None, :]), self._eliminated.coupled)
        self._factors: tuple[np.ndarray, np.ndarray] | None = None
        if len(schur):
            factors, pivots, singular = dgetrf(schur)
            self._factors = factors, pivots
            if singular:
                raise np.linalg.LinAlgError("the matrix is singular")
        self._set_coordinates(h.border_index, h.block_index)

    def _set_coordinates(self, border_index: np.ndarray, block_index: np.ndarray) -> None:
        self._border_index, self._block_index = border_index, block_index
        every = np.concatenate([border_index, block_index.ravel()])
        self._solved = np.flatnonzero(every >= 0)
        self._place = every[self._solved]

    def within(self, index: np.ndarray) -> Shifted:
        """Return the inverse for vectors of which only the coordinates ``index`` are kept, the others being 0 before and dropped after it."""
        same = copy(self)
        same._set_coordinates(lookup(index, self._border_index), lookup(index, self._block_index))
        return same

    def solve(self, r: np.ndarray) -> np.ndarray:
        """Return (I + gamma H)^-1 r for r (n,), or for each r of (p, n)."""
        solution = r.copy()
        if self._factors is None or 0 in r.shape:
            return solution
        border = entries(r, self._border_index)
        if self._eliminated is None:
            values = self._border(border)
        else:
            blocks = entries(r, self._block_index)
            border = self._border(border - self._eliminated.onto_border(blocks))
            values = np.concatenate([border, self._eliminated.solved(blocks, border).reshape(*r.shape[:-1], -1)], axis=-1)
        solution[..., self._place] = values[..., self._solved]
        return solution

    def _border(self, r: np.ndarray) -> np.ndarray:
        """Return S^-1 r."""
        assert self._factors is not None
        factors, pivots = self._factors
        return np.asarray(dgetrs(factors, pivots, r.T)[0].T.reshape(r.shape))


class _Blocks:
    """The blocks of I + gamma H, eliminated. Vectors are theirs, (..., B, q), or of the border, (..., a)."""

    def __init__(self, h: Curvature, gamma: float) -> None:
        self._inverse = np.linalg.inv(np.eye(h.blocks.shape[-1]) + gamma * h.blocks)
        self._down = self._inverse @ (gamma * h.sides)  # (I + gamma A)^-1 gamma C
        # (B, e, e): gamma^2 C^T (I + gamma A)^-1 C, what this takes away from the border
        self.coupled = (gamma * h.sides).transpose(0, 2, 1) @ self._down
        self._side_index, entry = h.side_index, np.arange(h.side_index.size)
        self._onto = csr_array((np.ones(len(entry)), (h.side_index.ravel(), entry)), shape=(len(h.border), len(entry)))

    def onto_border(self, r: np.ndarray) -> np.ndarray:
        """Return gamma C^T (I + gamma A)^-1 r, for r of the blocks."""
        sides = np.einsum("bpq,...bp->...bq", self._down, r).reshape(*r.shape[:-2], -1)
        return np.asarray((self._onto @ sides.T).T)

    def solved(self, r: np.ndarray, border: np.ndarray) -> np.ndarray:
        """Return the solution in the blocks, for r of the blocks and the solution in the border."""
        of_border = np.einsum("bpq,...bq->...bp", self._down, entries(border, self._side_index))
        return np.asarray(np.einsum("bpq,...bq->...bp", self._inverse, r) - of_border)
