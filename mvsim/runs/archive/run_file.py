"""Write and read the file of a run."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

from mvsim.base.echo import echo, path_text
from mvsim.base.errors import UsageError
from mvsim.base.inputs import check_path
from mvsim.runs.archive.atomic import replacing
from mvsim.runs.archive.attributes import plain_attributes, provenance_from_text, provenance_text
from mvsim.runs.archive.netcdf import write_netcdf
from mvsim.runs.archive.record import open_ordinary
from mvsim.runs.archive.schema import FORMAT, find_problem

if TYPE_CHECKING:
    import h5py
    import xarray as xr

ATTRIBUTE = "mvsim"
"""Name of the attribute of a run file that holds the provenance as JSON text."""

GROUP, RESUMING = "resume", ("resume_", "memory_")
"""Name of the group of a run file that holds what only resuming needs, and what the names of these variables begin with."""

_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_GIVE = "give a run made by `mvsim simulate`"


def write_run(path: str | os.PathLike[str], dataset: xr.Dataset, provenance: dict[str, Any]) -> None:
    """Save a run as one NetCDF4 file, as a whole or not at all; ``dataset`` has no attributes of its own, and is not changed.

    It is compressed unless the run still goes on and is saved again and again. ``format`` of the provenance is set here. Raises `UsageError` if the
    file cannot be written, and `ValueError`, before anything is, if it is no complete run.
    """
    entries = {name: value for name, value in provenance.items() if name != "sha256"} | {"format": FORMAT}
    plain = provenance_from_text(provenance_text(entries))  # as it will be read: lists for tuples, string keys
    problem = find_problem(dataset, plain)
    if problem:
        raise ValueError(f"this is not a complete run: {problem}")
    attributes = {**plain_attributes(plain), ATTRIBUTE: provenance_text(plain)}
    try:
        with replacing(path) as file:
            write_netcdf(file, dataset, attributes, GROUP, _of_resuming(dataset), compress=plain["status"] != "running")
            seal(file)
    except OSError as error:
        before = "what was saved before is unchanged; " if os.path.exists(path) else ""
        advice = f"{before}correct that and continue with --resume"
        raise UsageError(f"{path_text(path)}: could not be saved: {error.strerror or error}; {advice}") from error


def read_run(path: str | os.PathLike[str]) -> tuple[xr.Dataset, dict[str, Any]]:
    """Read a run, which may be in use, and its provenance with ``sha256``, the checksum of the file; raise `UsageError` if it is not a valid one."""
    import xarray as xr

    reading: dict[str, Any] = {"engine": "h5netcdf", "mask_and_scale": False, "decode_times": False, "decode_timedelta": False}
    with _opened(path) as (file, raw, provenance):
        # From the open file, not from its name: xarray takes some names for addresses on the web.
        with xr.open_dataset(file, **reading) as stored:
            dataset = stored.load().drop_encoding()
        if GROUP in raw:
            with xr.open_dataset(file, group=GROUP, **reading) as stored:
                dataset = dataset.assign(stored.load().drop_encoding().data_vars)
    return dataset.assign_attrs(plain_attributes(provenance)), provenance


def read_provenance(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read what a run is and how far it is, much faster than all of it; errors are those of `read_run`."""
    with _opened(path) as (_, _, provenance):
        return provenance


def without_resuming(dataset: xr.Dataset) -> xr.Dataset:
    """Return the data set of a run without what only resuming needs."""
    return dataset.drop_vars(_of_resuming(dataset))


def _of_resuming(dataset: xr.Dataset) -> list[str]:
    """Return the names of the variables that only resuming needs."""
    return [name for name in map(str, dataset.data_vars) if name.startswith(RESUMING)]


@contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[tuple[IO[bytes], h5py.File, dict[str, Any]]]:
    """Open a run file whose checksum is valid and whose format this version reads; give the file, as HDF5, and its provenance."""
    import h5py

    check_path("path", path, f"a file; {_GIVE}")
    name = path_text(path)  # as it is written, for messages: a path would take one slash of two away
    with open_ordinary(path, _GIVE) as file:
        if file.read(len(_SIGNATURE)) != _SIGNATURE:
            raise UsageError(f"{name}: not a NetCDF4 file; {_GIVE}")
        checksum = valid_checksum(file)
        if checksum is None:
            what = "not a run of mvsim, or edited, cut short or damaged after it was saved"
            raise UsageError(f"{name}: its contents do not match a checksum at its end: {what}; restore it from a copy, or make the run again")
        with h5py.File(file, "r") as raw:
            provenance = provenance_from_text(str(raw.attrs[ATTRIBUTE]))
            if provenance["format"] != FORMAT:
                advice = "read it with the version that made it, or make the run again"
                raise UsageError(f"{name}: has format {echo(provenance['format'])}, this version of mvsim reads format {FORMAT}; {advice}")
            yield file, raw, {**provenance, "sha256": checksum}


_SEAL = re.compile(rb"\nmvsim sha256 ([0-9a-f]{64})\n")
_LENGTH = len(b"\nmvsim sha256 \n") + 64
_CHUNK = 1 << 20


def seal(file: IO[bytes]) -> None:
    """Put the checksum of an open file behind its contents, without a valid one of which a file is not read.

    It guards the HDF5 library from damaged bytes, on which it can loop for ever: of 600 small run files with 16 bytes replaced at random, HDF5 2.0
    hung on 9. HDF5 ignores what follows the end that it recorded, and drops it when a file is opened for editing.
    """
    checksum = _checksum(file, file.seek(0, os.SEEK_END))
    file.seek(0, os.SEEK_END)
    file.write(b"\nmvsim sha256 " + checksum + b"\n")


def valid_checksum(file: IO[bytes]) -> str | None:
    """Return the checksum of the open ``file``, None if it has none or not that of its contents; leave the file at its beginning."""
    size = file.seek(0, os.SEEK_END) - _LENGTH
    file.seek(max(size, 0))
    match = _SEAL.fullmatch(file.read())
    valid = match is not None and _checksum(file, size) == match[1]
    file.seek(0)
    return match[1].decode() if match is not None and valid else None


def _checksum(file: IO[bytes], size: int) -> bytes:
    """Return the SHA-256 of the first ``size`` bytes of the open ``file``, in hexadecimal digits."""
    digest = hashlib.sha256()
    file.seek(0)
    while size > 0:
        chunk = file.read(min(size, _CHUNK))
        digest.update(chunk)
        size -= len(chunk) or size  # a file that shrinks meanwhile has no more to give
    return digest.hexdigest().encode()
