"""Run files of format 3, read as those of format 4.

There the dimension of classes was called ``class``, which is a keyword of Python, views counted from 0, and the dimensions ``neuron``,
``feature_class`` and ``snapshot`` had no coordinates. What only resuming needs stood beside the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mvsim.runs.recording.coordinates import FIRST_VIEW, with_coordinates

if TYPE_CHECKING:
    import xarray as xr

NUMBER = 3

NAMES = {"class": "label"}
"""Old name -> new name, of dimensions and coordinates."""


def upgraded(dataset: xr.Dataset) -> xr.Dataset:
    """Return the variables of a run of format 3 under the names of format 4."""
    if not {"class", "view"} <= set(dataset.sizes):
        return dataset  # something is missing, which will be named
    views = dataset["view"].copy(data=dataset["view"].values + FIRST_VIEW)
    return with_coordinates(dataset.assign_coords(view=views).rename(NAMES))
