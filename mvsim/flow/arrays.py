"""Frozen dataclasses of numbers and arrays, one within another, as named arrays: the form in which integrators save what they carry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, get_type_hints

import numpy as np

from mvsim.numerics.devices import Device, host

Memory = TypeVar("Memory")


def pack(memory: Any, device: Device = host()) -> dict[str, np.ndarray]:  # noqa: B008 - a constant
    """Return all values of a dataclass as arrays of the host; a value that is a dataclass itself under names that begin with its own and a dot.

    Values whose type is not told, `Any`, are arrays on a device. They are copied from it all at once. Raises `TypeError` where a dataclass within is
    of another class than its field says.
    """
    values = _values(memory, "")
    remote = [name for name, (there, _) in values.items() if there]
    copies = dict(zip(remote, device.here([values[name][1] for name in remote]), strict=True))
    return {name: copies[name] if there else np.asarray(value) for name, (there, value) in values.items()}


def _values(memory: Any, prefix: str) -> dict[str, tuple[bool, Any]]:
    """Return the values of a dataclass by name, each with whether it is an array on a device."""
    values: dict[str, tuple[bool, Any]] = {}
    kinds = get_type_hints(type(memory))
    for field in fields(memory):
        value = getattr(memory, field.name)
        within = is_dataclass(value)
        if within and type(value) is not kinds[field.name]:
            raise TypeError(f"{prefix}{field.name} is a {type(value).__name__}, and would be read back as a {kinds[field.name].__name__}")
        values |= _values(value, f"{prefix}{field.name}.") if within else {prefix + field.name: (kinds[field.name] is Any, value)}
    return values


def unpack(kind: type[Memory], arrays: Mapping[str, np.ndarray], device: Device = host(), prefix: str = "") -> Memory:  # noqa: B008 - a constant
    """Return the dataclass of a kind that was packed, arrays of a device there again."""
    values: dict[str, Any] = {}
    for name, part in get_type_hints(kind).items():
        if is_dataclass(part):
            values[name] = unpack(part, arrays, device, f"{prefix}{name}.")  # type: ignore[arg-type]
        else:
            array = arrays[prefix + name]
            values[name] = array.item() if array.ndim == 0 else device.there(array) if part is Any else array
    return kind(**values)
