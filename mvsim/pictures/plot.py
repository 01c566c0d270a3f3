"""What a user calls from Python: one function for a run, several, or a sweep."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from mvsim.base.echo import echo
from mvsim.base.errors import UsageError
from mvsim.base.inputs import plain
from mvsim.pictures.figure import run_figure
from mvsim.pictures.panel import Panel
from mvsim.pictures.sweep_figure import sweep_figure
from mvsim.runs.run import Run, open_run
from mvsim.sweeps.runs import SweepRuns, open_sweep

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

Drawn = Run | str | os.PathLike
"""A run, or its file."""


def plot(
    runs: Drawn | Iterable[Drawn] | SweepRuns,
    *,
    panels: Sequence[Panel | str] | None = None,
    classes: Sequence[int] | None = None,
    title: str | None = None,
) -> Figure:
    """Draw a run, several side by side, or a sweep.

    Parameters
    ----------
    runs : Run or path, several of these, or the Runs of a sweep
        What `mvsim.simulate`, `mvsim.open_run` or `mvsim.open_runs` returns, a run file, or the folder of a sweep.
    panels : sequence of str or mvsim.pictures.Panel, optional
        Which panels to draw, from top to bottom, by their names in `mvsim.pictures.ALL_PANELS` (correlations, loss, ...); or panels of your own. By
        default those that have something to show.
    classes : sequence of int, optional
        Classes to show, counted from 0; by default all.
    title : str, optional
        What stands above the picture; by default what came out. An empty text leaves it out.

    Returns
    -------
    matplotlib.figure.Figure
        Shows itself in a notebook; ``figure.savefig("run.pdf")`` writes it, `mvsim.pictures.save_figure` with the same bytes every time.

    Raises
    ------
    UsageError
        If there is nothing to draw, no such panel or class, or panels, classes or a title are given for a sweep.
    RunFileError
        If a file is no run file.
    """
    runs, panels, classes, title = map(plain, (runs, panels, classes, title))
    if isinstance(runs, str) and not runs:
        raise UsageError("runs='': must be the name of a run file or of the folder of a sweep")
    if isinstance(runs, str | os.PathLike) and os.path.isdir(runs):
        runs = open_sweep(runs)
    if not isinstance(runs, SweepRuns):
        several = [runs] if isinstance(runs, Drawn) else runs
        return run_figure([_opened(run) for run in several] if isinstance(several, Iterable) else several, panels, classes, title)
    for name, value in (("panels", panels), ("classes", classes), ("title", title)):
        if value is not None:
            raise UsageError(f"{name}={echo(value)}: the picture of a sweep has no such choice; leave it out, or draw single runs of the sweep")
    return sweep_figure(runs)


def _opened(run: Drawn) -> Run:
    return open_run(run) if isinstance(run, str | os.PathLike) else run
