"""Vectors of any namespace of the array API standard: numbers about them, and numbers of the host beside them."""

from __future__ import annotations

import math
from typing import Any

from array_api_compat import device

from mvsim.numerics.namespaces import namespace_of


def like(values: Any, x: Any) -> Any:
    """Return a few numbers of the host as an array of the namespace of x, on its device."""
    xp = namespace_of(x)
    return xp.asarray(values, dtype=xp.float64, device=device(x))


def numbers(v: Any) -> list[float]:
    """Return the entries of a vector (n,) of a few, as numbers of the host."""
    return [float(v[i]) for i in range(v.shape[0])]


def integers_like(count: int, x: Any) -> Any:
    """Return 0 .. count - 1 in the namespace of x, on its device."""
    xp = namespace_of(x)
    return xp.arange(count, dtype=xp.int64, device=device(x))


def flat(x: Any) -> Any:
    """Return all entries of x in one row."""
    return namespace_of(x).reshape(x, (-1,))


def dot(v: Any, w: Any) -> float:
    """Return the scalar product of two vectors (n,)."""
    return float(namespace_of(v).matmul(v, w))


def length(v: Any) -> float:
    """Return the Euclidean norm of a vector (n,)."""
    return math.sqrt(dot(v, v))


def largest(v: Any) -> float:
    """Return the largest absolute value of a vector (n,), 0 if it is empty, NaN if it has one."""
    xp = namespace_of(v)
    return float(xp.max(xp.abs(v))) if v.shape[0] else 0.0


def all_finite(x: Any) -> bool:
    """Whether every entry is finite."""
    xp = namespace_of(x)
    return bool(xp.all(xp.isfinite(x)))


def same_entries(one: Any, other: Any) -> bool:
    """Whether two arrays have the same shape and entries."""
    return one.shape == other.shape and bool(namespace_of(one).all(one == other))
