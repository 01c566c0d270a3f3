"""A run: what was simulated, how, and what came of it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mvsim.base.echo import path_text
from mvsim.base.errors import UsageError
from mvsim.base.html import fragment
from mvsim.multi_view.objectives import OBJECTIVES
from mvsim.multi_view.parameters import Deviation, Parameters
from mvsim.runs.archive import read_run, without_resuming
from mvsim.runs.archive.schema import find_wrong_shape

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

REGIME = "Regime: "
"""Begins the line of a summary about the regime; a display that has another place for the regime leaves that line out."""

_MAKE = "read one with mvsim.open_run or make one with mvsim.simulate"


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """A finished, interrupted or still running simulation, as far as it has been saved.

    Attributes
    ----------
    dataset : xarray.Dataset
        Trajectory and final state, with dimensions time, label (the class y), neuron, feature_class, view (from 1) and snapshot, all with
        coordinates; parameters, method, seed and integrator are its attributes. Every value is dimensionless.
    provenance : dict
        Parameters, method, seed, versions and the rest that makes the run repeatable.
    path : Path or None
        File of the run, if it has one.
    """

    dataset: xr.Dataset
    provenance: dict[str, Any]
    path: Path | None = None

    def __post_init__(self) -> None:
        import xarray as xr

        if not isinstance(self.dataset, xr.Dataset) or not isinstance(self.provenance, dict):
            raise UsageError(f"dataset, provenance: a run has an xarray.Dataset and a dict; {_MAKE}")
        problem = find_wrong_shape(self.dataset, self.provenance, resumable=False)
        if problem:
            raise UsageError(f"dataset, provenance: not those of a run: {problem}; {_MAKE}")

    def __repr__(self) -> str:
        place = "" if self.path is None else f", path={str(self.path)!r}"
        return f"Run(k={self.provenance['parameters']['k']}, method={self.method!r}, seed={self.seed}, status={self.status!r}{place})"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the summary, what the run is, and, folded, its data."""
        headline, *facts = self.summary.splitlines() or [repr(self)]
        made = self.provenance
        rows = [
            ("method", self.method),
            ("seed", self.seed),
            ("integrator", made["integrator"]["name"]),
            ("status", self.status),
            *((name, value) for name, value in made["parameters"].items() if name in ("k", "m", "d", "P", "N", "alpha")),
            ("file", "" if self.path is None else self.path),
            *(("", fact.strip()) for fact in facts),
        ]
        return fragment(headline, rows, details=self.dataset._repr_html_())

    @property
    def parameters(self) -> Parameters:
        """Hyper-parameters of the run, validated."""
        return Parameters(**self.provenance["parameters"])

    @property
    def method(self) -> str:
        """Name of the objective: erm, midpoint, ..."""
        return self.provenance["method"]

    @property
    def seed(self) -> int:
        """The one seed that fixed data, initial weights and fresh draws."""
        return self.provenance["seed"]

    @property
    def regime(self) -> list[Deviation]:
        """The ways in which the run departs from what the theorems assume, as recorded when it was made."""
        return [Deviation(**entry) for entry in self.provenance["regime"]]

    @property
    def commands(self) -> list[str]:
        """What made the run, one after the other: the command that began it, and those that continued it, as far as they are known."""
        return [made["command"] for made in (self.provenance, *self.provenance.get("continued", [])) if "command" in made]

    @property
    def status(self) -> str:
        """One of running, finished, interrupted, diverged, stalled; a killed run stays running."""
        return self.provenance["status"]

    @property
    def settled(self) -> bool | None:
        """Whether what is measured had stopped changing at the end; None if it has not finished."""
        return self.provenance["settled"]

    @property
    def summary(self) -> str:
        """The outcome in words."""
        return self.provenance["summary"]

    @property
    def final_correlations(self) -> NDArray[np.float64]:
        """Correlations c[y, r, s, l] at the last save, shape (k, m, k, V), dimensionless; a copy."""
        return self.dataset["final_correlations"].to_numpy().copy()

    def plot(self, *, panels: Sequence[Any] | None = None, classes: Sequence[int] | None = None, title: str | None = None) -> Figure:
        """Draw the run; arguments, result and errors are those of `mvsim.plot`: panels are names, or panels of your own."""
        from mvsim import plot

        figure: Figure = plot(self, panels=panels, classes=classes, title=title)
        return figure


def open_run(path: str | os.PathLike[str]) -> Run:
    """Read a run from its file; it may be still running.

    Parameters
    ----------
    path : str or path
        File of the run.

    Returns
    -------
    Run
        The run as last saved, in memory; later saves do not change it.

    Raises
    ------
    UsageError
        If there is no such file, it has no valid checksum, its format is another one, or what it says of the run is not valid.
    """
    dataset, provenance = read_run(path)
    run = Run(without_resuming(dataset), provenance, Path(path))
    try:
        run.parameters  # noqa: B018 - validates them once, where the file can be named
    except UsageError as error:
        raise UsageError(f"{path_text(path)}: its parameters are not valid: {error}; make the run again") from None
    _check_options(run, path_text(path))
    return run


def _check_options(run: Run, name: str) -> None:
    """Raise `UsageError` if the options in a file are not those of its method; methods that this version does not know pass."""
    if run.method not in OBJECTIVES:
        return
    try:
        OBJECTIVES[run.method].sums_all_pairs_with(run.provenance["options"])
    except KeyError as error:
        raise UsageError(f"{name}: its options lack {error.args[0]}, which method {run.method} has; make the run again") from None
    except UsageError as error:
        raise UsageError(f"{name}: its options are not valid: {error}; make the run again") from None
