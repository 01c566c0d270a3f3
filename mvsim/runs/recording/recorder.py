"""What is kept of a trajectory. Knows nothing of how the trajectory is made or where it is saved."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mvsim.base.errors import DivergedError, NotFiniteError
from mvsim.flow import State
from mvsim.multi_view import diagnostics
from mvsim.multi_view.objectives import Objective
from mvsim.multi_view.thresholds import entered_B
from mvsim.runs.recording.entries import EscapeLog, escape_times_by_pace
from mvsim.runs.recording.fresh_draws import FeatureTest
from mvsim.runs.recording.hessian import HESSIAN_EVERY
from mvsim.runs.recording.observation import Observation, Start
from mvsim.runs.recording.rows import Rows
from mvsim.runs.recording.settling import TRAINED, Settling
from mvsim.runs.recording.snapshots import Snapshots
from mvsim.runs.recording.variables import When, variables_of

RECEDES = 2.0
"""Factor by which the time of an escape may have become later while time grew e-fold."""


class Recorder:
    """Measures states and keeps the results: once at the start, at every record, and of some records the whole state."""

    start_values: dict[str, Any]  # By name
    entries: EscapeLog  # When own correlations entered B_{y,l}
    escapes: EscapeLog  # When they passed where the activation becomes linear. Those of a linear model never do.

    def __init__(self, objective: Objective, feature_test: FeatureTest, seed: int) -> None:
        self.objective = objective
        self.feature_test = feature_test
        self.threshold = entered_B(objective.parameters, objective.mixes)
        self.linear_from = objective.escapes_at
        self.records = {name: Rows(np.empty(0, variable.dtype)) for name, variable in variables_of(When.RECORD).items()}
        self.snapshots = Snapshots(objective.parameters.k)
        self._seed = seed

    @property
    def times(self) -> Rows:
        """Times of the records."""
        return self.records["time"]

    @property
    def settling(self) -> Settling:
        """What decides when the run has settled."""
        if not self.objective.has_escapes:
            return Settling(self.records)
        views = np.where(self.escapes.step < 0, np.inf, self.escapes.time).min(axis=1)
        return Settling(self.records, float(self.escape_times().min()), float(views[np.isfinite(views)].max(initial=0.0)))

    def escape_times(self) -> np.ndarray:
        """Return (k, V): when views that have not escaped will at their present pace; inf of others, and where that time recedes as time goes on.

        It recedes if it is more than `RECEDES` times what it was an e-fold of time ago. At the first record it is what is predicted.
        """
        ago = int(np.searchsorted(self.times, self.times[-1] / math.e, side="right")) - 1
        now, before = self._escape_times(len(self.times) - 1), self._escape_times(ago)
        return np.where(self.escapes.views() | (now > RECEDES * before), np.inf, now)

    def _escape_times(self, record: int) -> np.ndarray:
        """Return (k, V): when views escape by their pace up to a record."""
        if record < 1:
            return np.asarray(np.min(self.start_values["predicted_entry_time"], axis=1))
        times, own = (np.array(self.records[name][record - 1 : record + 1]) for name in ("time", "own_correlations"))
        gap, first = (self.records["softmax_gap"][one] for one in (record, 0))
        in_logarithm = (np.asarray(gap) < TRAINED * np.asarray(first)) & (not self.objective.mixes)
        return escape_times_by_pace(times, own, in_logarithm, self.objective.parameters.alpha, self.linear_from)

    def start(self, state: State) -> None:
        """Take the initial state: what is measured once, and the first record."""
        start = Start(self.objective, state.c, self.threshold)
        self.start_values = {name: variable.measured(start) for name, variable in variables_of(When.START).items()}
        own = diagnostics.own_correlations(state.c)
        self.entries, self.escapes = EscapeLog.started(own, self.threshold), EscapeLog.started(own, self.linear_from)
        self.record(state)

    def observe(self, before: State, after: State) -> None:
        """Take note of what escaped and what entered B_{y,l} between two successive states."""
        self.entries.observe(before, after)
        self.escapes.observe(before, after)

    def record(self, state: State) -> None:
        """Measure a state and keep the results."""
        self.objective.begin_step(state.step)  # a fresh draw, on which this state has not been trained
        hessian_seed = None if len(self.times) % HESSIAN_EVERY else self._seed
        escaped = bool(self.times) and self.escapes.has_new_view(self.last("step"))
        observation = Observation(state, self.objective, self.feature_test, self.threshold, hessian_seed, escaped)
        try:
            values = {name: variable.measured(observation) for name, variable in variables_of(When.RECORD).items()}
        except NotFiniteError as error:
            raise DivergedError(f"at step {state.step} {error}; use a smaller step size") from None
        self.snapshots.consider(state, values["view_gap"], self.entries.step, self.last("step") if self.times else None)
        for name, value in values.items():
            self.records[name].append(value)

    def last(self, name: str) -> Any:
        """Return the last recorded value of a quantity."""
        return self.records[name][-1]

    def forget_after(self, state: State, keep: bool) -> None:
        """Forget everything after a state, and with ``keep`` false its own record too: it lay where an earlier t_end cut, not on a mark."""
        count = int(np.searchsorted(self.records["step"].values, state.step, side="right" if keep else "left"))
        for values in self.records.values():
            values.forget_from(count)
        self.snapshots.forget_after(state.step, keep, self.records["view_gap"].values)
        self.entries.forget_after(state.step)
        self.escapes.forget_after(state.step)
