"""``mvsim sweep`` as a process: started, its workers found, and what two folders of runs are compared by. Studies and tests share it."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil

import mvsim


def start_sweep(values: Mapping[str, Any], out: Path, *more: Any, **process: Any) -> subprocess.Popen[Any]:
    """Start ``mvsim sweep``.

    Parameters
    ----------
    values : mapping
        From names to values, as text on the command line.
    out : Path
        Folder of the runs.
    *more
        Further words of the command.
    **process
        Arguments of `subprocess.Popen`.
    """
    words = [word for name, value in values.items() for word in (f"--{name.replace('_', '-')}", value)]
    command = [sys.executable, "-m", "mvsim", "sweep", *words, "--out", out, *more]
    return subprocess.Popen([str(word) for word in command], **process)


def workers_of(process: subprocess.Popen[Any]) -> list[psutil.Process]:
    """Return the worker processes of a sweep."""
    found = []
    with contextlib.suppress(psutil.Error):
        for child in psutil.Process(process.pid).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                if any("spawn_main" in word for word in child.cmdline()):
                    found.append(child)
    return found


def differing_runs(one: mvsim.Runs, other: mvsim.Runs) -> list[int]:
    """Return the numbers of the cells whose runs differ in a bit of a variable, or are not done in the second folder."""
    done = [standing.state == "done" for standing in other.standings]
    return [index for index, there in enumerate(done) if not there or not _same(one.run(index).dataset, other.run(index).dataset)]


def _same(one: Any, other: Any) -> bool:
    return set(one.variables) == set(other.variables) and all(
        one[name].dtype == other[name].dtype and one[name].to_numpy().tobytes() == other[name].to_numpy().tobytes() for name in one.variables
    )
