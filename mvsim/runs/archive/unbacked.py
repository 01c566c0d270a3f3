"""Whether a file holds the numbers that it declares, before memory is taken for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mvsim.base.echo import shortened

if TYPE_CHECKING:
    import h5py


def find_unbacked(file: h5py.File) -> str | None:
    """Return which variable declares more than the file holds, in a few words, or None if none does.

    HDF5 needs a few bytes to declare an array of any size, and reading it takes the memory of all its elements. A run has no compressed variables
    (`mvsim.runs.archive.netcdf`), which could grow a thousandfold.
    """
    import h5py

    for name, variable in _variables(file):
        if not isinstance(variable, h5py.Dataset) or _is_bare_dimension(variable):
            continue
        stored = variable.id.get_storage_size()
        if variable.nbytes > stored:
            return f"variable {shortened(name)} declares {variable.nbytes:.3g} bytes and has {stored:.3g}"
    return None


def _variables(group: h5py.Group) -> Iterator[tuple[str, h5py.Dataset]]:
    """Yield all that stands in a file, its groups included; links to elsewhere are none of it."""
    import h5py

    for name, one in group.items():
        if isinstance(one, h5py.Group):
            yield from _variables(one)
        else:
            yield name, one


def _is_bare_dimension(variable: h5py.Dataset) -> bool:
    """Whether this stands for a dimension without coordinate: it has a size and is never read."""
    name = variable.attrs.get("NAME", b"")
    return isinstance(name, bytes) and name.startswith(b"This is a netCDF dimension but not a netCDF variable")
