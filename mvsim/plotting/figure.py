"""The picture of one run, or of several side by side on the same axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from mvsim.echo import echo, path_text
from mvsim.errors import UsageError
from mvsim.objectives import OBJECTIVES
from mvsim.plotting.labels import assumption_of, regime_text, run_title, statements
from mvsim.plotting.panels import TIME_PANELS, panels_of
from mvsim.plotting.style import styled
from mvsim.run import Run

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_RUNS = 16
"""Columns of a picture that can still be looked at."""

Panel = Callable[["Axes", "Run"], None]


def run_figure(runs: Sequence[Run], panels: Sequence[Panel] | None = None) -> Figure:
    """Draw what happened in one run, or in several side by side.

    By default: correlations, loss and learned classes over time, the two total correlations of every class at the end, and when neurons escaped;
    of linear models, whose neurons do not escape, the gap between the two over time.

    Parameters
    ----------
    runs : sequence of Run
        One run fills a picture of two columns; several get one column each, with shared axes in each row.
    panels : sequence of callable, optional
        Which of `mvsim.plotting.PANELS` to draw.

    Returns
    -------
    matplotlib.figure.Figure
        Free of any global state of matplotlib; `save_figure` writes it to a file.

    Raises
    ------
    UsageError
        If there is no run, or more than `MOST_RUNS`, or no panel.
    """
    if not isinstance(runs, (list, tuple)):
        raise UsageError(f"runs={echo(runs)}: must be a list of runs")
    if panels is not None and (not isinstance(panels, (list, tuple)) or not panels or not all(callable(panel) for panel in panels)):
        raise UsageError(f"panels={echo(panels)}: must be a list of functions of mvsim.plotting.PANELS")
    if not runs:
        raise UsageError("runs=[]: give at least one run to draw")
    if len(runs) > MOST_RUNS:
        raise UsageError(f"{len(runs)} runs: at most {MOST_RUNS} fit side by side; draw fewer at a time")
    for run in runs:
        if not isinstance(run, Run):
            raise UsageError(f"runs: {echo(run)} is no run; read one with mvsim.open_run")
        if run.method not in OBJECTIVES:
            raise UsageError(f"{path_text(run.path or 'runs')}: method={echo(run.method)}: this version draws {', '.join(OBJECTIVES)}")
    panels = panels_of(runs) if panels is None else panels
    with styled():
        figure, grid = _one(runs[0], len(panels)) if len(runs) == 1 else _side_by_side(runs, len(panels))
        for row, panel in zip(grid, panels, strict=True):
            for axes, run in zip(row, runs, strict=True):
                panel(axes, run)
            if panel in TIME_PANELS:
                _share_time(row, runs)
            else:
                _share_square(row)
        for axes in grid[:, 1:].flat:  # the first column names what the whole row shows
            axes.set_ylabel("")
            if axes.get_legend() is not None:
                axes.get_legend().remove()
    return figure


def _one(run: Run, panels: int) -> tuple[Figure, np.ndarray]:
    """Return a figure for one run, and its axes as a column."""
    from matplotlib.figure import Figure

    rows = (panels + 1) // 2
    figure = Figure(figsize=(7.0, 0.6 + 2.5 * rows))
    figure.suptitle(f"{run_title(run)}\n{regime_text(statements(run), 110, assumption_of([run]))}", fontsize=8)
    grid = figure.subplots(rows, 2).reshape(-1, 1)
    for spare in grid[panels:].flat:
        spare.remove()
    return figure, grid[:panels]


def _side_by_side(runs: Sequence[Run], panels: int) -> tuple[Figure, np.ndarray]:
    """Return a figure with one column for each run, and its axes, one row for each panel."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(0.6 + 3.2 * len(runs), 0.6 + 2.05 * panels))
    grid = figure.subplots(panels, len(runs), sharey="row", squeeze=False)
    told = [statements(run) for run in runs]
    common = [statement for statement in told[0] if all(statement in others for others in told)]
    differing = [[statement for statement in mine if statement not in common] for mine in told]
    if common or not any(differing):
        figure.suptitle(regime_text(common, 55 * len(runs), assumption_of(runs)), fontsize=8)
    for axes, run, mine in zip(grid[0], runs, differing, strict=True):
        axes.set_title(
            f"{run_title(run)}\n{regime_text(mine, 50, assumption_of([run]))}" if mine else run_title(run), fontsize=7 if any(differing) else 9
        )
    return figure, grid


def _share_time(row: Sequence[Axes], runs: Sequence[Run]) -> None:
    """Give panels over time the same logarithmic axis; if no run has two records after time 0, there is one time to show."""
    last = max(float(run.dataset["time"][-1]) for run in runs)
    first = min((float(time) for run in runs for time in run.dataset["time"][:2] if time > 0), default=last)
    for axes in row:
        axes.set_xlabel("time $t$")
        if first < last:
            axes.set_xscale("log")
            axes.set_xlim(first, last)
        else:
            axes.set_xlim(last - 1, last + 1)
            axes.set_xticks([last])


def _share_square(row: Sequence[Axes]) -> None:
    """Give both axes of all panels the same range, from 0 if it is linear, so that the diagonal is where both are equal."""
    from math import isfinite

    from matplotlib.ticker import LogLocator, MaxNLocator

    logarithmic = row[0].get_xscale() == "log"
    ends = [value for axes in row for value in axes.dataLim.get_points().ravel() if isfinite(value) and (value > 0 or not logarithmic)]
    largest = max(ends, default=0.0) or 1.0
    limits = (0.7 * min(ends, default=0.1), 1.4 * largest) if logarithmic else (0.0, 1.05 * largest)
    for axes in row:
        axes.set(xlim=limits, ylim=limits, box_aspect=1)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(LogLocator(numticks=6) if logarithmic else MaxNLocator(5))
