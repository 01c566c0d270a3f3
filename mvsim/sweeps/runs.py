"""`mvsim.open_runs`: many runs as one table, and as one array with a dimension for each name in which they differ."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from mvsim.base.echo import echo, escaped, shortened
from mvsim.base.errors import UsageError
from mvsim.base.inputs import check_integer, check_kind
from mvsim.multi_view.parameters import Parameters
from mvsim.runs.run import Run, open_run
from mvsim.sweeps.cell import Cell
from mvsim.sweeps.folder import Standing, SweepFolder
from mvsim.sweeps.identity import following, identity_of, repeated
from mvsim.sweeps.measures import MEASURES, Measure, measures_of
from mvsim.sweeps.study import Study

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

Notice = Callable[[str, int, int], None]
"""Learns what is done, how many cells were before, and how many there are."""

Row = Mapping[str, Any]


class Runs(Sequence[Run]):
    """Runs from any files, in the order of their names.

    Parameters
    ----------
    runs : iterable of Run
        The runs, each with its file.

    Raises
    ------
    UsageError
        If there are none.

    Examples
    --------
    >>> runs = mvsim.open_runs("*.nc")  # doctest: +SKIP
    >>> runs.dataset["classes_both"].sel({"method": "erm"}).mean("seed")  # doctest: +SKIP
    """

    def __init__(self, runs: Iterable[Run]) -> None:
        self._runs = list(runs)
        if not self._runs:
            raise UsageError("runs: there are none; give the names of run files")

    def __repr__(self) -> str:
        return f"Runs({len(self)} runs; they differ in {', '.join(self.differing) or 'nothing'})"

    def __len__(self) -> int:
        return len(self._runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self._runs)

    def __getitem__(self, index: Any) -> Any:
        return self._runs[index]

    @cached_property
    def differing(self) -> tuple[str, ...]:
        """Names of the parameters and options in which the runs differ."""
        return tuple(self._columns)

    @cached_property
    def _columns(self) -> dict[str, list[Any]]:
        """The values, of each run, of the names in which the runs differ."""
        rows = [identity_of(run) for run in self._runs]
        columns = {name: [_scalar(row.get(name)) for row in rows] for name in dict.fromkeys(name for row in rows for name in row)}
        return {name: column for name, column in columns.items() if len(set(column)) > 1}

    @cached_property
    def table(self) -> pd.DataFrame:
        """A row for each run: in what the runs differ, how it ended, what was measured, and the file."""
        import pandas as pd

        return pd.DataFrame({**self._columns, "status": [run.status for run in self], **self._measured_columns, "file": self._files})

    @cached_property
    def dataset(self) -> xr.Dataset:
        """What was measured at the end of each run, with a dimension for each name in which the runs differ; NaN where there is no such run.

        What follows from other names, as the default d and N from k, is a coordinate along these. Counts are floats too. ``file`` is empty where
        there is no run.

        Raises
        ------
        UsageError
            If two runs are the same, so that they would stand at one place.
        """
        followed = following(self._columns)
        axes = {name: _sorted(column) for name, column in self._columns.items() if name not in followed}
        indices = np.full(tuple(map(len, axes.values())), -1)
        for index in range(len(self)):
            place = tuple(values.index(self._columns[name][index]) for name, values in axes.items())
            if indices[place] >= 0:
                raise repeated(self._files[index], self._files[indices[place]])
            indices[place] = index
        coords: dict[str, Any] = {name: (name, _coordinate(values)) for name, values in axes.items()}
        for name, others in followed.items():
            coords[name] = (others, self._along(name, {other: axes[other] for other in others}))
        return _array(tuple(axes), indices, coords, self._measured, {"file": (self._files, "run file")}, self.measures)

    def _along(self, name: str, axes: Mapping[str, list[Any]]) -> np.ndarray:
        """Return the values of a name at the values of those that it follows from: NaN, or no text, where there is no run."""
        column = self._columns[name]
        values = np.full(tuple(map(len, axes.values())), "" if _coordinate(column).dtype == object else np.nan, dtype=object)
        for index, value in enumerate(column):
            values[tuple(along.index(self._columns[other][index]) for other, along in axes.items())] = value
        return values.astype(_coordinate(list(values.flat)).dtype)

    @cached_property
    def measures(self) -> dict[str, Measure]:
        """The measured columns."""
        names = {name for parameters in self._parameters for name in measures_of(parameters)}
        return {name: measure for name, measure in MEASURES.items() if name in names}

    @property
    def _measured_columns(self) -> dict[str, Any]:
        import pandas as pd

        return {name: pd.array([row.get(name, pd.NA) for row in self._measured], dtype=measure.dtype) for name, measure in self.measures.items()}

    @property
    def _parameters(self) -> list[Parameters]:
        return [run.parameters for run in self._runs]

    @property
    def _files(self) -> list[str]:
        return [str(run.path) for run in self._runs]

    @cached_property
    def _measured(self) -> list[Row]:
        return [_measured(run) for run in self._runs]


class SweepRuns(Runs):
    """What a sweep has made so far: the runs that are done, in the order of the cells.

    Nothing in `table` and `dataset` depends on when, where or in which order the runs were made, or how often they were stopped.
    """

    def __init__(self, folder: SweepFolder, notice: Notice | None = None) -> None:
        self.folder = folder
        self._notice = notice

    def __repr__(self) -> str:
        return f"Runs({str(self.folder.path)!r}, {len(self.study.cells)} cells, {len(self)} done)"

    def __len__(self) -> int:
        return len(self._done)

    def __iter__(self) -> Iterator[Run]:
        return (self.run(index) for index in self._done)

    def __getitem__(self, index: Any) -> Any:
        return [self.run(one) for one in self._done[index]] if isinstance(index, slice) else self.run(self._done[index])

    @property
    def study(self) -> Study:
        """What was asked for."""
        return self.folder.study

    def run(self, index: int) -> Run:
        """Return the run of a cell, as far as it has been saved; raise `UsageError` if there is none."""
        place = check_integer("index", index, 0, "(the number of a cell)", len(self.study.cells) - 1)
        return open_run(self.folder.path_of(self.study.cells[place]))

    @cached_property
    def standings(self) -> tuple[Standing, ...]:
        """How each cell stood when this was first asked for."""
        return tuple(self.folder.standing(cell) for cell in self._each("checking runs"))

    @property
    def _done(self) -> list[int]:
        return [index for index, standing in enumerate(self.standings) if standing.state == "done"]

    @cached_property
    def table(self) -> pd.DataFrame:
        """A row for each cell: its number and state, what is swept, what was measured if it is done, and all parameters."""
        import pandas as pd

        rows = [_identity_of_cell(*each) for each in zip(self.study.cells, self.standings, strict=True)]
        columns: dict[str, Any] = {"cell": [cell.index for cell in self.study.cells], "state": [standing.state for standing in self.standings]}
        swept = [name for axis in self.study.axes for name in axis.names]
        for name in dict.fromkeys([*swept, "method", "k", "seed"]):
            columns[name] = _column([row.get(name) for row in rows])
        columns |= self._measured_columns
        for name in dict.fromkeys(name for row in rows for name in row):
            columns.setdefault(name, _column([row.get(name) for row in rows]))
        return pd.DataFrame({**columns, "file": self.study.files, "message": [escaped(standing.message) for standing in self.standings]})

    @cached_property
    def dataset(self) -> xr.Dataset:
        """What was measured, with one dimension for each swept name; names with values side by side share the dimension of the first.

        Counts are floats too, and NaN where a cell is not done. Where a name means nothing for a run, as a mixing law for ERM, the run stands at each
        of its values.
        """
        axes = self.study.axes
        coords = {
            name: (axis.label, _coordinate(values)) for axis in axes for name, values in zip(axis.names, zip(*axis.values, strict=True), strict=True)
        }
        indices = np.array([cell.index for _, cell in self.study.places()], dtype=np.int64).reshape(tuple(len(axis.values) for axis in axes))
        states: list[str] = [standing.state for standing in self.standings]
        words = {"state": (states, "how the cell stands"), "file": (self.study.files, "run file")}
        array = _array(tuple(axis.label for axis in axes), indices, coords, self._measured, words, self.measures)
        return array.assign(cell=(array["file"].dims, indices, {"long_name": "number of the cell"}))

    def _each(self, what: str) -> Iterator[Cell]:
        for place, cell in enumerate(self.study.cells):
            if self._notice is not None:
                self._notice(what, place, len(self.study.cells))
            yield cell

    @cached_property
    def _measured(self) -> list[Row]:
        rows: list[Row] = []
        for cell, standing in zip(self._each("reading runs"), self.standings, strict=True):
            rows.append(_measured(self.run(cell.index)) if standing.state == "done" else {})
        return rows

    @property
    def _parameters(self) -> list[Parameters]:
        return [cell.parameters for cell in self.study.cells]


def open_runs(where: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> Runs:
    """Read many runs as one.

    Parameters
    ----------
    where : path or iterable of paths
        The folder of a sweep; or a pattern of file names, as ``"*.nc"``; or the files themselves.

    Returns
    -------
    Runs
        The runs, those of a sweep as far as they are done: a sequence, with ``table``, a data frame with a row for each run, or each cell of a
        sweep, and ``dataset``, an xarray.Dataset with a dimension for each parameter that is swept, or in which the runs differ and that does not
        follow from others.

    Raises
    ------
    UsageError
        If there is no sweep in the folder, or no file of that name, or one is not a run.
    """
    if isinstance(where, str | os.PathLike):
        if os.path.isdir(where):
            return open_sweep(where)
        files = [os.fspath(where)] if os.path.exists(where) else sorted(glob.glob(os.fspath(where)))
        if not files:
            raise UsageError(f"{shortened(os.fspath(where))}: no such file; give the folder of a sweep, or a pattern of run files as '*.nc'")
        return Runs(open_run(path) for path in files)
    if not isinstance(where, Iterable):
        raise UsageError(f"where={echo(where)}: must be a folder, a pattern of file names, or names of files")
    return Runs(open_run(path) for path in where)


def open_sweep(path: str | os.PathLike[str], notice: Notice | None = None) -> SweepRuns:
    """Read the runs of the sweep in a folder, or raise `UsageError` if there is none; runs may still be added to it."""
    check_kind("notice", notice, Callable | None, "a function or None")
    return SweepRuns(SweepFolder.open(path), notice)


def _measured(run: Run) -> Row:
    row = {name: measure.of(run) for name, measure in measures_of(run.parameters).items()}
    return {name: value for name, value in row.items() if value is not None}


def _array(
    dims: tuple[str, ...],
    indices: np.ndarray,
    coords: Mapping[str, Any],
    rows: Sequence[Row],
    words: Mapping[str, tuple[Sequence[str], str]],
    measures: Mapping[str, Measure],
) -> xr.Dataset:
    """Return measured numbers and words, one for each run, at the places whose indices are given; -1 is a place without a run."""
    import xarray as xr

    variables: dict[str, Any] = {}
    for name, measure in measures.items():
        numbers = [float(row.get(name, np.nan)) for row in rows]
        variables[name] = (dims, np.array([*numbers, np.nan])[indices], {"long_name": measure.meaning})
    for name, (texts, meaning) in words.items():
        variables[name] = (dims, np.array([*texts, ""], dtype=object)[indices], {"long_name": meaning})
    return xr.Dataset(variables, coords)


def _identity_of_cell(cell: Cell, standing: Standing) -> dict[str, Any]:
    """Return all that says which run it is: parameters and options, the latter as given or by default; laws as JSON text."""
    options = {"method": cell.method, "seed": cell.seed, **cell.options, "integrator": standing.integrator or cell.integrator}
    derived = {"r0": cell.swept.get("r0", cell.parameters.r0)}
    entries = {**cell.parameters.model_dump(mode="json"), **derived, **options}
    return {name: json.dumps(value) if isinstance(value, dict | list) else value for name, value in entries.items()}


def _scalar(value: Any) -> Any:
    """Return a value that can be a coordinate: a number, or text; a law as JSON, "none" for what a run does not have."""
    if value is None:
        return "none"
    return value if isinstance(value, int | float | str) and not isinstance(value, bool) else json.dumps(value)


def _sorted(values: Iterable[Any]) -> list[Any]:
    return sorted(set(values), key=lambda value: (isinstance(value, str), value))


def _are(values: Iterable[Any], kind: Any) -> bool:
    return all(isinstance(value, kind) and not isinstance(value, bool) for value in values)


def _fit(values: Iterable[int]) -> bool:
    return all(-(2**63) <= value < 2**63 for value in values)


def _column(values: list[Any]) -> Any:
    """Return a column that keeps integers as such where some are missing, and those that no machine integer holds."""
    import pandas as pd

    present = [value for value in values if value is not None]
    if _are(present, int) and _fit(present):
        return pd.array([pd.NA if value is None else value for value in values], dtype="Int64")
    if _are(present, int | float) and not _are(present, int):
        return pd.array([pd.NA if value is None else float(value) for value in values], dtype="Float64")
    return pd.Series(values, dtype=object)


def _coordinate(values: Sequence[Any]) -> np.ndarray:
    """Return values along a dimension: numbers, or text."""
    if _are(values, int) and _fit(values):
        return np.array(values, dtype=np.int64)
    if _are(values, int | float):
        return np.array(values, dtype=np.float64)
    return np.array([value if isinstance(value, str) else json.dumps(value) for value in values], dtype=object)
