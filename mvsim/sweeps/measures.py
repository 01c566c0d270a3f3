"""What a table says of each run: one number for each entry here. To add a column, add an entry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mvsim.multi_view.parameters import Parameters
from mvsim.runs.recording.fresh_draws import count_classes, outcomes_of
from mvsim.runs.run import Run

CLASSES = "classes_"
"""Begins the names of the columns that count classes by what they have learned."""


class Measure(NamedTuple):
    """A number of a run."""

    meaning: str  # What it is, in words; dimensionless
    dtype: str  # Of its column: Int64, Float64 or boolean
    of: Callable[[Run], Any]  # What returns it, None if the run does not have it


def _last(name: str, reduce: Callable[[np.ndarray], Any] = lambda values: values) -> Callable[[Run], float]:
    return lambda run: float(reduce(run.dataset[name].isel(time=-1).to_numpy()))


def _views(reduce: Callable[..., np.ndarray]) -> Callable[[np.ndarray], float]:
    """Return the mean over classes of the largest or least value over views."""
    return lambda values: float(reduce(values, axis=1).mean())


def _escape(reduce: Callable[[np.ndarray], Any]) -> Callable[[Run], float | None]:
    """Return the first or last of the times at which the first neuron of each view escaped; None for a run without."""

    def of(run: Run) -> float | None:
        times = run.dataset["escape_time"].to_numpy()
        escaped = np.isfinite(times).any(axis=1)
        first = np.min(np.where(np.isnan(times), np.inf, times), axis=1)
        return float(reduce(first[escaped])) if escaped.any() else None

    return of


def _count(outcome: str) -> Callable[[Run], int | None]:
    return lambda run: count_classes(run.dataset["feature_learned"].isel(time=-1).to_numpy()).get(outcome)


_OUTCOMES = {outcome.name: outcome.phrase for views in (2, 3) for outcome in outcomes_of(views)}

MEASURES: dict[str, Measure] = {
    "settled": Measure("whether what is measured had stopped changing at the end", "boolean", lambda run: run.settled),
    **{f"{CLASSES}{name}": Measure(f"classes with {phrase} learned at the end", "Int64", _count(name)) for name, phrase in _OUTCOMES.items()},
    "training_accuracy": Measure("fraction of training points with the right answer at the end", "Float64", _last("training_accuracy")),
    "loss": Measure("training loss at the end", "Float64", _last("loss")),
    "time": Measure("time at the end", "Float64", lambda run: float(run.dataset["final_time"])),
    "steps": Measure("steps taken", "Int64", lambda run: int(run.dataset["final_step"])),
    "gradients": Measure("gradients evaluated", "Int64", lambda run: int(run.dataset["final_evaluations"])),
    "first_escape": Measure("time at which the first view escaped, by its first neuron", "Float64", _escape(np.min)),
    "last_escape": Measure("time at which the last view that did escaped, by its first neuron", "Float64", _escape(np.max)),
    "stronger_view": Measure("mean over classes of the larger max correlation at the end", "Float64", _last("max_correlation", _views(np.max))),
    "weaker_view": Measure("mean over classes of the smaller max correlation at the end", "Float64", _last("max_correlation", _views(np.min))),
    "view_gap": Measure("mean over classes of the largest minus the least C_{y,l} at the end", "Float64", _last("view_gap", np.mean)),
    "off_diagonal_max": Measure("largest correlation with a feature of another class at the end", "Float64", _last("off_diagonal_max", np.max)),
    "softmax_gap": Measure("largest mean over a class of 1 - phi_y at the end", "Float64", _last("softmax_gap", np.max)),
}
"""The measured columns, in their order."""


def measures_of(parameters: Parameters) -> dict[str, Measure]:
    """Return the columns that runs with some parameters have: counts of classes have names that depend on the number of views."""
    names = {outcome.name for outcome in outcomes_of(parameters.V)}
    return {name: measure for name, measure in MEASURES.items() if not name.startswith(CLASSES) or name.removeprefix(CLASSES) in names}
