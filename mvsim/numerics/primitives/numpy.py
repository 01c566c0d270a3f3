"""The operations by what NumPy and SciPy have."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg.lapack import dgetrf, dgetrs
from scipy.sparse import csr_array

from mvsim.numerics.primitives.base import Places, Primitives, Spread


class _Written(Places):
    """Coordinates that are written at."""

    def __init__(self, index: np.ndarray) -> None:
        super().__init__(index)
        taken = index >= 0
        self._kept = slice(None) if taken.all() else np.flatnonzero(taken)
        self._at = index[self._kept]

    def written(self, x: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Copy, and write."""
        written = x.copy()
        written[..., self._at] = values[..., self._kept]
        return written

    def among(self, number: float, values: np.ndarray, like: np.ndarray) -> np.ndarray:
        """Fill, and write."""
        written = np.full_like(like, number)
        written[self._at] = values[self._kept]
        return written


class _Summed(Spread):
    """The product with a sparse matrix of ones."""

    def __init__(self, index: np.ndarray, count: int) -> None:
        self._matrix = csr_array((np.ones(len(index)), (index, np.arange(len(index)))), shape=(count, len(index)))

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """Multiply."""
        return np.asarray((self._matrix @ values.T).T)


class OfNumPy(Primitives):
    """The operations for NumPy arrays."""

    def places(self, index: np.ndarray) -> Places:
        """Write at the index."""
        return _Written(index)

    def spread(self, index: np.ndarray, count: int) -> Spread:
        """Use a sparse matrix."""
        return _Summed(index, count)

    def entries(self, x: np.ndarray, place: np.ndarray) -> np.ndarray:
        """Read at the index, at which -1 is the last one, and drop that."""
        if not x.shape[-1]:
            return np.zeros((*x.shape[:-1], *place.shape), x.dtype)
        return np.where(place >= 0, x[..., place], 0)

    def lookup(self, index: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """Use a table of all integers up to the largest."""
        size = 1 + max(int(each.max(initial=-1)) for each in (index, wanted))
        place = np.full(size + 1, -1)
        place[index] = np.arange(len(index))
        place[-1] = -1  # the entry that an integer -1 reads
        return place[wanted]

    def less_at(self, matrix: np.ndarray, index: np.ndarray, terms: np.ndarray) -> np.ndarray:
        """Subtract at the index, in the order of the terms."""
        less = matrix.copy()
        np.subtract.at(less, (index[:, :, None], index[:, None, :]), terms)
        return less

    def products(self, matrices: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Sum as the indices say; for small matrices that is faster than products by BLAS."""
        return np.asarray(np.einsum("bpq,...bq->...bp", matrices, x))

    def transposed_products(self, matrices: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Sum as the indices say."""
        return np.asarray(np.einsum("bpq,...bp->...bq", matrices, x))

    def solver(self, matrix: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """Factorise it by LAPACK."""
        factors, pivots, info = dgetrf(matrix)
        if info:
            raise np.linalg.LinAlgError("the matrix is singular")
        return lambda r: dgetrs(factors, pivots, r.T)[0].T.reshape(r.shape)

    def least_squares(self, gram: np.ndarray, target: np.ndarray, rank: float) -> np.ndarray:
        """Solve by LAPACK."""
        return np.asarray(np.linalg.lstsq(gram, target, rcond=rank)[0])

    def sums_by(self, label: np.ndarray, values: np.ndarray, count: int) -> np.ndarray:
        """Count with weights."""
        return np.bincount(label, weights=values, minlength=count)
