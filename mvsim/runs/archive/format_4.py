"""Run files of format 4, read as those of today.

There entering B_{y,l} was called an escape, and the escape itself, where a neuron's activation becomes linear, had the name ``linear``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import xarray as xr

NUMBER = 4

NAMES = {
    "predicted_escape_time": "predicted_entry_time",
    "escape_time": "entry_time",
    "escape_step": "entry_step",
    "linear_time": "escape_time",
    "linear_step": "escape_step",
}
"""Old name -> new name."""


def upgraded(dataset: xr.Dataset) -> xr.Dataset:
    """Return the variables of a run of format 4 under the names of today."""
    return dataset.rename({old: new for old, new in NAMES.items() if old in dataset})
