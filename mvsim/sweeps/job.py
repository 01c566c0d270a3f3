"""What an engine has to do: one cell, wherever it runs, from wherever it was left."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from mvsim.base.errors import Interrupted, InUseError, MvsimError
from mvsim.runs.run import open_run
from mvsim.runs.simulation.progress import Silent
from mvsim.runs.simulation.run_cache import kept_run
from mvsim.sweeps.cell import Cell
from mvsim.sweeps.folder import UNDECIDED, RunFolder

PATIENCE = 60.0
"""Seconds to wait for a run that another process holds: a worker that was stopped may take a while to end."""


@dataclass(frozen=True)
class Job:
    """One cell to be done."""

    folder: RunFolder  # Where its run is kept
    cell: Cell  # Which run
    seconds: float  # How long it is expected to take: long ones go first
    until: float | None  # A run that ends before it settles goes on to this time
    checkpoint_seconds: float  # Seconds between two saves: what an end without warning costs at most


class Outcome(NamedTuple):
    """What became of a job."""

    state: Literal["done", "failed", "busy"]  # ``done``, ``failed``, or ``busy``, if another process holds the run
    # message, kind: Of what failed: why, and the kind of error
    message: str = ""
    kind: str = ""
    settled: bool = True  # Of what is done: whether the run had settled

    @property
    def undecided(self) -> bool:
        """Whether the run ended without an answer."""
        return not self.settled or self.kind in UNDECIDED


Notify = Callable[[dict[str, Any]], None]
"""Is told how a run goes; see `mvsim.runs.simulation.progress.Progress`."""


class Forward(Silent):
    """A display that hands everything on to a function."""

    def __init__(self, tell: Notify) -> None:
        self._tell = tell

    def start(self, info: dict[str, Any]) -> None:
        """Hand on that kernels are compiled."""
        self._tell(info)

    def update(self, status: dict[str, Any]) -> None:
        """Hand on how far it is."""
        self._tell(status)


def do(job: Job, tell: Notify, threads: int | None = 1, patience: float = PATIENCE) -> Outcome:
    """Make or continue the run of a job; a failure is an outcome and no error here.

    It is not this that records it: in a process that is being ended nearly anything may fail, and nobody learns of the outcome.
    """
    deadline = time.monotonic() + patience
    while True:
        try:
            settled = _make(job, tell, threads)
        except Interrupted:
            raise
        except InUseError as error:
            if time.monotonic() < deadline:
                time.sleep(0.5)
                continue
            return Outcome("busy", str(error))
        except Exception as error:  # whatever one run meets, the others go on
            kind, message = type(error).__name__, " ".join(str(error).split())
            if not isinstance(error, MvsimError | OSError | MemoryError):
                message = f"internal error ({kind}: {message}), a bug of mvsim: please report it"
            return Outcome("failed", message, kind)
        return Outcome("done", settled=settled)


def _make(job: Job, tell: Notify, threads: int | None) -> bool:
    """Make the run and return whether it has settled; one that has finished without settling goes on if that is asked for."""
    path, cell = job.folder.path, job.cell
    until = job.until if job.until is not None and is_unsettled(job.folder, cell) else None
    options = {"checkpoint_seconds": job.checkpoint_seconds, **cell.options}
    run = kept_run(path, cell.parameters, cell.method, cell.seed, threads, Forward(tell), until, **options)
    return run.settled is not False


def is_unsettled(folder: RunFolder, cell: Cell) -> bool:
    """Tell whether the run of a cell has finished without settling."""
    path = folder.path_of(cell)
    if not path.exists():
        return False
    run = open_run(path)
    return run.status == "finished" and not run.settled
