"""In what two runs differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from mvsim.base.echo import shortened
from mvsim.runs.run import Run

ORIGIN = ("version", "git_revision", "sources", "command", "versions", "platform", "created", "wall_seconds", "continued")
"""Entries of the provenance that say where a run was made, and not what it is."""

_COMPUTED_BY = "options.algorithm"
"""Entry that was chosen by what was asked for and by the machine."""

_DERIVED = {"summary", "sha256", "format", "regime", "faithful_eta"}
"""Entries that follow from the others and from what came out."""


class Difference(NamedTuple):
    """One thing in which two runs differ."""

    kind: str  # "asked for", "made" (where and by what, which need not matter) or "came out"
    name: str  # What differs
    first: str
    second: str
    of_shapes: bool = False  # Whether arrays differ in their shapes, so that no values are compared
    of_arrays: bool = False  # Whether it is about the entries of arrays

    @property
    def matters(self) -> bool:
        """Whether the runs are not the same run, made twice."""
        return self.kind != "made"


def differences(first: Run, second: Run) -> list[Difference]:
    """Return in what two runs differ, in the order: what was asked for, what came out, where they were made.

    Arrays are compared bit for bit.
    """
    return [*_options_and_parameters(first, second), *_results(first, second), *_origins(first, second)]


def _options_and_parameters(first: Run, second: Run) -> Iterator[Difference]:
    one, two = ({name: of for name, of in _flat(run.provenance).items() if name != _COMPUTED_BY} for run in (first, second))
    return _entries("asked for", one, two)


def _origins(first: Run, second: Run) -> Iterator[Difference]:
    one, two = ({name: run.provenance[name] for name in ORIGIN if name in run.provenance} for run in (first, second))
    one, two = (made | {"computed by": _flat(run.provenance).get(_COMPUTED_BY)} for made, run in ((one, first), (two, second)))
    one, two = (made | {"continued": f"{len(made.get('continued', []))} times"} for made in (one, two))
    return _entries("made", one, two)


def _entries(kind: str, one: Mapping[str, Any], two: Mapping[str, Any]) -> Iterator[Difference]:
    for name in dict.fromkeys([*one, *two]):
        if one.get(name) != two.get(name):
            yield Difference(kind, name, shortened(str(one.get(name))), shortened(str(two.get(name))))


def _flat(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was asked for, with the entries of parameters, integrator and options by their own names."""
    entries: dict[str, Any] = {}
    for name, value in provenance.items():
        if name in ORIGIN or name in _DERIVED or name in ("status", "settled"):
            continue
        entries |= {f"{name}.{key}": of for key, of in value.items()} if isinstance(value, dict) else {name: value}
    return entries


def _results(first: Run, second: Run) -> Iterator[Difference]:
    for name in ("status", "settled"):
        if first.provenance[name] != second.provenance[name]:
            yield Difference("came out", name, str(first.provenance[name]), str(second.provenance[name]))
    one, two = first.dataset.variables, second.dataset.variables
    for name in dict.fromkeys([*map(str, one), *map(str, two)]):
        if name not in one or name not in two:
            first_has, second_has = ("is there" if name in of else "is not there" for of in (one, two))
            yield Difference("came out", name, first_has, second_has)
        elif one[name].shape != two[name].shape:
            yield Difference("came out", name, f"shape {one[name].shape}", f"shape {two[name].shape}", of_shapes=True, of_arrays=True)
        elif one[name].dtype != two[name].dtype:
            yield Difference("came out", name, f"type {one[name].dtype}", f"type {two[name].dtype}")
        elif (differ := _differ(one[name].values, two[name].values)).any():
            yield _values(name, one[name].values, two[name].values, differ)


def _differ(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return which entries of two arrays, of one shape and type, differ in any bit: 0.0 and -0.0 do, NaN and the same NaN do not."""
    bits = [np.ascontiguousarray(array).view(np.uint8).reshape(*array.shape, array.itemsize) for array in (a, b)]
    return (bits[0] != bits[1]).any(axis=-1)


def _values(name: str, a: np.ndarray, b: np.ndarray, differ: np.ndarray) -> Difference:
    """Say of two arrays, or numbers, of one shape how far they are apart."""
    place = tuple(int(i) for i in np.argwhere(differ)[0])
    first, second = _distinct_texts(a[place], b[place])
    where = f"{list(place)}" if place else ""
    return Difference(
        "came out", f"{name}{where}", first, f"{second}, in {differ.sum()} of {a.size} entries" if place else second, of_arrays=bool(place)
    )


def _distinct_texts(a: np.generic, b: np.generic) -> tuple[str, str]:
    """Return two numbers with as many digits as tell them apart; those that no digits do, two NaN, as their bytes."""
    for digits in (10, 17):
        first, second = (f"{one.item():.{digits}g}" for one in (a, b))
        if first != second:
            return first, second
    return f"{first} ({a.tobytes().hex()})", f"{second} ({b.tobytes().hex()})"
