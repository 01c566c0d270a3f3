"""Which states of a trajectory are kept in full."""

from __future__ import annotations

import numpy as np

from mvsim.flow import State
from mvsim.multi_view.diagnostics import is_open
from mvsim.runs.recording.rows import Rows
from mvsim.runs.recording.variables import When, variables_of


class Snapshots:
    """The states that are kept in full, of those that are recorded: at steps 1, 2 and 5 times powers of ten, and at turning points.

    A record at another step takes no place of one that is missing. A turning point is where the number of views that have entered B_{y,l},
    or of classes whose views differ by log k or more, passes a power of two.
    """

    def __init__(self, k: int) -> None:
        self.records = {name: Rows(np.empty(0, variable.dtype)) for name, variable in variables_of(When.SNAPSHOT).items()}
        self._opened = np.zeros(k, dtype=bool)  # classes in which Delta_y has been log k or more

    def consider(self, state: State, view_gap: np.ndarray, entry_step: np.ndarray, previous_step: int | None) -> None:
        """Keep a state that is recorded if it is worth it; ``view_gap`` (k,) is Delta_y there, ``entry_step`` (k, m, V) as in `EscapeLog`."""
        opened = self._opened | is_open(view_gap)
        views_escaped = previous_step is not None and _escapes_doubled(entry_step, previous_step, state.step)
        round_step = state.step == 0 or str(state.step).rstrip("0") in ("1", "2", "5")  # 0, or 1, 2 or 5 times a power of ten
        if round_step or views_escaped or _doubled(self._opened, opened):
            for name, variable in variables_of(When.SNAPSHOT).items():
                self.records[name].append(variable.measured(state))
        self._opened = opened

    def forget_after(self, step: int, keep: bool, view_gaps: np.ndarray) -> None:
        """Forget what lies after a step, and with ``keep`` false also what lies there; ``view_gaps`` are those of the records that remain."""
        count = int(np.searchsorted(self.records["snapshot_step"].values, step, side="right" if keep else "left"))
        for values in self.records.values():
            values.forget_from(count)
        self._opened = np.asarray(is_open(np.reshape(view_gaps, (-1, len(self._opened)))).any(axis=0))


def _escapes_doubled(entry_step: np.ndarray, before: int, now: int) -> bool:
    """Whether the number of views that have entered B_{y,l} has passed a power of two since the last record: those are the times to look at."""
    steps = np.where(entry_step < 0, np.iinfo(np.int64).max, entry_step).min(axis=1)
    return _doubled(steps <= before, steps <= now)


def _doubled(before: np.ndarray, now: np.ndarray) -> bool:
    """Whether the number of true entries has passed a power of two."""
    return int(now.sum()).bit_length() > int(before.sum()).bit_length()
