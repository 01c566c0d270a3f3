"""How fast a run goes, how long it still takes, and what it waits for."""

from __future__ import annotations

import math
import time
from collections import deque
from typing import NamedTuple

import numpy as np

from mvsim.runs.recording.recorder import Recorder
from mvsim.runs.recording.settling import TRAINED

WINDOW = 20.0
"""Seconds over which the pace of a flow is measured: it changes at every escape."""

STEADY = 1.5
"""Factor by which the paces of the quarters of these seconds may differ. Right after an escape steps are short and grow again: a time left that is
told from them is far too long."""


class Pace:
    """The pace of a run in steps and in decades of time.

    Time of a flow grows by a nearly constant factor from step to step between escapes, so what is left is counted in decades.
    """

    def __init__(self, step: int) -> None:
        self._first, self._since = step, time.monotonic()
        self._seen: deque[tuple[float, float]] = deque()

    def steps_per_second(self, step: int) -> float:
        """Return the mean since the beginning."""
        elapsed = time.monotonic() - self._since
        return (step - self._first) / elapsed if elapsed > 0 else 0.0

    def seconds_to(self, now: float, end: float | None) -> float | None:
        """Return how long it takes from the time ``now`` to ``end`` at the pace of the last `WINDOW` seconds; None if that is not steady."""
        clock = time.monotonic()
        self._seen.append((clock, now))
        while clock - self._seen[0][0] > WINDOW:
            self._seen.popleft()
        before, was = self._seen[0]
        if end is None or not 0.0 < was < now or not clock - before > 0.05 * WINDOW:
            return None
        if end <= now:
            return 0.0
        return (clock - before) * math.log(end / now) / math.log(now / was) if self._is_steady() else None

    def _is_steady(self) -> bool:
        """Whether the quarters of what has been seen went at paces that differ by `STEADY` at most."""
        clocks, times = np.array(self._seen).T
        ends = np.searchsorted(clocks, np.linspace(clocks[0], clocks[-1], 5))
        spans = np.diff(clocks[ends])
        if not (spans > 0.0).all():
            return False
        paces = np.diff(np.log(times[ends])) / spans
        return bool(paces.max() <= STEADY * paces.min())


class EscapeProgress(NamedTuple):
    """Escapes of features, each by its first neuron."""

    # escaped, features: How many features have escaped, of how many
    escaped: int
    features: int
    # next_time, last_time: When the next and the last of the others escape at the present pace; None where none does, or not all do
    next_time: float | None
    last_time: float | None


def escape_progress(recorder: Recorder, now: float) -> EscapeProgress | None:
    """Return which escapes have been and what is to come; None for a model without escapes."""
    if not recorder.objective.has_escapes:
        return None
    escaped = recorder.escapes.views()
    coming = np.maximum(escape_times(recorder)[~escaped], now)
    first, last = coming.min(initial=math.inf), coming.max(initial=now)
    return EscapeProgress(int(escaped.sum()), escaped.size, *(float(one) if one < math.inf else None for one in (first, last)))


def escape_times(recorder: Recorder) -> np.ndarray:
    """Return (k, V): when the first neuron of each view escapes if all go on as between the last two records; infinite if none does.

    Below the threshold c^(2 - alpha), or log c at alpha = 2, changes linearly: in t, and once its class is trained on single points, whose residuals
    fall as 1 / t, in ln t (`mvsim.papers.midpoint_mixup.theorems.predicted_escapes`). At the first record the times are those predicted from it.
    """
    if len(recorder.times) < 2:
        return np.asarray(np.min(recorder.start_values["predicted_entry_time"], axis=1))
    power, (before, now) = recorder.objective.parameters.alpha - 2.0, np.array(recorder.times[-2:])
    x_before, x = (np.maximum(own, 1e-300) / recorder.linear_from for own in recorder.records["own_correlations"][-2:])
    gap = recorder.records["softmax_gap"]
    in_logarithm = (np.asarray(gap[-1]) < TRAINED * np.asarray(gap[0])) & (not recorder.objective.mixes)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        ratio = x / x_before
        way = -np.log(x) / np.log(ratio) if power == 0.0 else (1.0 - x**power) / (ratio**power - 1.0)
        way = np.where((ratio > 1.0) & (x < 1.0), way, math.inf).min(axis=1)  # in units of the time between the two
        return np.where(in_logarithm[:, None], now * (now / before) ** way, now + way * (now - before))
