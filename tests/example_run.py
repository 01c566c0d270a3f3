"""A small made-up run: every variable and provenance entry that the file of a run needs, none of them simulated."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import xarray as xr

from mvsim.multi_view.parameters import Parameters
from mvsim.runs.archive import collect_provenance
from mvsim.runs.recording.coordinates import with_coordinates
from mvsim.runs.recording.variables import VARIABLES


@cache
def surroundings() -> dict[str, Any]:
    """Where these runs come from; to ask git for each of hundreds would take longer than all else."""
    return collect_provenance("mvsim simulate --k 3")


def example_run(k: int = 3, m: int = 2, records: int = 4, snapshots: int = 2, step: int = 7, **fields: Any) -> tuple[xr.Dataset, dict[str, Any]]:
    """Return the dataset and provenance of a run stopped at ``step``; every value differs from every other."""
    rng = np.random.default_rng(step)
    sizes = {"time": records, "label": k, "neuron": m, "feature_class": k, "view": 2, "snapshot": snapshots}
    variables = {}
    for name, variable in VARIABLES.items():
        dims, dtype = variable.dims, variable.dtype
        shape = [sizes[dim] for dim in dims]
        if dtype == "int64":
            values = rng.integers(0, 2**62, shape)
            if name == "step":
                values = np.arange(records)
        else:
            values = rng.normal(size=shape)
            if name == "time":
                values = np.sort(values)
            if name in ("training_accuracy", "feature_learned"):
                values = rng.random(shape)
        variables[name] = xr.Variable(dims, np.asarray(values, dtype=dtype), {"units": "dimensionless"} if name == "time" else {})
    variables["final_step"] = variables["resume_step"] = xr.Variable((), np.int64(step))
    parameters = Parameters(k=k, m=m, **fields)
    provenance = {
        **surroundings(),
        "parameters": parameters.model_dump(mode="json"),
        "method": "midpoint",
        "seed": 2**70,
        "integrator": {"name": "gd", "learning_rate": 0.1, "t_end": None},
        "options": {"n_test": 20},
        "regime": [deviation.as_dict() for deviation in parameters.deviations()],
        "status": "running",
        "settled": None,
        "summary": "",
        "wall_seconds": 1.5,
    }
    return with_coordinates(xr.Dataset(variables)), provenance


def assert_same_bits(one: xr.Dataset, other: xr.Dataset) -> None:
    """Fail unless two datasets have the same variables, of the same types, dimensions, shapes and bits."""
    assert set(one.variables) == set(other.variables)
    for name in one.variables:
        a, b = one.variables[name], other.variables[name]
        assert (a.dims, a.dtype, a.shape) == (b.dims, b.dtype, b.shape), name
        assert a.values.tobytes() == b.values.tobytes(), name
