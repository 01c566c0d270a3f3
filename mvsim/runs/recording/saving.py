"""A recorder as the data set that is saved, and back."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mvsim.flow import Integrator, State
from mvsim.multi_view.diagnostics import own_correlations
from mvsim.runs.recording.coordinates import with_coordinates
from mvsim.runs.recording.entries import EscapeLog, escape_errors
from mvsim.runs.recording.recorder import Recorder
from mvsim.runs.recording.rows import Rows
from mvsim.runs.recording.variables import VARIABLES, When, variables_of

if TYPE_CHECKING:
    import xarray as xr

MEMORY = "memory_"
"""What the names of variables begin with in which an integrator keeps what it needs to go on."""


def to_dataset(recorder: Recorder, state: State, resume: State, integrator: Integrator) -> xr.Dataset:
    """Return everything recorded, with ``state`` as the final one and ``resume`` as that from which the run can go on; large arrays are views."""
    import xarray as xr

    values: dict[str, Any] = {
        **recorder.start_values,
        **{name: rows.values for name, rows in (recorder.records | recorder.snapshots.records).items()},
    }
    for when, source in ((When.ENTRIES, recorder.entries), (When.ESCAPES, recorder.escapes), (When.FINAL, state), (When.RESUME, resume)):
        values |= {name: variable.measured(source) for name, variable in variables_of(when).items()}
    variables: dict[str, Any] = {
        name: (variable.dims, np.asarray(values[name], dtype=variable.dtype), {"long_name": variable.meaning, "units": "dimensionless"})
        for name, variable in VARIABLES.items()
    }
    clock_errors = integrator.clock_errors(resume)
    if clock_errors is not None:
        error = escape_errors(recorder.escapes.time, own_correlations(clock_errors))
        meaning = "by how much escape_time may be wrong, as neurons wait; NaN if it has not escaped"
        variables["escape_error"] = (VARIABLES["escape_time"].dims, error, {"long_name": meaning, "units": "dimensionless"})
    for name, packed in integrator.pack(resume.memory).items():
        variables[MEMORY + name] = (tuple(f"{MEMORY}{axis}_{size}" for axis, size in enumerate(packed.shape)), packed)
    return with_coordinates(xr.Dataset(variables))


def restore(recorder: Recorder, dataset: xr.Dataset, integrator: Integrator) -> tuple[State, State]:
    """Let a recorder take over what a saved run has recorded; return its final state and the one from which it can go on."""
    saved = {name: dataset[name].values for name in VARIABLES}
    recorder.start_values = {name: saved[name] for name in variables_of(When.START)}
    recorder.records = {name: Rows(saved[name]) for name in variables_of(When.RECORD)}
    recorder.snapshots.records = {name: Rows(saved[name]) for name in variables_of(When.SNAPSHOT)}
    recorder.entries = EscapeLog(recorder.threshold, **{name: values.copy() for name, values in _fields(saved, When.ENTRIES).items()})
    recorder.escapes = EscapeLog(recorder.linear_from, **{name: values.copy() for name, values in _fields(saved, When.ESCAPES).items()})
    memory = integrator.unpack({str(name).removeprefix(MEMORY): values.values for name, values in dataset.items() if str(name).startswith(MEMORY)})
    return _state(_fields(saved, When.FINAL)), replace(_state(_fields(saved, When.RESUME)), memory=memory)


def _fields(saved: dict[str, np.ndarray], when: When) -> dict[str, np.ndarray]:
    """Return what was measured of a `State` or an `EscapeLog`, by the names of its fields."""
    return {variable.of[0]: saved[name] for name, variable in variables_of(when).items() if variable.by is None}


def _state(fields: dict[str, np.ndarray]) -> State:
    """Return the state with the given fields, its numbers as numbers and its arrays as copies."""
    values: dict[str, Any] = {name: value.item() if np.ndim(value) == 0 else value.copy() for name, value in fields.items()}
    return State(**values)
