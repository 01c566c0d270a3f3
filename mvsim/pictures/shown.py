"""What a picture shows of a run: some of its classes, at the times that have a place on a logarithmic axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mvsim.base.echo import echo, path_text
from mvsim.base.errors import UsageError
from mvsim.multi_view.activations import activation_of
from mvsim.multi_view.objectives import OBJECTIVES
from mvsim.pictures.style import METHODS, OTHER_METHOD
from mvsim.runs.recording.fresh_draws import count_classes, is_learned
from mvsim.runs.run import Run


@dataclass(frozen=True, eq=False)
class Shown:
    """A run in a picture."""

    run: Run
    chosen: Sequence[int] | None = None  # Classes that are shown, counted from 0; all if there are none
    begin: float = math.inf  # Where the axis of time begins: time 0 has its place there if that is before the first other record

    @cached_property
    def classes(self) -> NDArray[np.int64]:
        """The classes that are shown."""
        return np.arange(self.run.parameters.k) if self.chosen is None else np.asarray(self.chosen, dtype=np.int64)

    @property
    def colour(self) -> str:
        """The colour of its method."""
        return METHODS.get(self.run.method, OTHER_METHOD)

    @cached_property
    def kept(self) -> NDArray[np.bool_]:
        """Which records are drawn: time 0 has no place on a logarithmic axis, but at its beginning, or if there is nothing else."""
        times = self.run.dataset["time"].to_numpy()
        return times > 0 if (times > 0).any() and not self.begins_at_0 else np.ones(len(times), dtype=bool)

    @cached_property
    def begins_at_0(self) -> bool:
        """Whether time 0 is drawn, at the beginning of the axis."""
        return self.begin < first_time(self.run) < math.inf

    @cached_property
    def times(self) -> NDArray[np.float64]:
        """Times of these records, dimensionless."""
        times = self.run.dataset["time"].to_numpy()[self.kept]
        return np.asarray(np.where(times > 0.0, times, self.begin) if self.begins_at_0 else times)

    def over_time(self, name: str) -> NDArray[Any]:
        """Return a variable of the classes at these records: (time, class, ...)."""
        return np.asarray(self.run.dataset[name].to_numpy()[self.kept][:, self.classes])

    def of_classes(self, name: str) -> NDArray[Any]:
        """Return a variable of the classes that has no time: (class, ...)."""
        return np.asarray(self.run.dataset[name].to_numpy()[self.classes])

    def at_end(self, name: str) -> NDArray[Any]:
        """Return a variable of the classes at the last record: (class, ...)."""
        return np.asarray(self.run.dataset[name].to_numpy()[-1, self.classes])

    @property
    def outcomes(self) -> dict[str, int]:
        """How many of the classes have learned both, one and none of their features at the end."""
        return self.outcomes_at(-1)

    def outcomes_at(self, record: int) -> dict[str, int]:
        """How many of the classes have learned both, one and none of their features at one of the records that are drawn."""
        return count_classes(self.over_time("feature_learned")[record])

    def chance_at(self, record: int) -> dict[str, int]:
        """How many of the classes with each outcome have it by chance, at one of the records that are drawn."""
        return count_classes(self.over_time("feature_learned")[record][self.by_chance[record]])

    @property
    def is_over(self) -> bool:
        """Whether it was followed to where it ends by itself."""
        return self.run.status == "finished" and self.run.settled is not False

    @property
    def mixes(self) -> bool:
        """Whether it trains on mixed points."""
        return OBJECTIVES[self.run.method].mixes_with(self.run.provenance["options"])

    @property
    def draws_pairs_each_step(self) -> bool:
        """Whether every record of the loss is of other pairs, so that it scatters."""
        options = self.run.provenance["options"]
        return options.get("pairs") is not None and options.get("redraw") == "each step"

    @property
    def has_threshold(self) -> bool:
        """Whether the activation has a threshold, as that of a linear model has not."""
        return activation_of(self.run.parameters).escapes

    @property
    def active_symbol(self) -> str:
        """How the threshold of active neurons is written."""
        return r"$2\rho/\delta_1$" if self.mixes else r"$\rho/\delta_1$"

    @cached_property
    def has_risen(self) -> NDArray[np.bool_]:
        """Whether a correlation of a class with a feature of it is or was above rho at the records that are drawn: (time, class, view).

        Until then its neurons are as they were initialised, up to small factors. Without a threshold there is nothing to rise above: True.
        """
        largest = self.over_time("max_correlation")
        return np.logical_or.accumulate(largest >= self.run.parameters.rho) if self.has_threshold else np.ones(largest.shape, dtype=bool)

    @cached_property
    def by_chance(self) -> NDArray[np.bool_]:
        """Whether a class passes the test of Definition 4.5 for a feature whose correlations have not risen, at the records drawn: (time, class)."""
        return np.asarray((is_learned(self.over_time("feature_learned")) & ~self.has_risen).any(axis=2))

    @cached_property
    def first_rise(self) -> float:
        """The first record at which a correlation of a class with a feature of its own is above rho; infinite if none is, 0 without a threshold.

        It is the first one of all classes, whichever are shown.
        """
        if not self.has_threshold:
            return 0.0
        largest = self.run.dataset["max_correlation"].to_numpy()
        risen = (largest >= self.run.parameters.rho).any(axis=tuple(range(1, largest.ndim)))
        return float(self.run.dataset["time"].to_numpy()[risen.argmax()]) if risen.any() else math.inf


def first_time(run: Run) -> float:
    """Return the time of the first record after time 0; infinite if there is none."""
    times = run.dataset["time"].to_numpy()
    return float(times[times > 0].min(initial=math.inf))


def shown_of(runs: Any, classes: Any) -> list[Shown]:
    """Return what is shown of runs; raise `UsageError` if one is no run, is of an unknown method, or lacks one of the classes."""
    for run in runs:
        if not isinstance(run, Run):
            raise UsageError(f"runs: {echo(run)} is no run; read one with mvsim.open_run")
        if run.method not in OBJECTIVES:
            raise UsageError(f"{path_text(run.path or 'runs')}: method={echo(run.method)}: this version draws {', '.join(OBJECTIVES)}")
    if classes is not None:
        _check_classes(classes, runs)
    begin = min(map(first_time, runs), default=math.inf)
    return [Shown(run, classes, begin) for run in runs]


def _check_classes(classes: Any, runs: Sequence[Run]) -> None:
    is_list = isinstance(classes, (list, tuple)) or (isinstance(classes, np.ndarray) and classes.ndim == 1)
    if not is_list or len(classes) == 0:
        raise UsageError(f"classes={echo(classes)}: must be a list of classes, counted from 0, for example [0, 3]")
    for run in runs:
        for one in classes:
            if isinstance(one, bool) or not isinstance(one, (int, np.integer)) or not 0 <= one < run.parameters.k:
                name = path_text(run.path or "the run")
                raise UsageError(f"classes={echo(one)}: must be integers from 0 to {run.parameters.k - 1}, the classes of {name}")
    if len(set(map(int, classes))) < len(classes):
        raise UsageError(f"classes={echo(list(classes))}: names a class twice; give each once")
