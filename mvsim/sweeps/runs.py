"""The runs of a sweep, read: a table with a row for each cell, and an array with a dimension for each swept name."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from mvsim.base.echo import escaped
from mvsim.base.inputs import check_integer, check_kind
from mvsim.runs.run import Run, open_run
from mvsim.runs.simulation.options import DEFAULTS
from mvsim.sweeps.cell import Cell
from mvsim.sweeps.folder import Standing, SweepFolder
from mvsim.sweeps.measures import MEASURES, Measure, measures_of
from mvsim.sweeps.study import Axis, Study

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


Telling = Callable[[str, int, int], None]


def _say_nothing(what: str, before: int, of: int) -> None:
    """Tell nobody."""


class Runs:
    """What a sweep has made so far.

    Nothing in `table` and `dataset` depends on when, where or in which order the runs were made, or how often they were stopped.

    Parameters
    ----------
    folder : SweepFolder
        The sweep.
    tell : callable, optional
        Is told what is done, before each cell, with how many were before it and how many there are: reading hundreds of runs takes a while.

    Examples
    --------
    >>> runs = mvsim.open_runs("phase")  # doctest: +SKIP
    >>> runs.table.groupby(["method", "d"])["classes_both"].mean()  # doctest: +SKIP
    >>> runs.dataset["classes_both"].sel(method="erm").mean("seed")  # doctest: +SKIP
    >>> runs.run(0).dataset["max_correlation"]  # doctest: +SKIP
    """

    def __init__(self, folder: SweepFolder, tell: Telling | None = None) -> None:
        self.folder = folder
        self._tell: Telling = tell if tell is not None else _say_nothing

    def __repr__(self) -> str:
        return f"Runs({str(self.folder.path)!r}, {len(self.study.cells)} cells, {sum(row is not None for row in self._measured)} done)"

    @property
    def study(self) -> Study:
        """What was asked for."""
        return self.folder.study

    def run(self, index: int) -> Run:
        """Return the run of a cell, as far as it has been saved.

        Raises
        ------
        UsageError
            If there is none.
        """
        place = check_integer("index", index, 0, "(the number of a cell)", len(self.study.cells) - 1)
        return open_run(self.folder.path_of(self.study.cells[place]))

    def __iter__(self) -> Iterator[Run]:
        """Yield the runs that are done, in the order of the cells."""
        for cell, standing in zip(self.study.cells, self.standings, strict=True):
            if standing.state == "done":
                yield open_run(self.folder.path_of(cell))

    @cached_property
    def standings(self) -> tuple[Standing, ...]:
        """How each cell stood when this was first asked for."""
        return tuple(self.folder.standing(cell) for cell in self._each("checking runs"))

    @cached_property
    def table(self) -> pd.DataFrame:
        """A row for each cell: its number and state, what is swept, what was measured if it is done, and all parameters."""
        import pandas as pd

        cells = self.study.cells
        columns: dict[str, Any] = {"cell": [cell.index for cell in cells], "state": [standing.state for standing in self.standings]}
        swept = [name for axis in self.study.axes for name in axis.names]
        told = [_told(cell) for cell in cells]
        for name in dict.fromkeys([*swept, "method", "k", "seed"]):
            columns[name] = _column([row.get(name) for row in told])
        for name, measure in self.measures.items():
            values = [None if row is None else row[name] for row in self._measured]
            columns[name] = pd.array([pd.NA if value is None else value for value in values], dtype=_extension(measure.dtype))
        for name in dict.fromkeys(name for row in told for name in row):
            columns.setdefault(name, _column([row.get(name) for row in told]))
        columns["file"] = [cell.file for cell in cells]
        columns["message"] = [escaped(standing.message) for standing in self.standings]
        return pd.DataFrame(columns)

    @cached_property
    def dataset(self) -> xr.Dataset:
        """What was measured, with one dimension for each swept name; names with values side by side share the dimension of the first.

        Counts are floats too, and NaN where a cell is not done. Where a name means nothing for a run, as a mixing law for ERM, the run stands at each
        of its values.
        """
        import xarray as xr

        axes = self.study.axes
        shape = tuple(len(axis.values) for axis in axes)
        dims = tuple(axis.label for axis in axes)
        coords = {name: (axis.label, _coordinate(axis, place)) for axis in axes for place, name in enumerate(axis.names)}
        indices = np.array([cell.index for _, cell in self.study.places()], dtype=np.int64).reshape(shape)
        arrays: dict[str, Any] = {"cell": (dims, indices, {"long_name": "number of the cell"})}
        states = np.array([standing.state for standing in self.standings], dtype=object)
        arrays["state"] = (dims, states[indices], {"long_name": "how the cell stands"})
        for name, measure in self.measures.items():
            values = np.array([np.nan if row is None or row[name] is None else float(row[name]) for row in self._measured])
            arrays[name] = (dims, values[indices], {"long_name": measure.meaning})
        files = np.array([cell.file for cell in self.study.cells], dtype=object)
        arrays["file"] = (dims, files[indices], {"long_name": "run file"})
        return xr.Dataset(arrays, coords)

    @cached_property
    def measures(self) -> dict[str, Measure]:
        """The measured columns."""
        names = {name for cell in self.study.cells for name in measures_of(cell.parameters)}
        return {name: measure for name, measure in MEASURES.items() if name in names}

    def _each(self, what: str) -> Iterator[Cell]:
        """Yield the cells, and tell what is done with them."""
        for place, cell in enumerate(self.study.cells):
            self._tell(what, place, len(self.study.cells))
            yield cell

    @cached_property
    def _measured(self) -> list[Mapping[str, Any] | None]:
        """What was measured of each cell, None where it is not done."""
        rows: list[Mapping[str, Any] | None] = []
        for cell, standing in zip(self._each("reading runs"), self.standings, strict=True):
            if standing.state != "done":
                rows.append(None)
                continue
            run = open_run(self.folder.path_of(cell))
            mine = measures_of(cell.parameters)
            rows.append({name: mine[name].of(run) if name in mine else None for name in self.measures})
        return rows


def open_runs(path: str | os.PathLike[str], tell: Telling | None = None) -> Runs:
    """Read the runs of a sweep.

    Parameters
    ----------
    path : path
        Its folder; runs may still be added to it.
    tell : callable, optional
        See `Runs`.

    Returns
    -------
    Runs

    Raises
    ------
    UsageError
        If there is no sweep in the folder.
    """
    check_kind("tell", tell, Callable | None, "a function or None")
    return Runs(SweepFolder.open(path), tell)


def _told(cell: Cell) -> dict[str, Any]:
    """Return all that says which run it is: parameters and options, the latter as given or by default; laws as JSON text."""
    fields = cell.parameters.model_dump(mode="json")
    options = {"method": cell.method, "seed": cell.seed, "integrator": DEFAULTS.integrator, **cell.options}
    derived = {"r0": cell.swept.get("r0", cell.parameters.r0)}
    return {name: json.dumps(value) if isinstance(value, dict | list) else value for name, value in {**fields, **derived, **options}.items()}


def _column(values: list[Any]) -> Any:
    """Return a column that keeps integers as such where some are missing, and those that no machine integer holds."""
    import pandas as pd

    present = [value for value in values if value is not None]
    if all(isinstance(value, int) and not isinstance(value, bool) for value in present):
        if all(-(2**63) <= value < 2**63 for value in present):
            return pd.array([pd.NA if value is None else value for value in values], dtype="Int64")
        return pd.Series(values, dtype=object)
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in present):
        return pd.array([pd.NA if value is None else float(value) for value in values], dtype="Float64")
    return pd.Series(values, dtype=object)


def _extension(dtype: str) -> str:
    return "Float64" if dtype == "float64" else dtype


def _coordinate(axis: Axis, place: int) -> np.ndarray:
    """Return the values of one name along its dimension: numbers, or text."""
    values = [value[place] for value in axis.values]
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        whole = all(isinstance(value, int) and -(2**63) <= value < 2**63 for value in values)
        return np.array(values, dtype=np.int64 if whole else np.float64)
    return np.array([value if isinstance(value, str) else json.dumps(value) for value in values], dtype=object)
