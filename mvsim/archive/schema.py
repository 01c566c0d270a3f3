"""What the file of a run has to contain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mvsim.echo import echo

if TYPE_CHECKING:
    import xarray as xr

FORMAT = 3
"""Number of the layout described here; a change that older versions cannot read adds one."""

STATUSES = ("running", "finished", "interrupted", "diverged", "stalled")

VARIABLES: dict[str, tuple[tuple[str, ...], str]] = {
    "time": (("time",), "float64"),
    "class": (("class",), "int64"),
    "view": (("view",), "int64"),
    "step": (("time",), "int64"),
    "loss": (("time",), "float64"),
    "training_accuracy": (("time",), "float64"),
    "gradient_norm": (("time",), "float64"),
    "sharpness": (("time",), "float64"),
    "turning_rate": (("time",), "float64"),
    "own_correlations": (("time", "class", "neuron", "view"), "float64"),
    "max_correlation": (("time", "class", "view"), "float64"),
    "total_correlation": (("time", "class", "view"), "float64"),
    "active_neurons": (("time", "class", "view"), "int64"),
    "feature_learned": (("time", "class", "view"), "float64"),
    "view_gap": (("time", "class"), "float64"),
    "softmax_gap": (("time", "class"), "float64"),
    "own_output_min": (("time", "class"), "float64"),
    "own_output_max": (("time", "class"), "float64"),
    "other_output_max": (("time", "class"), "float64"),
    "off_diagonal_max": (("time", "class"), "float64"),
    "off_diagonal_min": (("time", "class"), "float64"),
    "off_diagonal_rms": (("time", "class"), "float64"),
    "signal_strength": (("class", "view"), "float64"),
    "correlations": (("snapshot", "class", "neuron", "feature_class", "view"), "float64"),
    "snapshot_time": (("snapshot",), "float64"),
    "snapshot_step": (("snapshot",), "int64"),
    "final_correlations": (("class", "neuron", "feature_class", "view"), "float64"),
    "final_step": ((), "int64"),
    "final_time": ((), "float64"),
    "final_evaluations": ((), "int64"),
    "escape_time": (("class", "neuron", "view"), "float64"),
    "escape_step": (("class", "neuron", "view"), "int64"),
    "predicted_escape_time": (("class", "neuron", "view"), "float64"),
    "resume_correlations": (("class", "neuron", "feature_class", "view"), "float64"),
    "resume_step": ((), "int64"),
    "resume_time": ((), "float64"),
    "resume_evaluations": ((), "int64"),
}
"""Dimensions and type of every variable that a run has; it may have more, of any numeric type."""

OPTIONAL: dict[str, tuple[tuple[str, ...], str]] = {
    "dissipation": (("time",), "float64"),
    "log_dissipation": (("time",), "float64"),
}
"""The same of variables that runs of earlier versions with the same format lack."""

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
    "command": (str,),
    "versions": (dict,),
    "platform": (str,),
    "created": (str,),
    "wall_seconds": (int, float),
}


FINITE = (
    "final_correlations", "resume_correlations", "correlations", "loss", "training_accuracy", "feature_learned", "own_correlations",
    "max_correlation", "total_correlation", "view_gap", "signal_strength", "off_diagonal_max", "off_diagonal_min",
)  # fmt: skip
"""Variables whose values are numbers everywhere."""


def find_problem(dataset: xr.Dataset, provenance: dict[str, Any]) -> str | None:
    """Return what is wrong with a run of format `FORMAT`, in a few words, or None if nothing is.

    Parameters
    ----------
    dataset : xarray.Dataset
        The variables of the run.
    provenance : dict
        Its provenance in JSON types; ``format`` and ``sha256`` are not looked at.
    """
    return find_wrong_shape(dataset, provenance) or _values_problem(dataset)


def find_wrong_shape(dataset: xr.Dataset, provenance: dict[str, Any]) -> str | None:
    """Return what `find_problem` does, without a look at the values."""
    return _provenance_problem(provenance) or _variables_problem(dataset) or _sizes_problem(dataset, provenance["parameters"])


def _provenance_problem(provenance: dict[str, Any]) -> str | None:
    for name, types in _ENTRIES.items():
        if name not in provenance:
            return f"its provenance has no {name}"
        if type(provenance[name]) not in types:
            return f"{name} in its provenance is of type {type(provenance[name]).__name__}"
    if provenance["status"] not in STATUSES:
        return f"status {echo(provenance['status'])} in its provenance is unknown"
    for name in ("k", "m"):
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


def _variables_problem(dataset: xr.Dataset) -> str | None:
    optional = {name: layout for name, layout in OPTIONAL.items() if name in dataset.variables}
    for name, (dims, dtype) in (VARIABLES | optional).items():
        if name not in dataset.variables:
            return f"variable {name} is missing"
        variable = dataset.variables[name]
        if variable.dims != dims or variable.dtype != dtype:
            return f"variable {name} is {variable.dtype} {variable.dims} instead of {dtype} {dims}"
    for name in map(str, dataset.variables):
        if dataset.variables[name].dtype.kind not in "biuf":
            return f"variable {name} is not numeric"
    return None


def _sizes_problem(dataset: xr.Dataset, parameters: dict[str, Any]) -> str | None:
    k, m = parameters["k"], parameters["m"]
    for dim, size in {"class": k, "neuron": m, "feature_class": k, "view": 2}.items():
        if dataset.sizes[dim] != size:
            return f"dimension {dim} has size {dataset.sizes[dim]}, its parameters (k={k}, m={m}) ask for {size}"
    for dim in ("time", "snapshot"):
        if dataset.sizes[dim] == 0:
            return f"dimension {dim} is empty"
    for dim in ("class", "view"):
        if dataset.variables[dim].values.tolist() != list(range(dataset.sizes[dim])):
            return f"coordinate {dim} does not count from 0"
    return None


def _values_problem(dataset: xr.Dataset) -> str | None:
    time, step = dataset.variables["time"].values, dataset.variables["step"].values
    # At t = 10^50 many steps have the same time.
    if not (np.isfinite(time).all() and (np.diff(time) >= 0).all() and (np.diff(step) > 0).all()):
        return "its times and steps do not increase"
    for name in FINITE:
        if not np.isfinite(dataset.variables[name].values).all():
            return f"variable {name} is not finite"
    for name in ("training_accuracy", "feature_learned"):
        values = dataset.variables[name].values
        if values.min() < 0.0 or values.max() > 1.0:
            return f"variable {name} is no fraction"
    if step[0] < 0 or dataset.variables["final_step"].values < 0:
        return "its steps are negative"
    return None
