"""Runs on disk: one self-contained NetCDF4 file per run, replaced whole at every save. Knows nothing of how a run is made."""

from mvsim.runs.archive.attributes import plain_attributes
from mvsim.runs.archive.provenance import collect_provenance, revision_text
from mvsim.runs.archive.run_file import read_provenance, read_run, without_resuming, write_run
from mvsim.runs.archive.writable import NO_RUN, ensure_writable, is_run, lock_run
from mvsim.runs.recording.coordinates import with_coordinates

__all__ = [
    "NO_RUN",
    "collect_provenance",
    "ensure_writable",
    "is_run",
    "lock_run",
    "plain_attributes",
    "read_provenance",
    "read_run",
    "revision_text",
    "with_coordinates",
    "without_resuming",
    "write_run",
]
