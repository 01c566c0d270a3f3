"""Frozen dataclasses of numbers and arrays, one within another, as named arrays: the form in which integrators save what they carry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, get_type_hints

import numpy as np

Memory = TypeVar("Memory")


def pack(memory: Any, prefix: str = "") -> dict[str, np.ndarray]:
    """Return all values of a dataclass as arrays; a value that is a dataclass itself under names that begin with its own and a dot."""
    arrays: dict[str, np.ndarray] = {}
    for field in fields(memory):
        value = getattr(memory, field.name)
        arrays |= pack(value, f"{prefix}{field.name}.") if is_dataclass(value) else {prefix + field.name: np.asarray(value)}
    return arrays


def unpack(kind: type[Memory], arrays: Mapping[str, np.ndarray], prefix: str = "") -> Memory:
    """Return the dataclass of a kind that was packed."""
    values: dict[str, Any] = {}
    for name, part in get_type_hints(kind).items():
        if is_dataclass(part):
            values[name] = unpack(part, arrays, f"{prefix}{name}.")  # type: ignore[arg-type]
        else:
            array = arrays[prefix + name]
            values[name] = array.item() if array.ndim == 0 else array
    return kind(**values)
