"""Whether what is measured has stopped changing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from mvsim.runs.recording.fresh_draws import is_learned

TRAINED = 0.9
"""Part of its first value to which the mean of 1 - phi_y has to fall in every class: the initial network may be right on a few points by chance."""


def growth_to_settle(factor: float, learned: np.ndarray) -> float:
    """Return by what factor time has to grow without a change.

    What has not been learned may still come, so that all of ``factor`` is waited for it. Once every view of every class is learned nothing is left to
    come; then half of it is enough, on the scale of ln t on which views escape: its square root.
    """
    return math.sqrt(factor) if learned.all() else factor


class Settling(NamedTuple):
    """What decides when a run has settled."""

    records: Mapping[str, Sequence[Any]]  # The values of each recorded variable, in order of time

    def since(self) -> float | None:
        """Return since when training accuracy is 1, every class is trained and the learned features are those of now; None if not so now."""
        times, accuracy = self.records["time"], np.asarray(self.records["training_accuracy"])
        learned = is_learned(np.asarray(self.records["feature_learned"]))
        gap = np.asarray(self.records["softmax_gap"])  # NaN for a class without points
        trained = ~(gap > TRAINED * gap[0]).any(axis=1)
        same = (accuracy == 1.0) & (learned == learned[-1]).all(axis=(1, 2)) & trained
        if not same[-1]:
            return None
        changes = np.flatnonzero(~same)
        return times[changes[-1] + 1] if len(changes) else times[0]

    def settles_at(self, factor: float) -> float | None:
        """Return when time will have grown by `growth_to_settle` without a change, if none comes; None before it is trained."""
        since, times = self.since(), self.records["time"]
        if since is None:
            return None
        growth = growth_to_settle(factor, is_learned(np.asarray(self.records["feature_learned"][-1])))
        return growth * max(since, times[min(1, len(times) - 1)])

    def reached(self, factor: float) -> bool:
        """Whether that time has come."""
        settles, times = self.settles_at(factor), self.records["time"]
        return settles is not None and len(times) > 1 and bool(times[-1] >= settles)
