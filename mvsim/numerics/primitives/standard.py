"""The operations by nothing but the array API standard. Sums have a fixed order, and only numbers leave the device, to fix lengths of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from array_api_compat import device

from mvsim.numerics.namespaces import namespace_of
from mvsim.numerics.primitives.base import Places, Primitives, Spread
from mvsim.numerics.vectors import flat, integers_like

NARROW = 2
"""Entries of a sum that a table has room for; the others of the sums that have more stand in a table of their own."""


def lookup(index: Any, wanted: Any) -> Any:
    """Return where in an index (s,) each wanted integer stands, by a search in the sorted one."""
    xp = namespace_of(index)
    if not index.shape[0]:
        return xp.full_like(wanted, -1)
    order = xp.argsort(index)
    ordered = xp.take(index, order)
    at = xp.minimum(xp.searchsorted(ordered, flat(wanted)), xp.asarray(index.shape[0] - 1, dtype=xp.int64, device=order.device))
    place = xp.where(xp.take(ordered, at) == flat(wanted), xp.take(order, at), xp.full_like(at, -1))
    return xp.where(wanted >= 0, xp.reshape(place, wanted.shape), xp.full_like(wanted, -1))


def entries(x: Any, place: Any) -> Any:
    """Return the entries of x (..., n) at places of any shape, 0 where a place is -1: a zero stands before the first."""
    xp = namespace_of(x)
    with_zero = xp.concat([xp.zeros((*x.shape[:-1], 1), dtype=x.dtype, device=device(x)), x], axis=-1)
    return xp.reshape(xp.take(with_zero, flat(place + 1), axis=-1), (*x.shape[:-1], *place.shape))


class _Gathered(Places):
    """Every coordinate of a vector is read from the values or from what was there."""

    _place: Any = None

    def written(self, x: Any, values: Any) -> Any:
        """Choose; the table is made for the first vector."""
        if self._place is None:
            self._place = lookup(self.index, integers_like(x.shape[-1], x))
        return namespace_of(x).where(self._place >= 0, entries(values, self._place), x)

    def among(self, number: float, values: Any, like: Any) -> Any:
        """Choose between the values and the number."""
        return self.written(namespace_of(like).full_like(like, number), values)


class _Rows:
    """Sums of entries by rows of a table of equal width, each in the order of its entries.

    Parameters
    ----------
    order : array
        (t,) entries, those of one sum together.
    first, sizes : array
        (count,) where in that order those of each sum begin, and how many they are.
    width : int
        Most entries of a sum.
    """

    def __init__(self, order: Any, first: Any, sizes: Any, width: int) -> None:
        xp, rank = namespace_of(order), integers_like(width, order)
        there = rank[None, :] < sizes[:, None]
        place = xp.where(there, first[:, None] + rank[None, :], xp.full_like(first[:, None] + rank[None, :], -1))
        self._table = entries(order + 1, place) - 1

    def __call__(self, values: Any) -> Any:
        """Return (..., count)."""
        return namespace_of(values).sum(entries(values, self._table), axis=-1)


class _Summed(Spread):
    """Two tables: all sums have a row of `NARROW` places, and those with more entries a row that is as long as the longest needs."""

    def __init__(self, index: Any, count: int) -> None:
        xp, sums = namespace_of(index), integers_like(count, index)
        order = xp.argsort(index, stable=True)
        ordered = xp.take(index, order)
        first = xp.searchsorted(ordered, sums)
        sizes = xp.searchsorted(ordered, sums, side="right") - first
        width = int(xp.max(sizes)) if count and index.shape[0] else 0
        self._narrow = _Rows(order, first, sizes, min(width, NARROW))
        self._wide = None
        if width > NARROW:
            wide = xp.nonzero(sizes > NARROW)[0]
            self._wide = _Rows(order, xp.take(first, wide) + NARROW, xp.take(sizes, wide) - NARROW, width - NARROW)
            self._place = lookup(wide, sums)

    def __call__(self, values: Any) -> Any:
        """Add up both tables."""
        sums = self._narrow(values)
        return sums if self._wide is None else sums + entries(self._wide(values), self._place)


class OfStandard(Primitives):
    """The operations for arrays of any namespace."""

    def places(self, index: Any) -> Places:
        """Choose by a table."""
        return _Gathered(index)

    def spread(self, index: Any, count: int) -> Spread:
        """Gather by tables."""
        return _Summed(index, count)

    def entries(self, x: Any, place: Any) -> Any:
        """Gather."""
        return entries(x, place)

    def lookup(self, index: Any, wanted: Any) -> Any:
        """Search."""
        return lookup(index, wanted)

    def less_at(self, matrix: Any, index: Any, terms: Any) -> Any:
        """Add the terms up by where they belong in the matrix."""
        rows = matrix.shape[0]
        spread = _Summed(flat(rows * index[:, :, None] + index[:, None, :]), rows * rows)
        return matrix - namespace_of(matrix).reshape(spread(flat(terms)), matrix.shape)

    def products(self, matrices: Any, x: Any) -> Any:
        """Multiply one by one."""
        return namespace_of(x).matmul(matrices, x[..., None])[..., 0]

    def transposed_products(self, matrices: Any, x: Any) -> Any:
        """Multiply one by one."""
        xp = namespace_of(x)
        return xp.matmul(xp.matrix_transpose(matrices), x[..., None])[..., 0]

    def solver(self, matrix: Any) -> Callable[[Any], Any]:
        """Invert it: the inverse serves many solutions, by one product each."""
        xp = namespace_of(matrix)
        transposed = xp.matrix_transpose(xp.linalg.inv(matrix))
        return lambda r: xp.matmul(r, transposed)

    def least_squares(self, gram: Any, target: Any, rank: float) -> Any:
        """Divide by the eigenvalues that count."""
        xp = namespace_of(gram)
        values, vectors = xp.linalg.eigh(gram)
        counts = values > rank * xp.max(values)
        inverse = xp.where(counts, 1.0 / xp.where(counts, values, xp.ones_like(values)), xp.zeros_like(values))
        return xp.matmul(vectors, inverse * xp.matmul(xp.matrix_transpose(vectors), target))

    def sums_by(self, label: Any, values: Any, count: int) -> Any:
        """Multiply with the matrix that says which label each has."""
        xp = namespace_of(values)
        return xp.matmul(xp.astype(integers_like(count, label)[:, None] == label[None, :], values.dtype), values)
