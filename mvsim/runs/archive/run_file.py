"""Write and read the file of a run."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import IO, TYPE_CHECKING, Any

from mvsim.base.echo import echo, path_text, shortened
from mvsim.base.errors import UsageError
from mvsim.base.inputs import check_path
from mvsim.runs.archive import format_3, format_4
from mvsim.runs.archive.atomic import write_atomically
from mvsim.runs.archive.attributes import plain_attributes
from mvsim.runs.archive.content_hash import content_hash
from mvsim.runs.archive.netcdf import netcdf_bytes
from mvsim.runs.archive.ordinary_file import open_ordinary
from mvsim.runs.archive.provenance_json import provenance_from_text, provenance_text
from mvsim.runs.archive.schema import FORMAT, find_problem, find_wrong_shape
from mvsim.runs.archive.seal import is_broken, is_intact, seal
from mvsim.runs.archive.unbacked import find_unbacked

if TYPE_CHECKING:
    import xarray as xr

ATTRIBUTE = "mvsim"
"""Name of the attribute of a run file that holds the provenance as JSON text."""

GROUP, RESUMING = "resume", ("resume_", "memory_")
"""Name of the group of a run file that holds what only resuming needs, and what the names of these variables begin with."""

_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_RESTORE = "restore it from a copy, or make the run again"

OLDER = (format_3, format_4)
"""Older formats that are read, each by what makes the next one of it."""


def write_run(path: str | os.PathLike[str], dataset: xr.Dataset, provenance: dict[str, Any]) -> None:
    """Save a run as one NetCDF4 file, as a whole or not at all."""
    plain = provenance_from_text(provenance_text({**provenance, "format": FORMAT}))  # as it will be read: lists for tuples, string keys
    problem = find_problem(dataset, plain)
    if problem:
        raise ValueError(f"this is not a complete run: {problem}")
    text = provenance_text({**plain, "sha256": content_hash(dataset, plain)})
    attributes = {**plain_attributes(plain), ATTRIBUTE: text}
    # Built in memory, so that all that meets the disk is plain writing of bytes, whose errors are clear.
    data = seal(netcdf_bytes(dataset, attributes, GROUP, _of_resuming(dataset)))
    try:
        write_atomically(path, data)
    except OSError as error:
        before = "what was saved before is unchanged; " if os.path.exists(path) else ""
        advice = f"{before}correct that and continue with --resume"
        raise UsageError(f"{path_text(path)}: could not be saved: {error.strerror or error}; {advice}") from error


def read_run(path: str | os.PathLike[str]) -> tuple[xr.Dataset, dict[str, Any]]:
    """Read a run, complete and checked, into memory. It may be in use by the process that makes it."""
    with _open(path) as file:
        if file.read(len(_SIGNATURE)) != _SIGNATURE:
            raise UsageError(f"{path_text(path)}: not a NetCDF4 file; give a run made by `mvsim simulate`")
        if is_broken(file):
            raise UsageError(f"{path_text(path)}: its contents do not match its checksum: it was edited or damaged after it was saved; {_RESTORE}")
        stored, provenance = _load(path, file)
    dataset = _of_today(stored, provenance)
    problem = find_problem(dataset, provenance)
    if problem:
        raise UsageError(f"{path_text(path)}: not a complete run: {problem}; {_RESTORE}")
    if content_hash(stored, provenance) != provenance.get("sha256"):
        raise UsageError(f"{path_text(path)}: its contents do not match its hash: it was edited or damaged after it was saved; {_RESTORE}")
    return dataset.assign_attrs(plain_attributes(provenance)), provenance


def without_resuming(dataset: xr.Dataset) -> xr.Dataset:
    """Return the data set of a run without what only resuming needs."""
    return dataset.drop_vars(_of_resuming(dataset))


def _of_resuming(dataset: xr.Dataset) -> list[str]:
    """Return the names of the variables that only resuming needs."""
    return [name for name in map(str, dataset.data_vars) if name.startswith(RESUMING)]


def _of_today(stored: xr.Dataset, provenance: dict[str, Any]) -> xr.Dataset:
    """Return what a file holds under the names of the present format."""
    for older in OLDER:
        if provenance["format"] <= older.NUMBER:
            stored = older.upgraded(stored)
    return stored


def read_provenance(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read what a run is and how far it is, much faster than all of it; that its bytes are those that were saved is checked by their checksum."""
    import h5py

    with _open(path) as file:
        if file.read(len(_SIGNATURE)) == _SIGNATURE and is_intact(file):
            with h5py.File(file, "r") as raw:
                return _provenance(path, raw.attrs.get(ATTRIBUTE))
    return read_run(path)[1]  # without a checksum, or not a run: that takes a closer look


def _open(path: str | os.PathLike[str]) -> IO[bytes]:
    give = "give a run made by `mvsim simulate`"
    check_path("path", path, f"a file; {give}")
    return open_ordinary(path, give)  # as it is written, for messages: a path would take one slash of two away


def _load(path: str | os.PathLike[str], file: IO[bytes]) -> tuple[xr.Dataset, dict[str, Any]]:
    """Return variables and provenance of the open ``file``, the latter of a format this version reads."""
    import h5py
    import xarray as xr

    try:
        with h5py.File(file, "r") as raw:
            provenance = _provenance(path, raw.attrs.get(ATTRIBUTE))
            problem, has_group = find_unbacked(raw), isinstance(raw.get(GROUP), h5py.Group)
        if problem:
            raise UsageError(f"{path_text(path)}: not a complete run: {problem}; {_RESTORE}")
        # From the open file, not from its name: xarray takes some names for addresses on the web.
        # A variable that somebody put in without naming its dimensions is refused by its name.
        reading: dict[str, Any] = {
            "engine": "h5netcdf",
            "phony_dims": "sort",
            "mask_and_scale": False,
            "decode_times": False,
            "decode_timedelta": False,
        }
        with ExitStack() as opened:
            stored = opened.enter_context(xr.open_dataset(file, **reading))
            if has_group:
                stored = stored.assign(opened.enter_context(xr.open_dataset(file, group=GROUP, **reading)).data_vars)
            problem = find_wrong_shape(_of_today(stored, provenance), provenance)
            if problem:
                raise UsageError(f"{path_text(path)}: not a complete run: {problem}; {_RESTORE}")
            dataset = stored.load().drop_encoding()
    except UsageError:
        raise
    except Exception as error:  # damaged files make h5py and xarray raise nearly anything
        reason = f"{type(error).__name__}: {shortened(' '.join(str(error).split()))}"
        raise UsageError(f"{path_text(path)}: cannot be read as NetCDF4, truncated or damaged ({reason}); {_RESTORE}") from None
    return dataset, provenance


def _provenance(path: str | os.PathLike[str], text: object) -> dict[str, Any]:
    if not isinstance(text, str):
        raise UsageError(f"{path_text(path)}: not a run of mvsim, it has no attribute {ATTRIBUTE}; give a run made by `mvsim simulate`")
    try:
        provenance = provenance_from_text(text)
    except (ValueError, RecursionError):
        raise UsageError(f"{path_text(path)}: its attribute {ATTRIBUTE} is not a JSON object: it was edited or damaged; {_RESTORE}") from None
    version = provenance.get("format")
    if type(version) is not int or version < 1:
        raise UsageError(f"{path_text(path)}: its provenance has no valid format number: it was edited or damaged; {_RESTORE}")
    if version > FORMAT:
        raise UsageError(f"{path_text(path)}: has format {echo(version)}, made by a newer mvsim; this version reads {FORMAT}: install a newer mvsim")
    if version < OLDER[0].NUMBER:
        readable = f"formats {OLDER[0].NUMBER} to {FORMAT}"
        raise UsageError(f"{path_text(path)}: has format {echo(version)}, made by an older mvsim; this version reads {readable}: make the run again")
    return provenance
