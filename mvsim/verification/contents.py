"""What verdicts are about, by content: a file may be moved, and another run may come to have its name."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from mvsim.archive import read_provenance
from mvsim.sweep.folder import SweepFolder


def contents_of(runs: Iterable[str | os.PathLike[str]]) -> dict[str, str]:
    """Return the content hashes of runs, and of those of sweeps that are done, by file.

    Parameters
    ----------
    runs : iterable of path
        Run files, and folders of sweeps.

    Raises
    ------
    UsageError
        If one cannot be read.
    """
    files: list[Path] = []
    for run in map(Path, runs):
        if run.is_dir():
            folder = SweepFolder.open(run)
            files += [folder.path_of(cell) for cell in folder.study.cells if folder.standing(cell).state == "done"]
        else:
            files.append(run)
    return {str(file): read_provenance(file)["sha256"] for file in files}
