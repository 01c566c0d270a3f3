"""A reader of run files that takes a tenth of the time of xarray's, which looks up each variable dozens of times."""

from __future__ import annotations

from typing import IO, Any

import h5py
import xarray as xr

BY_XARRAY = xr.open_dataset

_STORED = {"CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST", "_Netcdf4Dimid", "coordinates", "dtype"}
"""Attributes of variables that say how they are stored."""


def open_dataset(file: IO[bytes], group: str = "/", **_: Any) -> xr.Dataset:
    """Return what xarray reads from a file that mvsim wrote."""
    variables, coordinates = {}, set[str]()
    with h5py.File(file, "r") as whole:
        for name, stored in whole[group].items():
            labels = dict(stored.attrs)
            if isinstance(stored, h5py.Group) or labels.get("NAME", b"").startswith(b"This is a netCDF dimension"):
                continue
            references = [scale[0] for scale in labels.get("DIMENSION_LIST", ())]
            dims = [h5py.h5r.get_name(one, whole.id).decode().rpartition("/")[2] for one in references] or [name] * stored.ndim
            values = stored[()].astype(labels.get("dtype", stored.dtype))
            variables[name] = (dims, values, {key: value for key, value in labels.items() if key not in _STORED})
            coordinates.update(labels.get("coordinates", "").split())
        return xr.Dataset(variables, attrs=dict(whole[group].attrs)).set_coords(coordinates & set(variables))
