"""A NetCDF4 file, written by h5py.

NetCDF4 is HDF5 with dimension scales. Writing them here takes 10 ms for the variables of a run, where xarray and h5netcdf need
130 ms, and a run is saved again and again. Reading is left to xarray.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from mvsim.base.signals import defer_signals

if TYPE_CHECKING:
    import xarray as xr

_NO_VARIABLE = "This is a netCDF dimension but not a netCDF variable. {:9d}"
"""Name of the scale of a dimension without coordinate, as the NetCDF4 format prescribes it."""


_WORTHWHILE = 1 << 15
"""Bytes of a variable from which on it is compressed."""

_CHUNK = 1 << 14
"""Bytes that are compressed together. More would mix series that differ, and small pieces cost room of their own."""


def write_netcdf(
    target: IO[bytes],
    dataset: xr.Dataset,
    attributes: Mapping[str, str | int | float],
    group: str = "",
    members: Collection[str] = (),
    *,
    compress: bool = False,
) -> None:
    """Write ``dataset`` to an empty file as NetCDF4; no fill value is declared, so that NaN is a value like any other and keeps its bits."""
    import h5py

    # Without a cache: each chunk is written once, as a whole, and caches of all variables would be a copy of much of the data.
    with _kept_errors(target) as kept, h5py.File(kept, "w", track_order=True, rdcc_nbytes=0) as file:
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
            filters = _compressed(values) if compress and values.nbytes >= _WORTHWHILE else {}
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


def _compressed(values: np.ndarray) -> dict[str, Any]:
    """Return how a variable is compressed.

    Leading bytes change little along the first axis, which is time, and the filter that shuffles bytes puts them together. So a chunk has as much
    of that axis as it holds, and of the others from the last on what room is left.
    """
    room, chunk = _CHUNK // values.itemsize, list[int]()
    for size in (len(values), *reversed(values.shape[1:])):
        chunk.append(max(1, min(size, room)))
        room //= chunk[-1]
    return {"compression": "gzip", "compression_opts": 4, "shuffle": True, "chunks": (chunk[0], *reversed(chunk[1:]))}


class _Kept:
    """A file as HDF5 sees it, which keeps its first error, and does nothing any more: HDF5 would print it, go on, and crash at times."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.error: Exception | None = None

    def _attempt(self, act: Callable[..., int | None], *arguments: Any) -> int | None:
        if self.error is None:
            try:
                return act(*arguments)
            except Exception as error:  # raised at the end, whatever it is
                self.error = error
        return 0

    def seek(self, *place: int) -> int | None:
        return self._attempt(self._file.seek, *place)

    def tell(self) -> int | None:
        return self._attempt(self._file.tell)

    def write(self, data: memoryview) -> int | None:
        return self._attempt(self._file.write, data)

    def truncate(self, size: int) -> int | None:
        return self._attempt(self._file.truncate, size)

    def flush(self) -> None:
        self._attempt(self._file.flush)

    def read(self, size: int) -> bytes:  # never called; h5py knows files by it
        return self._file.read(size)

    def readinto(self, into: memoryview) -> int | None:
        return self._attempt(self._file.readinto, into)  # type: ignore[attr-defined]


@contextmanager
def _kept_errors(target: IO[bytes]) -> Iterator[_Kept]:
    """Give a file to write HDF5 to, and raise its first error at the end. Signals wait: they would be raised in a callback, and lost."""
    kept = _Kept(target)
    try:
        with defer_signals():
            yield kept
    except Exception:
        if kept.error is None:
            raise
    if kept.error is not None:
        raise kept.error


def _coordinates(dataset: xr.Dataset, dims: tuple[Hashable, ...]) -> str:
    """Name the coordinates, other than the dimensions themselves, that belong to a variable of dimensions ``dims``."""
    return " ".join(str(name) for name, values in dataset.coords.items() if name not in dataset.sizes and set(values.dims) <= set(dims))
