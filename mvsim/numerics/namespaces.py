"""The namespace of the array API standard to which an array belongs, and two operations that it has no short name for."""

from __future__ import annotations

from typing import Any

import array_api_compat
import numpy as np

_OF_TYPE: dict[type, Any] = {np.ndarray: np}
"""Namespaces of the types of arrays that were met. NumPy keeps to the standard by itself."""


def namespace_of(x: Any) -> Any:
    """Return the namespace of an array, at the price of one look into a table."""
    kind = type(x)
    if kind not in _OF_TYPE:
        _OF_TYPE[kind] = array_api_compat.array_namespace(x)
    return _OF_TYPE[kind]


def integers_like(count: int, x: Any) -> Any:
    """Return 0 .. count - 1 in the namespace of x, on its device."""
    xp = namespace_of(x)
    return xp.arange(count, dtype=xp.int64, device=array_api_compat.device(x))


def flat(x: Any) -> Any:
    """Return all entries of x in one row."""
    return namespace_of(x).reshape(x, (-1,))
