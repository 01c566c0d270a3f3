"""What verdicts are about, by content: a file may be moved, and another run may come to have its name."""

from __future__ import annotations

from collections.abc import Iterable

from mvsim.papers.midpoint_mixup.sweeps import cells_to_judge
from mvsim.runs.archive import read_provenance
from mvsim.runs.run import Run
from mvsim.sweeps.runs import Runs


def contents_of(runs: Iterable[Run]) -> dict[str, str]:
    """Return the content hashes of runs as they were read, by file."""
    return {str(run.path): run.provenance["sha256"] for run in runs}


def contents_of_sweep(runs: Runs) -> dict[str, str]:
    """Return the content hashes of the runs of a sweep that are judged, by file.

    Raises
    ------
    UsageError
        If one cannot be read.
    """
    files = [runs.folder.path_of(cell) for cell, standing in cells_to_judge(runs) if standing.state == "done"]
    return {str(file): read_provenance(file)["sha256"] for file in files}
