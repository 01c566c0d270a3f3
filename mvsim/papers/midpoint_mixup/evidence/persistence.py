"""Since when something has been as it is: what "remains true for all later t" means for a trajectory that ends."""

from __future__ import annotations

import numpy as np

from mvsim.judging.number_text import fold_text
from mvsim.judging.verdict import Status
from mvsim.runs.recording.settling import Settling
from mvsim.runs.run import Run

FACTOR = 10.0
"""A state of affairs counts as lasting once it has not changed while time grew by this factor, as in the rule that ends a run: once every view is
learned, by `mvsim.runs.recording.settling.growth_to_settle` of it."""

PATIENCE = 1e4
"""What is still missing counts as missing for good only after this factor: views escape at times far apart, and the last ones very late."""


def lasting_times(run: Run) -> np.ndarray:
    """Return (T,): times of the records, but the last is the horizon of the certificate that nothing changes before it, where the run has one.

    It is formed again from the records (`mvsim.runs.recording.settling`), which are evaluated again at saved states.
    """
    times = run.dataset["time"].to_numpy().copy()
    certified = Settling({str(name): values.values for name, values in run.dataset.variables.items()}).certified_until(FACTOR)
    times[-1] = times[-1] if certified is None else certified
    return times


def unchanged_since(times: np.ndarray, values: np.ndarray) -> float:
    """Return the first recorded time from which on ``values`` (T, ...) are all equal to the last ones."""
    same = (values == values[-1]).reshape(len(values), -1).all(axis=1)
    changes = np.flatnonzero(~same)
    return float(times[changes[-1] + 1] if len(changes) else times[0])


def lasts(times: np.ndarray, values: np.ndarray, factor: float = FACTOR) -> bool:
    """Whether the last values have stayed the same while time grew by ``factor``."""
    return has_lasted(times, unchanged_since(times, values), factor)


def has_lasted(times: np.ndarray, since: float, factor: float = FACTOR) -> bool:
    """Whether time has grown by ``factor`` since then; the first step counts as the least time."""
    return bool(len(times) > 1 and times[-1] >= factor * max(since, float(times[1])) * (1.0 - 1e-12))


def training_status(times: np.ndarray, accuracy: np.ndarray, growth: float = FACTOR) -> Status:
    """Say whether training accuracy (T,) is 1 from some time on: it may fail only if it has changed at all and is through with that.

    ``growth`` is the factor of time for which 1 has to last.
    """
    if accuracy[-1] == 1.0:
        return "holds" if lasts(times, accuracy, growth) else "inconclusive"
    has_changed = unchanged_since(times, accuracy) > times[0]
    return "fails" if has_changed and lasts(times, accuracy, PATIENCE) else "inconclusive"


def too_short(accuracy: float, growth: float) -> str:
    """Say what `training_status` waits for, given the last training accuracy, if it leaves the question open."""
    if accuracy == 1.0:
        return f"too short to tell: it has to last while t grows {fold_text(growth)}"
    return f"too short to tell: it fails where it has stayed below 1 while t grew {fold_text(PATIENCE)}"
