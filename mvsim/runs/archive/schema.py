"""What the file of a run has to contain: the variables of `mvsim.runs.recording.variables`, and a provenance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mvsim.base.echo import echo
from mvsim.runs.recording.coordinates import FIRST
from mvsim.runs.recording.variables import VARIABLES, Values, When

if TYPE_CHECKING:
    import xarray as xr

FORMAT = 6
"""Number of the layout described here; a change that older versions cannot read adds one."""

STATUSES = ("running", "finished", "interrupted", "diverged", "stalled")

_ENTRIES: dict[str, tuple[type, ...]] = {
    "version": (str,),
    "parameters": (dict,),
    "method": (str,),
    "seed": (int,),
    "integrator": (dict,),
    "options": (dict,),
    "regime": (list,),
    "status": (str,),
    "settled": (bool, type(None)),
    "summary": (str,),
    "git_revision": (str, type(None)),
    "sources": (str,),
    "command": (str,),
    "versions": (dict,),
    "platform": (str,),
    "created": (str,),
    "wall_seconds": (int, float),
}


def find_problem(dataset: xr.Dataset, provenance: dict[str, Any]) -> str | None:
    """Return what is wrong with a run of format `FORMAT`, in a few words, or None if nothing is."""
    return find_wrong_shape(dataset, provenance) or _values_problem(dataset)


def find_wrong_shape(dataset: xr.Dataset, provenance: dict[str, Any], resumable: bool = True) -> str | None:
    """Return what `find_problem` does, without a look at the values; what only resuming needs may be missing if the run need not be ``resumable``."""
    return _provenance_problem(provenance) or _variables_problem(dataset, resumable) or _sizes_problem(dataset, provenance["parameters"])


def _provenance_problem(provenance: dict[str, Any]) -> str | None:
    for name, types in _ENTRIES.items():
        if name not in provenance:
            return f"its provenance has no {name}"
        if type(provenance[name]) not in types:
            return f"{name} in its provenance is of type {type(provenance[name]).__name__}"
    if provenance["status"] not in STATUSES:
        return f"status {echo(provenance['status'])} in its provenance is unknown"
    for name in ("k", "m", "V"):
        if type(provenance["parameters"].get(name)) is not int:
            return f"its parameters have no integer {name}"
    if type(provenance["integrator"].get("name")) is not str:
        return "its integrator has no name"
    continued = provenance.get("continued", [])
    if not isinstance(continued, list) or not all(isinstance(entry, dict) for entry in continued):
        return "continued in its provenance is not a list of objects"
    if provenance["seed"] < 0:
        return "its seed is negative"
    if not all(_is_deviation(entry) for entry in provenance["regime"]):
        return "regime in its provenance is not a list of deviations"
    return None


def _is_deviation(entry: object) -> bool:
    if not isinstance(entry, dict) or entry.keys() != {"name", "value", "assumed", "statement"}:
        return False
    return all(isinstance(text, str) for text in entry.values())


def _variables_problem(dataset: xr.Dataset, resumable: bool) -> str | None:
    for name, described in VARIABLES.items():
        if name not in dataset.variables:
            if described.when is When.RESUME and not resumable:
                continue
            return f"variable {name} is missing"
        variable = dataset.variables[name]
        if variable.dims != described.dims or variable.dtype != described.dtype:
            return f"variable {name} is {variable.dtype} {variable.dims} instead of {described.dtype} {described.dims}"
    for name in map(str, dataset.variables):
        if dataset.variables[name].dtype.kind not in "biuf":
            return f"variable {name} is not numeric"
    return None


def _sizes_problem(dataset: xr.Dataset, parameters: dict[str, Any]) -> str | None:
    k, m, V = (parameters[name] for name in ("k", "m", "V"))
    for dim, size in {"label": k, "neuron": m, "feature_class": k, "view": V}.items():
        if dataset.sizes[dim] != size:
            return f"dimension {dim} has size {dataset.sizes[dim]}, its parameters (k={k}, m={m}, V={V}) ask for {size}"
    for dim in ("time", "snapshot"):
        if dataset.sizes[dim] == 0:
            return f"dimension {dim} is empty"
    for dim, first in FIRST.items():
        if dim in dataset.variables and dataset.variables[dim].values.tolist() != list(range(first, first + dataset.sizes[dim])):
            return f"coordinate {dim} does not count from {first}"
    return None


def _values_problem(dataset: xr.Dataset) -> str | None:
    time, step = dataset.variables["time"].values, dataset.variables["step"].values
    # At t = 10^50 many steps have the same time.
    if not (np.isfinite(time).all() and (np.diff(time) >= 0).all() and (np.diff(step) > 0).all()):
        return "its times and steps do not increase"
    for name, described in VARIABLES.items():
        if described.values is not Values.ANY:
            values = dataset.variables[name].values
            if not np.isfinite(values).all():
                return f"variable {name} is not finite"
            if described.values is Values.FRACTION and (values.min() < 0.0 or values.max() > 1.0):
                return f"variable {name} is no fraction"
    if step[0] < 0 or dataset.variables["final_step"].values < 0:
        return "its steps are negative"
    return None
