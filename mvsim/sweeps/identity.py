"""Which run is which: all that tells runs apart, what of it follows from the rest, and runs that are there twice."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mvsim.base.echo import path_text
from mvsim.base.errors import UsageError
from mvsim.runs.run import Run

DIMENSIONS = ("k", "method", "seed")
"""Names that are always dimensions where runs differ in them."""


def refuse_repeated(runs: Iterable[Run]) -> None:
    """Raise `UsageError` if two runs are the same, so that one would count twice; what came out of them is not compared."""
    names: dict[str, str] = {}
    for run in runs:
        which, name = json.dumps(identity_of(run), sort_keys=True), str(run.path or run)
        if which in names:
            raise repeated(name, names[which])
        names[which] = name


def repeated(name: str, before: str) -> UsageError:
    """Return the error that says that a run is there twice."""
    return UsageError(f"{path_text(name)}: is the same run as {path_text(before)}; leave out one of them")


def following(columns: Mapping[str, Sequence[Any]]) -> dict[str, tuple[str, ...]]:
    """Return the names that follow from others, each with those: runs that agree in these agree in it too."""
    kept = list(columns)
    dependent = []
    for name in reversed(list(columns)):
        if name not in DIMENSIONS and _follows(columns, name, [other for other in kept if other not in (name, "seed")]):
            kept.remove(name)
            dependent.append(name)
    from_what = {}
    for name in reversed(dependent):
        needed = [other for other in kept if other != "seed"]
        for other in reversed(needed):
            fewer = [one for one in needed if one != other]
            needed = fewer if _follows(columns, name, fewer) else needed
        from_what[name] = tuple(needed)
    return from_what


def _follows(columns: Mapping[str, Sequence[Any]], name: str, others: Sequence[str]) -> bool:
    """Tell whether runs that agree in some names agree in another one."""
    seen: dict[tuple[Any, ...], Any] = {}
    places = zip(*(columns[other] for other in others), strict=True) if others else [()] * len(columns[name])
    return all(seen.setdefault(place, value) == value for place, value in zip(places, columns[name], strict=True))


def identity_of(run: Run) -> dict[str, Any]:
    """Return all that says which run it is: parameters, method, seed, integrator and options, in JSON types."""
    made = run.provenance
    stepping = {("integrator" if name == "name" else name): value for name, value in made["integrator"].items()}
    options = {name: value for name, value in made["options"].items() if name != "algorithm"}
    return run.parameters.model_dump(mode="json") | {"method": run.method, "seed": run.seed} | stepping | options
