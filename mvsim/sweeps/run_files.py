"""`mvsim.open_runs`: many runs as one."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mvsim.base.echo import echo, path_text, shortened
from mvsim.base.errors import UsageError
from mvsim.runs.run import Run, open_run
from mvsim.sweeps.measures import measures_of
from mvsim.sweeps.runs import Runs
from mvsim.sweeps.runs import open_runs as open_sweep

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


ASKED = ("k", "method", "seed")
"""Names that are always dimensions where runs differ in them."""


class RunFiles:
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
        return f"RunFiles({len(self)} runs; they differ in {', '.join(self.differing) or 'nothing'})"

    def __len__(self) -> int:
        return len(self._runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self._runs)

    def __getitem__(self, index: int) -> Run:
        return self._runs[index]

    @cached_property
    def differing(self) -> tuple[str, ...]:
        """Names of the parameters and options in which the runs differ."""
        names = dict.fromkeys(name for row in self._asked for name in row)
        return tuple(name for name in names if len({_scalar(row.get(name)) for row in self._asked}) > 1)

    @cached_property
    def _asked(self) -> list[dict[str, Any]]:
        """All that says which run it is, of each."""
        return [_told(run) for run in self._runs]

    @cached_property
    def _columns(self) -> dict[str, list[Any]]:
        """The values, of each run, of the names in which the runs differ."""
        return {name: [_scalar(row.get(name)) for row in self._asked] for name in self.differing}

    @cached_property
    def table(self) -> pd.DataFrame:
        """A row for each run: in what the runs differ, how it ended, what was measured, and the file."""
        import pandas as pd

        rows = []
        for index, run in enumerate(self._runs):
            values = {name: column[index] for name, column in self._columns.items()}
            rows.append(values | {"status": run.status} | _measured(run) | {"file": str(run.path)})
        return pd.DataFrame(rows)

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
        import xarray as xr

        followed = following(self._columns)
        axes = {name: _sorted(set(column)) for name, column in self._columns.items() if name not in followed}
        shape = tuple(len(values) for values in axes.values())
        names = dict.fromkeys(name for run in self._runs for name in _measured(run))
        arrays = {name: np.full(shape, np.nan) for name in names}
        files = np.full(shape, "", dtype=object)
        for index, run in enumerate(self._runs):
            measured = _measured(run)
            place = tuple(values.index(self._columns[name][index]) for name, values in axes.items())
            if files[place]:
                raise _repeated(str(run.path), files[place])
            files[place] = str(run.path)
            for name, value in measured.items():
                arrays[name][place] = np.nan if value is None else float(value)
        meanings = {name: measure.meaning for run in self._runs for name, measure in measures_of(run.parameters).items()}
        dims = tuple(axes)
        variables: dict[str, Any] = {name: (dims, values, {"long_name": meanings[name]}) for name, values in arrays.items()}
        variables["file"] = (dims, files, {"long_name": "run file"})
        coords: dict[str, Any] = {name: (name, np.array(values, dtype=_dtype(values))) for name, values in axes.items()}
        for name, others in followed.items():
            coords[name] = (others, self._along(name, {other: axes[other] for other in others}))
        return xr.Dataset(variables, coords)

    def _along(self, name: str, axes: Mapping[str, list[Any]]) -> np.ndarray:
        """Return the values of a name at the values of those that it follows from: NaN, or no text, where there is no run."""
        column = self._columns[name]
        values = np.full(tuple(map(len, axes.values())), np.nan if _dtype(column) is not object else "", dtype=object)
        for index, value in enumerate(column):
            values[tuple(along.index(self._columns[other][index]) for other, along in axes.items())] = value
        return values.astype(_dtype(list(values.flat)))


def open_runs(where: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> Runs | RunFiles:
    """Read many runs as one.

    Parameters
    ----------
    where : path or iterable of paths
        The folder of a sweep; or a pattern of file names, as ``"*.nc"``; or the files themselves.

    Returns
    -------
    Runs or RunFiles
        Both have ``table``, a data frame with a row for each run, and ``dataset``, an xarray.Dataset with a dimension for each parameter in which the
        runs differ and that does not follow from others, and yield the runs.

    Raises
    ------
    UsageError
        If there is no sweep in the folder, or no file of that name, or one is not a run.
    """
    if isinstance(where, str | os.PathLike):
        if Path(where).is_dir():
            return open_sweep(where)
        found = [os.fspath(where)] if Path(where).exists() else sorted(glob.glob(os.fspath(where)))
        if not found:
            raise UsageError(f"{shortened(os.fspath(where))}: no such file; give the folder of a sweep, or a pattern of run files as '*.nc'")
        return RunFiles(open_run(path) for path in found)
    if not isinstance(where, Iterable):
        raise UsageError(f"where={echo(where)}: must be a folder, a pattern of file names, or names of files")
    return RunFiles(open_run(path) for path in where)


def refuse_repeated(runs: Iterable[Run]) -> None:
    """Raise `UsageError` if two runs are the same, so that one would count twice; what came out of them is not compared."""
    names: dict[str, str] = {}
    for run in runs:
        which, name = json.dumps(_told(run), sort_keys=True), str(run.path or run)
        if which in names:
            raise _repeated(name, names[which])
        names[which] = name


def _repeated(name: str, before: str) -> UsageError:
    return UsageError(f"{path_text(name)}: is the same run as {path_text(before)}; leave out one of them")


def following(columns: Mapping[str, Sequence[Any]]) -> dict[str, tuple[str, ...]]:
    """Return the names that follow from others, each with those: runs that agree in these agree in it too."""
    kept = list(columns)
    found = []
    for name in reversed(list(columns)):
        if name not in ASKED and _follows(columns, name, [other for other in kept if other not in (name, "seed")]):
            kept.remove(name)
            found.append(name)
    from_what = {}
    for name in reversed(found):
        needed = [other for other in kept if other != "seed"]
        for other in reversed(needed):
            fewer = [one for one in needed if one != other]
            needed = fewer if _follows(columns, name, fewer) else needed
        from_what[name] = tuple(needed)
    return from_what


def _follows(columns: Mapping[str, Sequence[Any]], name: str, others: Sequence[str]) -> bool:
    """Tell whether runs that agree in some names agree in another one."""
    seen: dict[tuple[Any, ...], Any] = {}
    places = zip(*(columns[other] for other in others), strict=True) if others else [()] * len(columns[name])
    return all(seen.setdefault(place, value) == value for place, value in zip(places, columns[name], strict=True))


def _told(run: Run) -> dict[str, Any]:
    """Return all that says which run it is: parameters, method, seed, integrator and options, in JSON types."""
    made = run.provenance
    stepping = {("integrator" if name == "name" else name): value for name, value in made["integrator"].items()}
    options = {name: value for name, value in made["options"].items() if name != "algorithm"}
    return run.parameters.model_dump(mode="json") | {"method": run.method, "seed": run.seed} | stepping | options


def _measured(run: Run) -> dict[str, Any]:
    return {name: measure.of(run) for name, measure in measures_of(run.parameters).items()}


def _scalar(value: Any) -> Any:
    """Return a value that can be a coordinate: a number, or text; a law as JSON, "none" for what a run does not have."""
    if value is None:
        return "none"
    return value if isinstance(value, int | float | str) and not isinstance(value, bool) else json.dumps(value)


def _sorted(values: set[Any]) -> list[Any]:
    return sorted(values, key=lambda value: (isinstance(value, str), value))


def _dtype(values: list[Any]) -> Any:
    if all(isinstance(value, int) and -(2**63) <= value < 2**63 for value in values):
        return np.int64
    return np.float64 if all(isinstance(value, int | float) for value in values) else object
