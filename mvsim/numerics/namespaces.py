"""The namespace of the array API standard to which an array belongs."""

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
