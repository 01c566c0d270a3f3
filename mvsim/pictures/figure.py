"""The picture of one run, or of several side by side on the same axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mvsim.base.errors import UsageError
from mvsim.base.inputs import check_kind
from mvsim.pictures.labels import check_title, ending, footnote, headline, plain, titles, wrapped
from mvsim.pictures.panel import Limits, Panel, mark_end
from mvsim.pictures.panels import check_panels, panels_of
from mvsim.pictures.shown import Shown, shown_of
from mvsim.pictures.style import MARK, styled
from mvsim.runs.run import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

MOST_RUNS = 16
"""Columns of a picture that can still be looked at."""

MOST_SQUARES = 4
"""Square panels that fit beside each other on a page."""

TITLE_PAD, CAPTION_GAP = 6.0, 3.0
"""Points between a panel and the title of its column, and between that title and what the panel writes above itself."""

PAGE, COLUMN = 6.8, 3.3
"""Widths in inches of a page and of one of its two columns; several runs get more than a page only if they need it."""


def run_figure(
    runs: Sequence[Run],
    panels: Sequence[Panel | str] | None = None,
    classes: Sequence[int] | None = None,
    title: str | None = None,
) -> Figure:
    """Draw what happened in one run, or in several side by side.

    By default: correlations, loss and learned classes over time, the two total correlations of every class at the end, and when neurons entered B; of
    linear models, whose neurons have no threshold, the gap between the two over time. What would be empty is left out.
    """
    check_kind("runs", runs, (list, tuple), "a list of runs")
    drawn = None if panels is None else check_panels(panels)
    if not runs:
        raise UsageError("runs=[]: give at least one run to draw")
    if len(runs) > MOST_RUNS:
        raise UsageError(f"{len(runs)} runs: at most {MOST_RUNS} fit side by side; draw fewer at a time")
    shown = shown_of(runs, classes)
    check_title(title)
    with styled():
        return _drawn(shown, drawn or panels_of(shown), title)


def _drawn(runs: Sequence[Shown], panels: Sequence[Panel], title: str | None) -> Figure:
    figure, grid = _one(panels) if len(runs) == 1 else _side_by_side(len(runs), panels)
    for row, panel in zip(grid, panels, strict=True):
        limits = panel.limits(runs)
        for axes, shown in sorted(
            zip(row, runs, strict=True), key=lambda pair: -len(pair[1].classes)
        ):  # the common axis of classes fits all from then on
            _set_limits(axes, panel, limits)
            panel.draw(axes, shown, limits)
            _set_limits(axes, panel, limits)
    _label_times([row for row, panel in zip(grid, panels, strict=True) if panel.over_time], runs)
    beside = _fit_beside(len(runs), panels)
    for row, panel in zip(grid, panels, strict=True):
        for axes in row[1:]:  # the first column names what the whole row shows
            axes.set_ylabel("")
            axes.tick_params(labelleft=beside and not panel.over_time)
    if len(runs) > 1:
        for number, panel in enumerate(panels):
            if beside and not panel.over_time:
                _label_small(grid[number])
                continue
            _label_once(figure, grid[number], "S" if not panel.over_time else "C")
    _say(figure, grid, runs, panels, title)
    return figure


def _one(panels: Sequence[Panel]) -> tuple[Figure, np.ndarray]:
    """Return a figure for one run, and its axes as a column: panels over time below each other on the left, others on the right.

    A single other one stands below several: beside them most of its side would be empty.
    """
    from mvsim.pictures.output import Picture

    sides = [side for side in ([p for p in panels if p.over_time], [p for p in panels if not p.over_time]) if side]
    if len(sides[-1]) == 1 < len(sides[0]):
        sides = [[panel for side in sides for panel in side]]
    heights = [sum(1.75 if panel.over_time else 2.4 for panel in side) for side in sides]
    figure = Picture(figsize=(COLUMN if len(sides) == 1 else PAGE, 1.3 + max(heights)))
    columns = figure.add_gridspec(1, len(sides), width_ratios=[1.25, 1.0][-len(sides) :])
    placed: dict[int, Any] = {}
    for column, side in enumerate(sides):
        places = columns[0, column].subgridspec(len(side), 1, height_ratios=[1.75 if panel.over_time else 2.4 for panel in side])
        for row, panel in enumerate(side):
            placed[id(panel)] = figure.add_subplot(places[row, 0])
    axes = np.empty((len(panels), 1), dtype=object)
    axes[:, 0] = [placed[id(panel)] for panel in panels]
    return figure, axes


def _side_by_side(columns: int, panels: Sequence[Panel]) -> tuple[Figure, np.ndarray]:
    """Return a figure with a column for each run, and its axes, a row for each panel; square panels stand beside each other, if all fit."""
    from mvsim.pictures.output import Picture

    width = max(PAGE, 0.5 + 1.9 * columns)
    squares = [panel for panel in panels if not panel.over_time]
    beside = len(squares) if _fit_beside(columns, panels) else 1
    square = min((width - 0.5) / (columns * beside) - (0.3 if beside == 1 else 0.35), 2.2)
    rows = [panel for panel in panels if beside == 1 or panel.over_time or panel is squares[0]]
    heights = [1.6 if panel.over_time else square for panel in rows]
    figure = Picture(figsize=(width, (1.6 if beside == 1 else 2.0) + sum(heights) + 0.2 * len(rows)))
    places = figure.add_gridspec(len(rows), columns * beside, height_ratios=heights)
    grid = np.empty((len(panels), columns), dtype=object)
    for number, panel in enumerate(panels):
        joined = beside > 1 and not panel.over_time
        row = rows.index(squares[0] if joined else panel)
        for column in range(columns):
            begin = column * beside + (squares.index(panel) if joined else 0)
            place = places[row, begin : begin + (1 if joined else beside)]
            grid[number, column] = figure.add_subplot(place, sharey=grid[number, 0] if column else None)
    return figure, grid


def _fit_beside(columns: int, panels: Sequence[Panel]) -> bool:
    """Whether all square panels of all runs fit into one row."""
    squares = sum(not panel.over_time for panel in panels)
    return columns > 1 and squares > 1 and columns * squares <= MOST_SQUARES


def _set_limits(axes: Axes, panel: Panel, limits: Limits) -> None:
    """Give panels over time the same logarithmic axis, and both axes of square ones the same range."""
    from matplotlib.ticker import MaxNLocator

    low, high = limits
    if not panel.over_time:
        axes.set(xlim=limits, ylim=limits, box_aspect=1)
        for axis, scale in ((axes.xaxis, axes.get_xscale()), (axes.yaxis, axes.get_yscale())):
            if scale == "log":
                _set_log_ticks(axis, limits)
            else:
                axis.set_major_locator(MaxNLocator(4))
    elif low < high:
        axes.set_xscale("log")
        axes.set_xlim(limits)
        _set_log_ticks(axes.xaxis, limits)
    else:
        axes.set_xlim(high - 1, high + 1)
        axes.set_xticks([high])


def _set_log_ticks(axis: Axis, limits: Limits) -> None:
    """Label powers of ten, few enough to have room; on an axis that has hardly any, their threefold too."""
    from math import log10

    from matplotlib.ticker import LogFormatterSciNotation, LogLocator, NullFormatter

    short = log10(limits[1] / limits[0]) < 2.0
    axis.set_major_locator(LogLocator(subs=(1.0, 3.0) if short else (1.0,), numticks=5))
    axis.set_major_formatter(LogFormatterSciNotation(labelOnlyBase=False, minor_thresholds=(np.inf, np.inf)))
    axis.set_minor_formatter(NullFormatter())


def _label_small(row: np.ndarray) -> None:
    """Break the labels of small square panels, which stand beside others."""
    from matplotlib.ticker import LogLocator

    for axes in row:
        for axis in (axes.xaxis, axes.yaxis) if axes.get_xscale() == "log" else ():
            axis.set_major_locator(LogLocator(numticks=4))
        axes.set_xlabel(axes.get_xlabel().replace("total correlation ", "total correlation\n").replace(" of escape", "\nof escape"), fontsize=7)
        axes.set_ylabel(axes.get_ylabel(), fontsize=7)
        axes.set_anchor("N")


def _label_once(figure: Figure, row: np.ndarray, anchor: str) -> None:
    """Write the label of the horizontal axes of a row once, in its middle: below axes that cannot be seen and reach from one end to the other."""
    label = row[0].get_xlabel()
    if not label:
        return
    for axes in row:
        axes.set_xlabel("")
        axes.set_anchor(anchor)
    first, last = row[0].get_subplotspec(), row[-1].get_subplotspec()
    whole = figure.add_subplot(first.get_gridspec()[first.rowspan.start, first.colspan.start : last.colspan.stop], frameon=False, zorder=-1)
    whole.set_label("row")
    whole.tick_params(color="none", labelcolor="none", labelleft=False, left=False)
    whole.set_xlabel(label)


def _label_times(rows: Sequence[np.ndarray], runs: Sequence[Shown]) -> None:
    """Label the common time axis once, below the lowest panel, and say in the highest why runs end before others do."""
    for row in rows[:-1]:
        for axes in row:
            axes.tick_params(labelbottom=False)
    for axes in rows[-1] if rows else ():
        axes.set_xlabel("time $t$")
    for number, row in enumerate(rows):
        for axes, shown in zip(row, runs, strict=True):
            mark_end(axes, shown, axes.get_xlim(), ending(shown) if number == 0 else "")


def _written_above(grid: np.ndarray) -> float:
    """Return how many points the panels at the top of a figure write above their axes, as captions and legends."""
    highest = [axes for axes in grid.flat if axes.get_subplotspec().rowspan.start == 0]  # square panels may stand beside those of the first row
    written = [(axes, artist) for axes in highest for artist in (*axes.texts, axes.get_legend()) if artist is not None]
    return max(((artist.get_window_extent().y1 - axes.bbox.y1) * 72.0 / axes.figure.dpi for axes, artist in written), default=0.0)


def _say(figure: Figure, grid: np.ndarray, runs: Sequence[Shown], panels: Sequence[Panel], title: str | None) -> None:
    width = figure.get_figwidth()
    above = headline(runs) if title is None else plain(title)
    common, own = titles(runs, above)
    text = "\n".join(wrapped(line, int(14.5 * width)) for line in (above, common) if line)
    figure.suptitle(text, fontsize=9, x=0.01, ha="left")
    if len(runs) > 1:
        pad = max(TITLE_PAD, _written_above(grid) + CAPTION_GAP)
        for axes, words in zip(grid[0], own, strict=True):
            axes.set_title(wrapped(words, int(15 * (width - 0.7) / len(runs))), fontsize=8, pad=pad)
    figure.supxlabel(footnote(runs, panels, int(21 * width)), fontsize=6, x=0.01, ha="left", color=MARK)
