"""The picture of a sweep: fractions of classes by what they have learned, along one swept number or over two."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mvsim.errors import UsageError
from mvsim.plotting.labels import METHOD_NAMES
from mvsim.plotting.style import OUTCOMES, styled
from mvsim.sweep.intervals import clustered_interval
from mvsim.sweep.measures import CLASSES
from mvsim.sweep.runs import Runs
from mvsim.sweep.study import Axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PANELS = 24
"""Panels of a picture that can still be looked at."""

LOG_FROM = 20.0
"""An axis is logarithmic if its values span this factor."""

LETTERS = {"alpha": r"$\alpha$", "rho": r"$\rho$", "r0": r"$r_0$", "eta": r"$\eta$", **{f"delta{i}": rf"$\delta_{i}$" for i in range(1, 5)}}
MEANINGS = {"k": "$k$, number of classes", "d": "$d$, dimension of a patch", "r0": "$r_0$, initial size over threshold", "N": "$N$, training points"}


class Case(NamedTuple):
    """The values of one swept name or several that go side by side."""

    axis: Axis
    place: int

    @property
    def words(self) -> str:
        """The values, for a title."""
        return ", ".join(_words(name, value) for name, value in zip(self.axis.names, self.axis.values[self.place], strict=True))


class Counts(NamedTuple):
    """Classes of each run, by what they have learned, and all of them."""

    of: dict[str, NDArray[np.int64]]
    classes: NDArray[np.int64]

    def interval(self, outcome: str) -> tuple[float, float, float]:
        """Return the fraction of classes with an outcome, and its interval over seeds; NaN if there is no run."""
        return clustered_interval(self.of[outcome].tolist(), self.classes.tolist()) if len(self.classes) else (math.nan,) * 3


def sweep_figure(runs: Runs) -> Figure:
    """Draw the fractions of classes with both features, exactly one, and none learned (Definition 4.5), over what is swept.

    Along one swept number they are lines, with Clopper-Pearson intervals over classes clustered by seed; over two they are heat maps. Every value of
    anything else that is swept, as the method, has panels of its own; seeds are taken together.

    Parameters
    ----------
    runs : Runs
        A sweep; cells that are not done are left out.

    Returns
    -------
    matplotlib.figure.Figure
        Free of any global state of matplotlib; `save_figure` writes it to a file.

    Raises
    ------
    UsageError
        If no cell is done, or there are more than `MOST_PANELS` panels.
    """
    if not any(standing.state == "done" for standing in runs.standings):
        raise UsageError(f"{runs.folder.path}: no cell is done; make the runs with `mvsim sweep` first")
    axes = [axis for axis in runs.study.axes if "seed" not in axis.names]
    numbers = sorted((axis for axis in axes if _is_number(axis)), key=lambda axis: (axis.label != "k", -len(axis.values)))[:2]
    cases = [[Case(axis, place) for place in range(len(axis.values))] for axis in axes if axis not in numbers]
    columns = list(product(*cases))
    outcomes = _outcomes(runs)
    rows = outcomes if len(numbers) == 2 else [""]
    if len(columns) * len(rows) > MOST_PANELS:
        names = ", ".join(axis.label for axis in axes if axis not in numbers)
        raise UsageError(f"{len(columns) * len(rows)} panels for the values of {names}: at most {MOST_PANELS} can be looked at; draw smaller sweeps")
    with styled():
        figure, grid = _grid(len(rows), len(columns), numbers)
        for place, column in enumerate(columns):
            for row, outcome in enumerate(rows):
                panel = grid[row, place]
                if len(numbers) == 2:
                    image = _heat_map(panel, runs, numbers, column, outcome)
                    panel.set_xlabel(_axis_label(numbers[0]) if row == len(rows) - 1 else "")
                    if place == 0:
                        panel.set_ylabel(_axis_label(numbers[1]))
                else:
                    _lines(panel, runs, numbers[0] if numbers else None, column, outcomes)
            title = ", ".join(case.words for case in column)
            if title:
                grid[0, place].set_title(title)
        if len(numbers) == 2:
            for row, outcome in enumerate(rows):
                figure.colorbar(image, ax=list(grid[row]), label=f"classes with {_phrase(outcome)} learned")
        else:
            grid[0, 0].set_ylabel("fraction of classes")
            if numbers:
                figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside right center", title="features\nlearned", title_fontsize=7)
        caption = _caption(runs, "Shares" if len(numbers) == 2 else "Bars: 95 % intervals")
        figure.suptitle(textwrap.fill(caption, int(16 * figure.get_figwidth())), fontsize=8)
    return figure


def _grid(rows: int, columns: int, numbers: Sequence[Axis]) -> tuple[Figure, np.ndarray]:
    from matplotlib.figure import Figure

    size = (1.1 + 2.5 * columns, 0.6 + 2.1 * rows) if len(numbers) == 2 else (1.6 + 2.6 * columns, 2.9)
    figure = Figure(figsize=size)
    return figure, figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)


def _lines(panel: Axes, runs: Runs, axis: Axis | None, column: Sequence[Case], outcomes: Sequence[str]) -> None:
    """Draw the fractions of all outcomes along one swept number."""
    places = range(len(axis.values)) if axis is not None else range(1)
    counts = [_counts(runs, [*column, *([Case(axis, place)] if axis is not None else [])]) for place in places]
    x = np.array([float(axis.values[place][0]) for place in places]) if axis is not None else np.zeros(1)
    for shift, outcome in zip(np.linspace(-1.0, 1.0, len(outcomes)), outcomes, strict=True):
        values = np.array([one.interval(outcome) for one in counts])
        bars = np.abs(values[:, 1:] - values[:, :1]).T
        shown = _shifted(x, 0.006 * shift) if axis is not None else x + shift  # bars that would hide each other stand side by side
        colour = "#888888" if outcome == "none" else OUTCOMES[outcome]
        panel.errorbar(shown, values[:, 0], bars, color=colour, marker="o", markersize=3.5, elinewidth=0.9, capsize=2, label=_phrase(outcome))
    panel.set_ylim(-0.04, 1.04)
    if axis is None:
        panel.set_xticks(np.linspace(-1.0, 1.0, len(outcomes)), [_phrase(outcome) for outcome in outcomes])
        panel.set_xlim(-1.5, 1.5)
        panel.set_xlabel("features learned")
        return
    panel.set_xlabel(_axis_label(axis))
    if _is_logarithmic(x):
        panel.set_xscale("log")
    elif len(x) <= 8:
        panel.set_xticks(x)


def _heat_map(panel: Axes, runs: Runs, numbers: Sequence[Axis], column: Sequence[Case], outcome: str) -> Any:
    """Draw the fraction of classes with an outcome over two swept numbers, each cell with its value."""
    across, up = numbers
    places = ((Case(across, i), Case(up, j)) for j in range(len(up.values)) for i in range(len(across.values)))
    fractions = [_counts(runs, [*column, *place]).interval(outcome)[0] for place in places]
    shares = np.array(fractions).reshape(len(up.values), len(across.values))
    panel.set_facecolor("#F0F0F0")  # of cells that are not done
    image = panel.imshow(np.ma.masked_invalid(shares), origin="lower", aspect="auto", cmap="cividis", vmin=0.0, vmax=1.0)
    for (j, i), share in np.ndenumerate(shares):
        text, colour = ("", "black") if math.isnan(share) else (f"{share:.2f}".removeprefix("0") if 0 < share < 1 else f"{share:g}", _ink(share))
        panel.text(i, j, text, ha="center", va="center", fontsize=7, color=colour)
    panel.set_xticks(range(len(across.values)), [f"{value[0]:g}" for value in across.values])
    panel.set_yticks(range(len(up.values)), [f"{value[0]:g}" for value in up.values])
    return image


def _ink(share: float) -> str:
    """Return the colour in which a number can be read on the colour of its share."""
    return "white" if share < 0.55 else "black"


def _counts(runs: Runs, cases: Sequence[Case]) -> Counts:
    """Return the classes of all runs that are done and have some values."""
    chosen = runs.dataset.isel({case.axis.label: case.place for case in cases})
    cells = {int(index): runs.study.cells[int(index)] for index in chosen["cell"].to_numpy().ravel()}
    rows = [row for index in sorted(cells) if (row := runs.table.iloc[index])["state"] == "done"]
    of = {name: np.array([int(row[f"{CLASSES}{name}"]) for row in rows], dtype=np.int64) for name in _outcomes(runs)}
    return Counts(of, np.array([runs.study.cells[int(row["cell"])].parameters.k for row in rows], dtype=np.int64))


def _outcomes(runs: Runs) -> list[str]:
    """Return what a class can have learned, from all to none."""
    return [name.removeprefix(CLASSES) for name in runs.measures if name.startswith(CLASSES)]


def _phrase(outcome: str) -> str:
    return {"both": "both", "one": "exactly one", "all": "all", "some": "some", "none": "none"}[outcome]


def _caption(runs: Runs, what: str) -> str:
    """Say what is common to all panels."""
    done = sum(standing.state == "done" for standing in runs.standings)
    seeds = len(runs.study.values.get("seed", (0,)))
    fixed = [_words(name, values[0]) for name, values in runs.study.values.items() if len(values) == 1 and name != "seed"]
    first = f"{what} over classes clustered by {seeds} seeds" if seeds > 1 else f"{what} over classes of one seed"
    missing = f"; {len(runs.standings) - done} of {len(runs.standings)} cells not done" if done < len(runs.standings) else ""
    return "; ".join([first + missing, *fixed])


def _words(name: str, value: Any) -> str:
    if name == "method":
        return METHOD_NAMES.get(value, str(value))
    if name == "mixing" and isinstance(value, dict) and "distribution" in value:
        return f"mixing {value['distribution']}({', '.join(f'{one:g}' for one in value.get('args', ()))})"
    text = f"{value:g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value).replace("$", r"\$")
    return f"{_letter(name)} = {text}"


def _letter(name: str) -> str:
    return LETTERS.get(name, f"${name}$" if len(name) == 1 else name.replace("_", " "))


def _axis_label(axis: Axis) -> str:
    first = MEANINGS.get(axis.label, _letter(axis.label))
    return first if len(axis.names) == 1 else f"{first} (and {', '.join(_letter(name) for name in axis.names[1:])})"


def _is_number(axis: Axis) -> bool:
    return all(isinstance(value[0], int | float) and not isinstance(value[0], bool) for value in axis.values)


def _is_logarithmic(x: NDArray[np.float64]) -> bool:
    return bool(x.min() > 0.0 and x.max() / x.min() >= LOG_FROM)


def _shifted(x: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    """Return values moved by a share of the width of the axis."""
    if _is_logarithmic(x):
        return np.asarray(x * (x.max() / x.min()) ** share)
    return np.asarray(x + share * (x.max() - x.min()))
