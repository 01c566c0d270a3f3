"""The picture of a sweep: fractions of classes by what they have learned, along one swept number or over two."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mvsim.base.errors import UsageError
from mvsim.pictures.labels import FEATURES, KEPT, method_name
from mvsim.pictures.style import MARK, OUTCOMES, styled
from mvsim.pictures.sweep_counts import SAME, Case, Column, Counts, axes_of, columns_of, counts_at, letter_of, numbers_of, outcomes_of, words_for
from mvsim.sweeps.runs import SweepRuns
from mvsim.sweeps.study import Axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

MOST_PANELS = 24
"""Panels of a picture that can still be looked at."""

LOG_FROM = 20.0
"""An axis is logarithmic if its values span this factor."""

MOST_TICKS = 8
"""Values of an axis that all have a tick."""

ABOUT = {"erm": "one", "midpoint": "both"}
"""What the theorem of a method is about: how many features its classes learn."""

FIELD_WIDTH, FIELD_HEIGHT = 0.44, 0.33
"""Inches of a field of a map, in which a number and its interval of 7 points have room."""

MEANINGS = {"k": "$k$, number of classes", "d": "$d$, dimension of a patch", "r0": "$r_0$, initial size over threshold", "N": "$N$, training points"}

MARKERS = {"both": "o", "all": "o", "one": "s", "some": "s", "none": "^"}
"""Lines are told apart in greyscale too."""

PHRASES = {"both": "both", "one": "exactly one", "all": "all", "some": "some", "none": "none"}
"""What outcomes are called beside the words "features learned"."""


class Facet(NamedTuple):
    """The values along the axes of one panel, and what was counted at each: an array over the first axis, or over the second and the first."""

    column: Column
    counts: NDArray[Any]

    def shares(self, outcome: str) -> NDArray[np.float64]:
        """Return the fractions of classes with an outcome, and the ends of their intervals along the last axis."""
        values = [one.interval(outcome) for one in self.counts.flat]
        return np.array(values, dtype=np.float64).reshape(*self.counts.shape, 3)


def sweep_figure(runs: SweepRuns) -> Figure:
    """Draw the fractions of classes with both features, exactly one, and none learned (Definition 4.5), over what is swept.

    Along one swept number they are lines, over two they are maps with a number in each field; both with Clopper-Pearson intervals over classes
    clustered by seed. Every value of anything else that is swept, as the method, has panels of its own; seeds are taken together. Runs that had not
    settled are counted like the others, and marked.
    """
    if not any(standing.state == "done" for standing in runs.standings):
        raise UsageError(f"{runs.folder.path}: no cell is done; make the runs with `mvsim sweep` first")
    axes = axes_of(runs)
    numbers = numbers_of(runs, axes)
    columns = columns_of(runs, [axis for axis in axes if axis not in numbers])
    outcomes = outcomes_of(runs)
    maps = len(numbers) == 2
    if len(columns) * (len(outcomes) if maps else 1) > MOST_PANELS:
        names = ", ".join(axis.label for axis in axes if axis not in numbers)
        count = len(columns) * (len(outcomes) if maps else 1)
        raise UsageError(f"{count} panels for the values of {names}: at most {MOST_PANELS} can be looked at; draw smaller sweeps")
    facets = [Facet(column, _counted(runs, numbers, column)) for column in columns]
    with styled():
        figure = _maps(facets, numbers, outcomes) if maps else _all_lines(facets, numbers, _occurring(facets, outcomes))
        width = figure.get_figwidth()
        figure.suptitle(textwrap.fill(_message(runs, facets, numbers, outcomes), int(15 * width)), fontsize=9, x=0.01, ha="left")
        figure.supxlabel(textwrap.fill(_caption(runs, facets, maps), int(21 * width)), fontsize=6, x=0.01, ha="left", color=MARK)
    return figure


def _counted(runs: SweepRuns, numbers: Sequence[Axis], column: Column) -> NDArray[Any]:
    """Return what is counted at each place along some axes: the last of them is the first index."""
    shape = tuple(len(axis.values) for axis in reversed(numbers))
    counts = np.empty(shape, dtype=object)
    for place in np.ndindex(shape):
        along = [Case(axis, index) for axis, index in zip(numbers, reversed(place), strict=True)]
        counts[place] = counts_at(runs, [*column.cases, *along])
    return counts


def _occurring(facets: Sequence[Facet], outcomes: Sequence[str]) -> list[str]:
    return [outcome for outcome in outcomes if any(np.nansum(facet.shares(outcome)[..., 0]) > 0.0 for facet in facets)]


def _all_lines(facets: Sequence[Facet], numbers: Sequence[Axis], outcomes: Sequence[str]) -> Figure:
    """Draw a panel of lines for each column; without a swept number, of points."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=((1.6 if numbers else 0.6) + 2.6 * len(facets), 3.1))
    grid = figure.subplots(1, len(facets), sharex=True, sharey=True, squeeze=False)[0]
    for axes, facet in zip(grid, facets, strict=True):
        _lines(axes, facet, numbers[0] if numbers else None, outcomes)
        axes.set_title(facet.column.words)
    grid[0].set_ylabel("fraction of classes")
    if numbers:
        figure.legend(*grid[0].get_legend_handles_labels(), loc="outside right center", title="features\nlearned", title_fontsize=7)
    return figure


def _lines(axes: Axes, facet: Facet, axis: Axis | None, outcomes: Sequence[str]) -> None:
    counts: list[Counts] = list(facet.counts.flat)
    x = np.array([float(value[0]) for value in axis.values]) if axis is not None else np.zeros(1)
    for shift, outcome in zip(np.linspace(-1.0, 1.0, len(outcomes)), outcomes, strict=True):
        values = facet.shares(outcome).reshape(-1, 3)
        bars = np.abs(values[:, 1:] - values[:, :1]).T
        shown = _shifted(x, 0.012 * shift) if axis is not None else x + shift  # bars that would hide each other stand side by side
        colour = OUTCOMES[outcome]
        marker: dict[str, Any] = {"color": colour, "marker": MARKERS[outcome], "markersize": 3.5}
        axes.errorbar(shown, values[:, 0], bars, elinewidth=0.9, capsize=0, label=PHRASES[outcome], **marker)
        hollow = np.array([one.unsettled > 0 for one in counts])
        axes.plot(shown[hollow], values[hollow, 0], linestyle="none", markerfacecolor="white", zorder=3, **marker)
    axes.set_ylim(-0.04, 1.04)
    if axis is None:
        axes.set_xticks(np.linspace(-1.0, 1.0, len(outcomes)), [PHRASES[outcome] for outcome in outcomes])
        axes.set_xlim(-1.5, 1.5)
        axes.set_xlabel("features learned")
        return
    axes.set_xlabel(_axis_label(axis))
    if _is_logarithmic(x):
        axes.set_xscale("log")
    if len(x) <= MOST_TICKS:
        axes.set_xticks(x, [f"{value:g}" for value in x])
        axes.minorticks_off()


def _maps(facets: Sequence[Facet], numbers: Sequence[Axis], outcomes: Sequence[str]) -> Figure:
    """Draw a map for each column and each outcome that occurs."""
    from matplotlib.figure import Figure

    across, up = numbers
    shown = _occurring(facets, outcomes)
    width, height = max(2.5, FIELD_WIDTH * len(across.values)), max(1.5, FIELD_HEIGHT * len(up.values))
    figure = Figure(figsize=(1.1 + width * len(facets), 1.1 + (height + 0.2) * len(shown)))
    grid = figure.subplots(len(shown), len(facets), sharex=True, sharey=True, squeeze=False)
    for row, outcome in zip(grid, shown, strict=True):
        for axes, facet in zip(row, facets, strict=True):
            image = _map(axes, facet, numbers, outcome)
        row[0].set_ylabel(_axis_label(up))
        figure.colorbar(image, ax=list(row), label=f"% with {PHRASES[outcome]} learned")
    for axes, facet in zip(grid[0], facets, strict=True):
        axes.set_title(facet.column.words)
    for axes in grid[-1]:
        axes.set_xlabel(_axis_label(across))
    return figure


def _map(axes: Axes, facet: Facet, numbers: Sequence[Axis], outcome: str) -> Any:
    """Draw the fraction of classes with an outcome over two swept numbers, each field with its value and interval in per cent."""
    across, up = numbers
    per_cent = 100.0 * facet.shares(outcome)
    colours = _colours(outcome)
    image = axes.imshow(np.ma.masked_invalid(per_cent[..., 0]), origin="lower", aspect="auto", cmap=colours, vmin=0.0, vmax=100.0)
    for (j, i), counts in np.ndenumerate(facet.counts):
        share, low, high = per_cent[j, i]
        if math.isnan(share):  # no run is done
            axes.fill_between([i - 0.5, i + 0.5], j - 0.5, j + 0.5, facecolor="white", edgecolor="#BBBBBB", hatch="////", linewidth=0.0)
            continue
        words = f"{share:.0f}{'*' if counts.unsettled else ''}\n{low:.0f}\N{EN DASH}{high:.0f}"
        axes.text(i, j, words, ha="center", va="center", fontsize=7, linespacing=1.0, color=_ink(colours(share / 100.0)))
    axes.set_xticks(range(len(across.values)), [f"{value[0]:g}" for value in across.values])
    axes.set_yticks(range(len(up.values)), [f"{value[0]:g}" for value in up.values])
    axes.set(xlim=(-0.5, len(across.values) - 0.5), ylim=(-0.5, len(up.values) - 0.5))
    return image


def _colours(outcome: str) -> Colormap:
    """Return colours from white, of no class, to that of an outcome in all pictures, of every class."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list(outcome, ["white", OUTCOMES[outcome]])


def _ink(colour: Sequence[float]) -> str:
    """Return black or white, whichever is easier to read on a colour (red, green, blue from 0 to 1): by its luminance."""
    red, green, blue = colour[:3]
    return "black" if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.5 else "white"


def _message(runs: SweepRuns, facets: Sequence[Facet], numbers: Sequence[Axis], outcomes: Sequence[str]) -> str:
    """Say what came out: of each method the range of the fraction of classes that learned what its theorem is about, or else most."""
    groups: dict[tuple[str, str], list[NDArray[np.float64]]] = {}
    for facet in facets:
        methods = _methods(runs, facet.column)
        about = ABOUT.get(methods[0], outcomes[0]) if len(methods) == 1 else outcomes[0]
        outcome = about if about in outcomes else SAME[about]
        name = " and ".join(method_name(one) for one in methods)
        groups.setdefault((name, outcome), []).append(100.0 * facet.shares(outcome)[..., 0].ravel())
    phrases = []
    for (name, outcome), shares in groups.items():
        values = np.concatenate(shares)
        if not np.isnan(values).all():
            part = _range(values)
            phrases.append(f"{name} learns {FEATURES[outcome]} in {part} % of the classes{_everywhere(numbers) if part.isdigit() else ''}")
    return f"{'; '.join(phrases)} ({_seeds(runs)})" if phrases else ""


def _seeds(runs: SweepRuns) -> str:
    """Say how many seeds there are at each place; of seeds that go beside something else, that they differ."""
    seeds = len(runs.study.values.get("seed", (0,)))
    beside = any("seed" in group for group in runs.study.zips)  # then not every place has them all
    return "one seed" if seeds == 1 else "several seeds" if beside else f"{seeds} seeds"


def _methods(runs: SweepRuns, column: Column) -> list[str]:
    named = {name: value for case in column.cases for name, value in zip(case.axis.names, case.axis.values[case.place], strict=True)}
    return [str(named["method"])] if "method" in named else list(dict.fromkeys(cell.method for cell in runs.study.cells))


def _everywhere(numbers: Sequence[Axis]) -> str:
    """Say that something is so at all values of what is swept."""
    if len(numbers) != 1 or len(numbers[0].values) == 1:
        return ""
    return f", at {'both' if len(numbers[0].values) == 2 else 'all'}{KEPT}{letter_of(numbers[0].label)}"


def _range(values: NDArray[np.float64]) -> str:
    """Return the least and the largest of some values, once if they are the same; NaN is none."""
    return " to ".join(dict.fromkeys(f"{value:.0f}" for value in (np.nanmin(values), np.nanmax(values))))


def _caption(runs: SweepRuns, facets: Sequence[Facet], maps: bool) -> str:
    """Say what is common to all panels, and what is missing."""
    left = sum(standing.state != "done" for standing in runs.standings)
    unsettled = sum(counts.unsettled for facet in facets for counts in facet.counts.flat)
    fixed = [words_for(name, values[0]) for name, values in runs.study.values.items() if len(values) == 1 and name != "seed"]
    what = "Below each number its 95 % interval" if maps else "Bars: 95 % intervals"
    parts = [f"{what} ({_seeds(runs)}); intervals allow for classes of one seed being dependent", *fixed]
    parts += [f"runs that had not settled went on to t = {runs.folder.until:g}"] if runs.folder.until is not None else []
    parts += [f"{left} of {len(runs.standings)} cells not done" + (" (hatched where no run is)" if maps else "")] if left else []
    parts += [f"{unsettled} {'run' if unsettled == 1 else 'runs'} had not settled ({'*' if maps else 'hollow'})"] if unsettled else []
    return "; ".join(parts)


def _axis_label(axis: Axis) -> str:
    first = MEANINGS.get(axis.label, letter_of(axis.label))
    return first if len(axis.names) == 1 else f"{first} (and {', '.join(letter_of(name) for name in axis.names[1:])})"


def _is_logarithmic(x: NDArray[np.float64]) -> bool:
    return bool(x.min() > 0.0 and x.max() / x.min() >= LOG_FROM)


def _shifted(x: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    if _is_logarithmic(x):
        return np.asarray(x * (x.max() / x.min()) ** share)
    return np.asarray(x + share * (x.max() - x.min()))
