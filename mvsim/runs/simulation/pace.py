"""How fast a run goes, how long it still takes, and what it waits for."""

from __future__ import annotations

import math
import time
from collections import deque
from typing import NamedTuple

import numpy as np

from mvsim.runs.recording.recorder import Recorder

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

    escaped: int  # how many features have escaped
    features: int  # of how many
    next_time: float | None  # when the next of the others escapes at the present pace; None where none does
    last_time: float | None  # when the last of them does; None where not all do


def escape_progress(recorder: Recorder, now: float) -> EscapeProgress | None:
    """Return which escapes have been and what is to come; None for a model without escapes."""
    if not recorder.objective.has_escapes:
        return None
    escaped = recorder.escapes.views()
    coming = np.maximum(recorder.escape_times()[~escaped], now)
    first, last = coming.min(initial=math.inf), coming.max(initial=now)
    return EscapeProgress(int(escaped.sum()), escaped.size, *(float(one) if one < math.inf else None for one in (first, last)))
