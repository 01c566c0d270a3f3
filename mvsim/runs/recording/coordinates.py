"""The coordinates of a run: a value for each place along each dimension, and the times and steps that belong to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import xarray as xr

FIRST_VIEW = 1
"""Number of the first view, as in v_{y,1} of the paper and in pictures. Arrays of NumPy count from 0, as they always do."""

FIRST = {"label": 0, "neuron": 0, "feature_class": 0, "view": FIRST_VIEW, "snapshot": 0}
"""Dimension -> the number of its first place; time has its own values."""

MEANINGS = {
    "label": "class y, from 0",
    "neuron": "neuron r of a class, from 0",
    "feature_class": "class s of a feature, from 0",
    "view": "view l of a class, from 1",
    "snapshot": "states that are kept in full, from 0",
}

BESIDE = ("step", "snapshot_time", "snapshot_step")
"""Variables that are coordinates beside those of their dimension."""


def with_coordinates(dataset: xr.Dataset) -> xr.Dataset:
    """Return a data set with a coordinate on every dimension of a run that it has."""
    import xarray as xr

    coordinates = {
        dim: xr.Variable((dim,), np.arange(first, first + dataset.sizes[dim]), {"long_name": MEANINGS[dim], "units": "dimensionless"})
        for dim, first in FIRST.items()
        if dim in dataset.sizes
    }
    return dataset.assign_coords(coordinates).set_coords([name for name in BESIDE if name in dataset.variables])
