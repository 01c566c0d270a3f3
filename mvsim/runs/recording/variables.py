"""The variables of a run, in one table: when and from what each is measured, its dimensions, type and meaning, and what its values may be.

The recorder, the file of a run and its resumption follow this table: a new variable needs one entry here, and a new number of the format
(`mvsim.runs.archive.schema.FORMAT`), because files without it are not read. `mvsim verify` measures it again of saved states; what a state alone does
not tell, as the number of evaluations, is listed beside the checks of records.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from mvsim.multi_view import diagnostics
from mvsim.numerics.norm import norm


class When(Enum):
    """When a variable is measured, and of what."""

    START = "once, of `mvsim.runs.recording.observation.Start`"
    RECORD = "at every record, of `mvsim.runs.recording.observation.Observation`"
    SNAPSHOT = "at the few records whose state is kept in full, of that `mvsim.flow.State`"
    ENTRIES = "at every step, of the `mvsim.runs.recording.entries.EscapeLog` of B_{y,l}"
    ESCAPES = "at every step, of the `mvsim.runs.recording.entries.EscapeLog` of escapes"
    FINAL = "at every save, of the last `mvsim.flow.State`"
    RESUME = "at every save, of the `mvsim.flow.State` from which the run can go on"


class Values(Enum):
    """What the values of a variable may be."""

    ANY = "any"
    FINITE = "finite"
    FRACTION = "from 0 to 1"


class Variable(NamedTuple):
    """One variable of a run."""

    when: When  # When it is measured, and of what
    dims: tuple[str, ...]
    dtype: str
    meaning: str  # What it is, in words
    of: tuple[str, ...]  # Attributes of what it is measured of, with dots for attributes of attributes: the arguments of ``by``
    # The function that measures it; without one the only attribute in ``of`` is the value itself, and a saved run gives it back
    by: Callable[..., Any] | None = None
    values: Values = Values.ANY  # What its values may be

    def measured(self, source: Any) -> Any:
        """Return the value, measured of what `when` says."""
        arguments = [attrgetter(name)(source) for name in self.of]
        return arguments[0] if self.by is None else self.by(*arguments)


def variables_of(when: When) -> dict[str, Variable]:
    """Return the variables that are measured at one time."""
    return {name: variable for name, variable in VARIABLES.items() if variable.when is when}


def _accuracy(outputs: np.ndarray, labels: np.ndarray) -> float:
    return diagnostics.correct(outputs, labels).mean()


def _mean_softmax_gap(outputs: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return diagnostics.class_mean(diagnostics.softmax_gap(outputs, labels), labels, len(outputs))


def _count_active(c: np.ndarray, threshold: float) -> np.ndarray:
    return diagnostics.active_neurons(c, threshold).sum(axis=1)


def _largest(rows: np.ndarray) -> np.ndarray:
    return rows.max(axis=1)


def _least(rows: np.ndarray) -> np.ndarray:
    return rows.min(axis=1)


def _root_mean_square(rows: np.ndarray) -> np.ndarray:
    return np.sqrt((rows**2).mean(axis=1))


_TIME = ("time",)
_TIME_CLASS = ("time", "label")
_TIME_FEATURE = ("time", "label", "view")
_FEATURE = ("label", "view")
_OWN = ("label", "neuron", "view")
_ALL = ("label", "neuron", "feature_class", "view")

VARIABLES: dict[str, Variable] = {
    "time": Variable(When.RECORD, _TIME, "float64", "time of the flow; of gradient descent eta times steps", ("state.time",)),
    "step": Variable(When.RECORD, _TIME, "int64", "steps taken", ("state.step",)),
    "loss": Variable(When.RECORD, _TIME, "float64", "training loss", ("loss",), values=Values.FINITE),
    "training_accuracy": Variable(
        When.RECORD, _TIME, "float64", "fraction of training points with argmax_s g_s(x_i) = y_i", ("outputs", "labels"), _accuracy, Values.FRACTION
    ),
    "gradient_norm": Variable(When.RECORD, _TIME, "float64", "norm of the gradient of the training loss", ("gradient",), norm),
    "sharpness": Variable(
        When.RECORD, _TIME, "float64", "largest eigenvalue of the Hessian of the training loss, from below; NaN where not estimated", ("sharpness",)
    ),
    "dissipation": Variable(
        When.RECORD, _TIME, "float64", "integral of |grad J|^2 dt from the start; of a flow J(0) - J(t)", ("state.dissipation",)
    ),
    "log_dissipation": Variable(
        When.RECORD, _TIME, "float64", "integral of |grad J|^2 / J dt from the start; of a flow ln J(0) - ln J(t)",
        ("state.log_dissipation",),
    ),
    "turning_rate": Variable(
        When.RECORD, _TIME, "float64", "|H g| / |g|: how fast the gradient g turns along itself; NaN where not estimated", ("turning_rate",)
    ),
    "own_correlations": Variable(
        When.RECORD, ("time", *_OWN), "float64", "<w_{y,r}, v_{y,l}>", ("c",), diagnostics.own_correlations, Values.FINITE
    ),
    "max_correlation": Variable(
        When.RECORD, _TIME_FEATURE, "float64", "Lambda_{y,l} = max_r <w_{y,r}, v_{y,l}>", ("c",), diagnostics.max_correlation, Values.FINITE
    ),
    "total_correlation": Variable(
        When.RECORD, _TIME_FEATURE, "float64", "C_{y,l}, sum of the own correlations in B_{y,l}",
        ("c", "threshold"), diagnostics.total_correlation, Values.FINITE,
    ),
    "active_neurons": Variable(When.RECORD, _TIME_FEATURE, "int64", "size of B_{y,l}", ("c", "threshold"), _count_active),
    "feature_learned": Variable(
        When.RECORD, _TIME_FEATURE, "float64", "fraction of fresh draws on which view l alone suffices (Definition 4.5)",
        ("fraction_learned",), values=Values.FRACTION,
    ),
    "draw_margin_min": Variable(
        When.RECORD, _TIME_FEATURE, "float64", "least g_y - max_{s != y} g_s over fresh draws with view l alone", ("draw_margin_min",)
    ),
    "dormant_until": Variable(
        When.RECORD, _TIME, "float64", "time before which no correlation of a dormant neuron escapes at the present forces, but for views that have",
        ("dormant_until",),
    ),
    "view_gap": Variable(
        When.RECORD, _TIME_CLASS, "float64", "largest minus least C_{y,l} over views; for two views Delta_y = |C_{y,1} - C_{y,2}|",
        ("c", "threshold"), diagnostics.view_gap, Values.FINITE,
    ),
    "softmax_gap": Variable(
        When.RECORD, _TIME_CLASS, "float64", "mean of 1 - phi_y over the training points of the class", ("outputs", "labels"), _mean_softmax_gap
    ),
    "own_output_min": Variable(
        When.RECORD, _TIME_CLASS, "float64", "least g_y(x_i) over the training points of class y", ("output_ranges.min",)
    ),
    "own_output_max": Variable(
        When.RECORD, _TIME_CLASS, "float64", "largest g_y(x_i) over the training points of class y", ("output_ranges.max",)
    ),
    "other_output_max": Variable(
        When.RECORD, _TIME_CLASS, "float64", "largest g_s(x_i) with s != y over the training points of class y",
        ("output_ranges.others_max",),
    ),
    "margin_min": Variable(
        When.RECORD, _TIME_CLASS, "float64", "least g_y(x_i) - max_{s != y} g_s(x_i) over the training points of class y, each point with its own s",
        ("output_ranges.margin_min",),
    ),
    "off_diagonal_max": Variable(
        When.RECORD, _TIME_CLASS, "float64", "largest <w_{y,r}, v_{s,l}> with s != y", ("off_diagonal",), _largest, Values.FINITE
    ),
    "off_diagonal_min": Variable(
        When.RECORD, _TIME_CLASS, "float64", "least <w_{y,r}, v_{s,l}> with s != y", ("off_diagonal",), _least, Values.FINITE
    ),
    "off_diagonal_rms": Variable(
        When.RECORD, _TIME_CLASS, "float64", "root mean square of <w_{y,r}, v_{s,l}> with s != y", ("off_diagonal",), _root_mean_square
    ),
    "signal_strength": Variable(
        When.START, _FEATURE, "float64", "S_{y,l} = (1/N) sum over own points and patches of beta^alpha",
        ("objective.parameters", "objective.data"), diagnostics.signal_strength, Values.FINITE,
    ),
    "predicted_entry_time": Variable(
        When.START, _OWN, "float64",
        "time at which the own correlation enters B_{y,l}, predicted from the initial state; infinite if it never grows or no double holds it",
        ("predicted_entry_time",),
    ),
    "correlations": Variable(
        When.SNAPSHOT, ("snapshot", *_ALL), "float64", "<w_{y,r}, v_{s,l}> at a few times", ("c",), values=Values.FINITE
    ),
    "snapshot_time": Variable(When.SNAPSHOT, ("snapshot",), "float64", "time of each of these", ("time",)),
    "snapshot_step": Variable(When.SNAPSHOT, ("snapshot",), "int64", "step of each of these", ("step",)),
    "entry_time": Variable(When.ENTRIES, _OWN, "float64", "time at which the own correlation entered B_{y,l}, NaN if it has not", ("time",)),
    "entry_step": Variable(When.ENTRIES, _OWN, "int64", "step of it, -1 if it has not", ("step",)),
    "escape_time": Variable(
        When.ESCAPES, _OWN, "float64", "time at which the own correlation passed rho / lambda and so escaped to the linear regime; NaN if it has not",
        ("time",),
    ),
    "escape_step": Variable(When.ESCAPES, _OWN, "int64", "step of it, -1 if it has not", ("step",)),
    "final_correlations": Variable(When.FINAL, _ALL, "float64", "<w_{y,r}, v_{s,l}> at the last save", ("c",), values=Values.FINITE),
    "final_step": Variable(When.FINAL, (), "int64", "step of the last save", ("step",)),
    "final_time": Variable(When.FINAL, (), "float64", "time of the last save", ("time",)),
    "final_evaluations": Variable(When.FINAL, (), "int64", "gradients evaluated until then", ("evaluations",)),
    "resume_correlations": Variable(When.RESUME, _ALL, "float64", "<w_{y,r}, v_{s,l}> where the run can be resumed", ("c",), values=Values.FINITE),
    "resume_step": Variable(When.RESUME, (), "int64", "step of it", ("step",)),
    "resume_time": Variable(When.RESUME, (), "float64", "time of it", ("time",)),
    "resume_evaluations": Variable(When.RESUME, (), "int64", "gradients evaluated until then", ("evaluations",)),
    "resume_dissipation": Variable(
        When.RESUME, (), "float64", "integral of |grad J|^2 dt until then", ("dissipation",)
    ),
    "resume_log_dissipation": Variable(
        When.RESUME, (), "float64", "integral of |grad J|^2 / J dt until then", ("log_dissipation",)
    ),
}  # fmt: skip
"""Every variable of a run. Its file may have more, of any numeric type."""
