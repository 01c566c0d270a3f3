"""Make the runs of a study that are not there yet."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from mvsim.base.echo import echo, path_text
from mvsim.base.errors import Interrupted, UsageError
from mvsim.base.inputs import check_kind, check_positive
from mvsim.sweeps.cell import Cell
from mvsim.sweeps.engine import Engine, Event, Serial
from mvsim.sweeps.estimate import seconds_of
from mvsim.sweeps.folder import RunFolder, Standing, SweepFolder
from mvsim.sweeps.job import Job, Outcome, is_unsettled
from mvsim.sweeps.regime import REGIMES
from mvsim.sweeps.study import Study
from mvsim.sweeps.tally import Tally

CHECKPOINT_SECONDS = 10.0


@runtime_checkable
class Display(Protocol):
    """What a sweep tells of itself."""

    def begin(self, tally: Tally, workers: str) -> None:
        """Learn what is to be done, and in words by whom."""

    def update(self, tally: Tally, event: Event) -> None:
        """Learn what has happened."""


class NoDisplay:
    """A display that shows nothing."""

    def begin(self, tally: Tally, workers: str) -> None:
        """Show nothing."""

    def update(self, tally: Tally, event: Event) -> None:
        """Show nothing."""


def jobs_of(
    folder: SweepFolder,
    standings: Sequence[Standing],
    retry: bool = False,
    until: float | None = None,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    only: Sequence[int] | None = None,
) -> list[Job]:
    """Return what is to be done in a folder, the longest first, so that the last ones to end are short."""
    if until is not None:
        until = check_positive("until", until)
    checkpoint_seconds = check_positive("checkpoint_seconds", checkpoint_seconds, most=float("inf"))
    cells = folder.study.cells
    for index in only or ():
        if not 0 <= index < len(cells):
            allowed = f"an integer from 0 to {len(cells) - 1}" if len(cells) > 1 else "0"
            raise UsageError(f"cell={echo(index)}: must be {allowed}, the number of a cell")
    jobs, place = [], RunFolder(Path(os.path.abspath(folder.path)))  # workers may have other working directories
    for cell, standing in zip(cells, standings, strict=True):
        due = standing.state in ("missing", "unfinished") or (standing.state == "failed" and retry and not standing.blocked)
        due = due or (standing.state == "done" and until is not None and is_unsettled(folder, cell))
        if due and (only is None or cell.index in only):
            jobs.append(Job(place, cell, seconds_of(cell), until, checkpoint_seconds))
    return sorted(jobs, key=lambda job: -job.seconds)


def work_on(folder: SweepFolder, engine: Engine, display: Display | None = None, **which: Any) -> Tally:
    """Do what is to be done in a folder."""
    display = NoDisplay() if display is None else display
    standings = [folder.standing(cell) for cell in folder.study.cells]
    jobs = jobs_of(folder, standings, **which)
    tally = Tally(standings, jobs)

    def tell(event: Event) -> None:
        if event.outcome is not None:
            _record(folder, folder.study.cells[event.cell], event.outcome)
        tally.tell(event)
        display.update(tally, event)

    def begin(workers: str) -> None:
        folder.establish(which.get("until"))  # not before: what is refused, as a scheduler that is not there, leaves no folder behind
        display.begin(tally, workers)

    if not jobs:
        folder.establish()  # of a study that is extended by runs that are there
    else:
        try:
            engine.work(jobs, begin, tell)
        except (Interrupted, KeyboardInterrupt):
            done = f"{tally.counts['done']} of {tally.cells} cells done"
            raise Interrupted(f"interrupted with {done}; what was saved is in {path_text(folder.path)}") from None
    return tally


def _record(folder: SweepFolder, cell: Cell, outcome: Outcome) -> None:
    if outcome.state == "failed":
        folder.record_failure(cell, outcome.kind, outcome.message)
    elif outcome.state == "done":
        folder.forget_failure(cell)


def run_sweep(
    values: Mapping[str, Any],
    out: str | os.PathLike[str],
    *,
    zips: Sequence[Sequence[str]] = (),
    regime: str = REGIMES[0],
    extend: bool = False,
    engine: Engine | None = None,
    retry: bool = False,
    until: float | None = None,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    display: Display | None = None,
) -> SweepFolder:
    """Make the runs of a study that are not there yet, as ``mvsim sweep`` does.

    Parameters
    ----------
    values : mapping
        From names of parameters and options to a value, a list of values, or text such as "6,10" or "0:20".
    out : path
        Folder of the runs; they are found again, and `mvsim.open_runs` reads it.
    zips : sequence of sequence of str
        Groups of names whose values are taken side by side; all others are crossed.
    regime : str
        "scaled", or "literal" for d = k^20.
    extend : bool
        Whether the folder may hold a study of some of these cells, which then has them all, or of these cells and more, which stays.
    engine : Engine, optional
        By default one run after another in this process; `mvsim.sweeps.dask_engine.Dask` makes them side by side.
    retry : bool
        Whether runs that failed are tried again.
    until : float, optional
        Runs that ended before they settled go on to this time.
    checkpoint_seconds : float
        Seconds between two saves of a run.
    display : Display, optional
        Is told how it goes.

    Returns
    -------
    SweepFolder
        Where the runs are. Runs that failed are no error: `mvsim.open_runs` tells why they did.

    Raises
    ------
    UsageError
        If a value is out of its domain, the folder holds another study, or the engine cannot work.
    Interrupted
        If SIGINT arrives; what was saved stays.
    """
    for name, flag in (("extend", extend), ("retry", retry)):
        check_kind(name, flag, bool, "True or False")
    check_kind("engine", engine, Engine | None, "an engine, as mvsim.sweeps.dask_engine.Dask(), or None")
    check_kind("display", display, Display | None, "a display, as mvsim.sweeps.sweep.NoDisplay(), or None")
    folder = SweepFolder.planned(out, Study.of(values, zips, regime), extend)
    work_on(
        folder, Serial() if engine is None else engine, display, retry=retry, until=until, checkpoint_seconds=checkpoint_seconds
    )  # fmt: skip
    return folder
