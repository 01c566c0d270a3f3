"""The bytes of a NetCDF4 file, written by h5py.

NetCDF4 is HDF5 with dimension scales. Writing them here takes 10 ms for the variables of a run, where xarray and h5netcdf need
130 ms, and a run is saved again and again. Reading is left to xarray.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Hashable, Mapping
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import xarray as xr

_NO_VARIABLE = "This is a netCDF dimension but not a netCDF variable. {:9d}"
"""Name of the scale of a dimension without coordinate, as the NetCDF4 format prescribes it."""


_FILES = itertools.count()
"""Numbers the files in memory: HDF5 takes two open ones of the same name, in two threads, for the same file."""


_COMPRESSED = {"compression": "gzip", "compression_opts": 1, "shuffle": True, "chunks": True}
"""Of correlations 0.6 of the bytes remain, at 70 MB/s: leading bytes change little in time, and the filter that shuffles bytes puts them together."""

_WORTHWHILE = 1 << 15
"""Bytes of a variable from which on it is compressed."""


def netcdf_bytes(
    dataset: xr.Dataset, attributes: Mapping[str, str | int | float], group: str = "", members: Collection[str] = (), *, compress: bool = False
) -> bytes:
    """Return ``dataset`` as the contents of a NetCDF4 file; no fill value is declared, so that NaN is a value like any other and keeps its bits."""
    import h5py

    with h5py.File(f"memory-{next(_FILES)}", "w", driver="core", backing_store=False, track_order=True) as file:
        for key, text in attributes.items():
            file.attrs[key] = text
        stored = {}
        within = file.create_group(group, track_order=True) if members else file
        for name, variable in dataset.variables.items():
            values, labels = variable.values, dict(variable.attrs)
            if values.dtype == bool:  # NetCDF has no bool; this is how xarray stores it
                values, labels["dtype"] = values.astype(np.int8), "bool"
            if name in dataset.data_vars and (coordinates := _coordinates(dataset, variable.dims)):
                labels["coordinates"] = coordinates
            filters = _COMPRESSED if compress and values.nbytes >= _WORTHWHILE else {}
            stored[name] = (within if name in members else file).create_dataset(name, data=values, **filters)
            stored[name].attrs.update(labels)
        scales = {}
        shared = {dim for name, variable in dataset.variables.items() if name not in members for dim in variable.dims}
        for number, (dim, size) in enumerate(dataset.sizes.items()):
            place = file if dim in shared else within
            scale = scales[dim] = stored[dim] if dim in stored else place.create_dataset(dim, shape=(size,), dtype=">f4")
            scale.make_scale(dim if dim in stored else _NO_VARIABLE.format(size))
            scale.attrs["_Netcdf4Dimid"] = np.int32(number)
        for name, variable in dataset.variables.items():
            if name not in scales:
                for axis, dim in enumerate(variable.dims):
                    stored[name].dims[axis].attach_scale(scales[dim])
        file.flush()
        return file.id.get_file_image()


def _coordinates(dataset: xr.Dataset, dims: tuple[Hashable, ...]) -> str:
    """Name the coordinates, other than the dimensions themselves, that belong to a variable of dimensions ``dims``."""
    return " ".join(str(name) for name, values in dataset.coords.items() if name not in dataset.sizes and set(values.dims) <= set(dims))
