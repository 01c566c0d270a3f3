"""Frozen dataclasses of numbers and arrays, one within another, as named arrays: the form in which integrators save their memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, get_type_hints

import numpy as np

Memory = TypeVar("Memory")


def pack(memory: Any, prefix: str = "") -> dict[str, np.ndarray]:
    """Return all values of a dataclass as arrays; those of a dataclass within it under names that begin with its own and a dot.

    Raises `TypeError` where a dataclass within is of another class than its field says.
    """
    arrays: dict[str, np.ndarray] = {}
    kinds = get_type_hints(type(memory))
    for field in fields(memory):
        value, name = getattr(memory, field.name), prefix + field.name
        if not is_dataclass(value):
            arrays[name] = np.asarray(value)
        elif type(value) is kinds[field.name]:
            arrays |= pack(value, f"{name}.")
        else:
            raise TypeError(f"{name} is a {type(value).__name__}, and would be read back as a {kinds[field.name].__name__}")
    return arrays


def unpack(kind: type[Memory], arrays: Mapping[str, np.ndarray], prefix: str = "") -> Memory:
    """Return the dataclass of a kind that was packed."""
    values: dict[str, Any] = {}
    for name, part in get_type_hints(kind).items():
        if is_dataclass(part):
            values[name] = unpack(part, arrays, f"{prefix}{name}.")  # type: ignore[arg-type]
        else:
            array = arrays[prefix + name]
            values[name] = array if array.ndim else array.item()
    return kind(**values)
