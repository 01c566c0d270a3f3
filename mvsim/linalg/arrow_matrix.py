"""An approximate Hessian that is cheap to invert: small blocks that are coupled only through a border."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lu_solve
from scipy.linalg.lapack import dgetrf
from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False)
class Curvature:
    """A symmetric matrix in the form of an arrow; coordinates that it does not name have none.

    Attributes
    ----------
    border_index : numpy.ndarray
        (a,) integers: coordinates of the border, -1 for none.
    border : numpy.ndarray
        (a, a) the border with itself.
    block_index : numpy.ndarray
        (B, q) coordinates of each block, -1 for none; no coordinate occurs twice.
    blocks : numpy.ndarray
        (B, q, q) each block with itself.
    side_index : numpy.ndarray
        (B, e) positions within the border that each block is coupled to.
    sides : numpy.ndarray
        (B, q, e) that coupling.
    lifetime : int
        Steps of an integrator after which it has to be made anew. A direction in which it is stiff and the loss no longer is, because a
        neuron has died, would be damped for ever; a matrix that is cheap to make is made for every step.
    """

    border_index: np.ndarray
    border: np.ndarray
    block_index: np.ndarray
    blocks: np.ndarray
    side_index: np.ndarray
    sides: np.ndarray
    lifetime: int = 50

    @staticmethod
    def of_border(index: np.ndarray, border: np.ndarray, lifetime: int = 50) -> Curvature:
        """Return a border without blocks."""
        none = np.zeros((0, 1), np.int64)
        return Curvature(index, border, none, np.zeros((0, 1, 1)), none, np.zeros((0, 1, 1)), lifetime)

    @staticmethod
    def nothing() -> Curvature:
        """Return the zero matrix."""
        return Curvature.of_border(np.zeros(0, np.int64), np.zeros((0, 0)))

    @staticmethod
    def mean(weights: Sequence[float], parts: Sequence[Curvature]) -> Curvature:
        """Return the weighted sum of matrices, exactly.

        Where all have the same indices, so has the sum. Otherwise all are first written with one border, see `_common_border`. After that their
        blocks are the same or absent, so borders and blocks are added. Sides are put next to each other, as they may reach other parts of
        the border.
        """
        lifetime = min(part.lifetime for part in parts)
        first = parts[0]
        if all(np.array_equal(getattr(part, name), getattr(first, name)) for part in parts for name in ("border_index", "block_index", "side_index")):
            border, blocks, sides = (
                sum(w * getattr(part, name) for w, part in zip(weights, parts, strict=True)) for name in ("border", "blocks", "sides")
            )
            return Curvature(first.border_index, border, first.block_index, blocks, first.side_index, sides, lifetime)
        border_index = _common_border(parts)
        terms = [(w, part.with_border(border_index)) for w, part in zip(weights, parts, strict=True)]
        border = np.sum([w * part.border for w, part in terms], axis=0)
        terms = [(w, part) for w, part in terms if len(part.blocks)]
        if not terms:
            return Curvature.of_border(border_index, border, lifetime)
        return Curvature(
            border_index,
            border,
            block_index=terms[0][1].block_index,
            blocks=np.sum([w * part.blocks for w, part in terms], axis=0),
            side_index=np.concatenate([part.side_index for _, part in terms], axis=1),
            sides=np.concatenate([w * part.sides for w, part in terms], axis=2),
            lifetime=lifetime,
        )

    def with_border(self, index: np.ndarray) -> Curvature:
        """Return the same matrix with another border.

        Parameters
        ----------
        index : numpy.ndarray
            (a,) increasing coordinates: all of the border, and all or none of each block. A block whose coordinates it has becomes part of the
            border, its sides too.
        """
        position = np.full(max(int(each.max(initial=-1)) for each in (index, self.border_index, self.block_index)) + 2, len(index))
        position[index] = np.arange(len(index))  # its last entry, that of coordinate -1, is a row to be dropped
        joins = np.isin(self.block_index, index).any(axis=1)
        old = position[self.border_index]
        block, side = position[self.block_index[joins]][:, :, None], old[self.side_index[joins]][:, None, :]
        border = np.zeros((len(index) + 1, len(index) + 1))
        border[np.ix_(old, old)] = self.border
        np.add.at(border, (block, block.transpose(0, 2, 1)), self.blocks[joins])
        np.add.at(border, (block, side), self.sides[joins])
        np.add.at(border, (side, block), self.sides[joins])
        stays = ~joins
        sides = self.sides[stays] * (self.border_index >= 0)[self.side_index[stays]][:, None, :]
        side_index = np.minimum(old[self.side_index[stays]], len(index) - 1)
        return Curvature(index, border[:-1, :-1], self.block_index[stays], self.blocks[stays], side_index, sides, self.lifetime)

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
    joining = [index if different else index[np.isin(index, border).any(axis=1)] for index in blocks]
    return _coordinates([border, *joining])


def _coordinates(indices: Sequence[np.ndarray]) -> np.ndarray:
    """Return the coordinates that occur in some indices, increasing."""
    named = np.unique(np.concatenate([index.ravel() for index in indices]))
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
        If it is singular to working precision.
    """

    def __init__(self, curvature: Curvature, gamma: float) -> None:
        h = curvature
        self._inverse = np.linalg.inv(np.eye(h.blocks.shape[1]) + gamma * h.blocks)
        self._down = self._inverse @ (gamma * h.sides)  # (I + gamma A)^-1 gamma C
        schur = np.eye(len(h.border)) + gamma * h.border
        np.subtract.at(schur, (h.side_index[:, :, None], h.side_index[:, None, :]), gamma * h.sides.transpose(0, 2, 1) @ self._down)
        self._factors = _factorised(schur) if len(schur) else None
        entries = h.side_index.size
        self._side_index = h.side_index
        self._onto_border = csr_array((np.ones(entries), (h.side_index.ravel(), np.arange(entries))), shape=(len(h.border), entries))
        self._border_index, self._block_index = h.border_index, h.block_index

    def within(self, index: np.ndarray) -> Shifted:
        """Return the inverse for vectors of which only the coordinates ``index`` are kept, the others being 0 before and dropped after it."""
        size = 1 + max(int(each.max(initial=-1)) for each in (index, self._border_index, self._block_index))
        place = np.full(size + 1, -1)  # its last entry, that of coordinate -1, stays -1
        place[index] = np.arange(len(index))
        same = copy(self)
        same._border_index, same._block_index = place[self._border_index], place[self._block_index]
        return same

    def solve(self, r: np.ndarray) -> np.ndarray:
        """Return (I + gamma H)^-1 r for r (n,), or for each r of (p, n)."""
        x = r.copy()
        if self._factors is None or not r.size:
            return x
        on_border, in_block = self._border_index >= 0, self._block_index >= 0
        blocks = np.where(in_block, r[..., self._block_index], 0.0)
        border = np.where(on_border, r[..., self._border_index], 0.0)
        sides = np.einsum("bqe,...bq->...be", self._down, blocks)
        border = border - (self._onto_border @ sides.reshape(*r.shape[:-1], self._side_index.size).T).T
        border = lu_solve(self._factors, border.T, check_finite=False).T
        blocks = np.einsum("bpq,...bq->...bp", self._inverse, blocks) - np.einsum("bqe,...be->...bq", self._down, border[..., self._side_index])
        x[..., self._border_index[on_border]] = border[..., on_border]
        x[..., self._block_index[in_block]] = blocks[..., in_block]
        return x


def _factorised(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the LU factors of a matrix and their pivots, or raise `numpy.linalg.LinAlgError`."""
    factors, pivots, info = dgetrf(matrix)
    if info:
        raise np.linalg.LinAlgError("the matrix is singular")
    return factors, pivots
