"""What a picture of a sweep counts: classes by what they have learned, in the runs that share their swept values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mvsim.numerics.intervals import clustered_interval
from mvsim.pictures.labels import method_name
from mvsim.pictures.style import OUTCOMES
from mvsim.sweeps.measures import CLASSES
from mvsim.sweeps.runs import SweepRuns
from mvsim.sweeps.study import Axis
from mvsim.sweeps.values import Value

if TYPE_CHECKING:
    import pandas as pd

LETTERS = {"alpha": r"$\alpha$", "rho": r"$\rho$", "r0": r"$r_0$", "eta": r"$\eta$", **{f"delta{i}": rf"$\delta_{i}$" for i in range(1, 5)}}


SAME = {"both": "all", "one": "some"}
"""What outcomes of two views are called among those of any number of views."""


class Case(NamedTuple):
    """The values of one swept name or several that go side by side."""

    axis: Axis
    place: int


class Column(NamedTuple):
    """Cases that have a panel of their own, and in words what tells their runs from those of other panels."""

    cases: tuple[Case, ...]
    words: str


class Counts(NamedTuple):
    """Classes of each run, by what they have learned, and all of them; and how many of the runs had not settled."""

    of: dict[str, NDArray[np.int64]]
    classes: NDArray[np.int64]
    unsettled: int

    def interval(self, outcome: str) -> tuple[float, float, float]:
        """Return the fraction of classes with an outcome, and its interval over seeds; NaN if there is no run."""
        return clustered_interval(self.of[outcome].tolist(), self.classes.tolist()) if len(self.classes) else (math.nan,) * 3


def axes_of(runs: SweepRuns) -> list[Axis]:
    """Return what a picture shows of what is swept, which is all but seeds; of values that go side by side with seeds each once."""
    shown = []
    for axis in runs.study.axes:
        names = tuple(name for name in axis.names if name != "seed")
        if names:
            shown.append(Axis(names, tuple(_each_once(value[: len(names)] for value in axis.values))))  # the seed is the last name
    return shown


def numbers_of(runs: SweepRuns, axes: Sequence[Axis]) -> list[Axis]:
    """Return the swept numbers along which fractions are drawn, at most two: k first, then those with the most values.

    A number that means nothing for some of the runs, as the law of lambda for ERM, is not among them: it tells panels apart.
    """
    swept = [cell.swept.keys() for cell in runs.study.cells]
    numbers = [axis for axis in axes if is_number(axis) and all(axis.label in names for names in swept)]
    return sorted(numbers, key=lambda axis: (axis.label != "k", -len(axis.values)))[:2]


def columns_of(runs: SweepRuns, axes: Sequence[Axis]) -> list[Column]:
    """Return the combinations of values along some axes; those that the same runs stand at, because a value means nothing for them, once."""
    columns: dict[tuple[int, ...], Column] = {}
    for cases in product(*([Case(axis, place) for place in range(len(axis.values))] for axis in axes)):
        cells = _cells_at(runs, cases)
        swept = runs.study.cells[cells[0]].swept
        named = [(name, value) for case in cases for name, value in zip(case.axis.names, case.axis.values[case.place], strict=True) if name in swept]
        columns.setdefault(cells, Column(cases, ", ".join(words_for(name, value) for name, value in named)))
    return list(columns.values())


def counts_at(runs: SweepRuns, cases: Sequence[Case]) -> Counts:
    """Return the classes of all runs that are done and have some values."""
    rows = [row for index in _cells_at(runs, cases) if (row := runs.table.iloc[index])["state"] == "done"]
    of = {name: np.array([_count(row, name) for row in rows], dtype=np.int64) for name in outcomes_of(runs)}
    classes = np.array([runs.study.cells[int(row["cell"])].parameters.k for row in rows], dtype=np.int64)
    return Counts(of, classes, sum(not row["settled"] for row in rows))


def outcomes_of(runs: SweepRuns) -> list[str]:
    """Return what a class can have learned, from all to none; where runs have different numbers of views, under the names for any number."""
    names = {name.removeprefix(CLASSES) for name in runs.measures if name.startswith(CLASSES)}
    if {"both", "all"} <= names:
        names = {SAME.get(name, name) for name in names}
    return [name for name in OUTCOMES if name in names]


def _count(row: pd.Series, outcome: str) -> int:
    """Return how many classes of a run have an outcome, whatever its name is for their number of views; none if there is no such outcome for them."""
    names = [outcome, *(name for name, same in SAME.items() if same == outcome)]
    return int(row.reindex([f"{CLASSES}{name}" for name in names]).dropna().sum())


def is_number(axis: Axis) -> bool:
    """Whether the first name of an axis has numbers for values."""
    return all(isinstance(value[0], int | float) and not isinstance(value[0], bool) for value in axis.values)


def words_for(name: str, value: Any) -> str:
    """Return a value with its name, for a title."""
    if name == "method":
        return method_name(str(value))
    if name == "mixing" and isinstance(value, dict) and "distribution" in value:
        return f"mixing {value['distribution']}({', '.join(f'{one:g}' for one in value.get('args', ()))})"
    text = f"{value:g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value).replace("$", r"\$")
    return f"{letter_of(name)} = {text}"


def letter_of(name: str) -> str:
    """Return a name as mathematics has it."""
    return LETTERS.get(name, f"${name}$" if len(name) == 1 else name.replace("_", " "))


def _cells_at(runs: SweepRuns, cases: Sequence[Case]) -> tuple[int, ...]:
    """Return the numbers of the cells that have some values, each once."""
    axes = {axis.label: axis for axis in runs.study.axes}
    chosen = runs.dataset["cell"].isel({case.axis.label: _places(axes[case.axis.label], case) for case in cases})
    return tuple(sorted({int(index) for index in chosen.to_numpy().ravel()}))


def _places(axis: Axis, case: Case) -> list[int]:
    """Return where the values of a case stand along an axis of the study, which may have the seed too."""
    values = case.axis.values[case.place]
    return [place for place, value in enumerate(axis.values) if value[: len(values)] == values]


def _each_once(values: Iterable[tuple[Value, ...]]) -> list[tuple[Value, ...]]:
    distinct: list[tuple[Value, ...]] = []
    for value in values:
        if value not in distinct:
            distinct.append(value)
    return distinct
