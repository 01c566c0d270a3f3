"""What of a run can be replayed: stretches between saved states, the points to come to, and the work that replays may take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from mvsim.multi_view.diagnostics import correct, output_ranges, own_correlations
from mvsim.numerics.logarithms import logarithm
from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence, Snapshot


class Waypoint(NamedTuple):
    """A point of a run as the file has it."""

    time: float
    log_loss: float
    measured: np.ndarray  # (k V + 1 + k,) what takes points, see `measure_of`
    own: np.ndarray  # (k, m, V) own correlations
    whole: np.ndarray | None  # (k, m, k, V) all of them, of a saved state


def waypoints(evidence: Evidence, stretch: Stretch) -> list[Waypoint]:
    """Return the points of a stretch in order. Of a final state that has no record all follows from its correlations."""
    steps = evidence.run.dataset["step"].to_numpy()
    whole = {snapshot.step: snapshot.c for snapshot in evidence.snapshots}
    points = []
    for i in stretch.records:
        measured = np.concatenate([evidence.learned_fractions[i].ravel(), evidence.training_accuracy[i : i + 1], evidence.least_margin[i]])
        points.append(Waypoint(float(evidence.times[i]), float(evidence.log_loss[i]), measured, evidence.own[i], whole.get(int(steps[i]))))
    if stretch.end is not None:
        c = stretch.end.c
        log_loss = float(logarithm(evidence.objective.loss(c)))
        points.append(Waypoint(stretch.end.time, log_loss, measure_of(evidence)(c), own_correlations(c), c))
    return points


def measure_of(evidence: Evidence) -> Callable[[np.ndarray], np.ndarray]:
    """Return c -> (k V + 1 + k,) what a record has that takes points.

    The fractions of fresh draws on which each view suffices, that of training points that are right, and the least margin of the points of each
    class, NaN for a class without points.
    """
    learned, outputs, labels = evidence.feature_test.fraction_learned, evidence.objective.outputs, evidence.data.labels

    def measured(c: np.ndarray) -> np.ndarray:
        g = outputs(c)
        return np.concatenate([learned(c).ravel(), [correct(g, labels).mean()], output_ranges(g, labels).margin_min])

    return measured


class Apart(NamedTuple):
    """The largest differences of what takes points: fractions of fresh draws, the training accuracy, and margins, these relative to 1 + |margin|."""

    features: float
    accuracy: float
    margin: float


def apart(differences: np.ndarray, recorded: np.ndarray, k: int) -> Apart:
    """Return the largest of differences (k V + 1 + k,) from what was recorded; a margin that is not known differs by 0."""
    features, accuracy, margins = np.split(differences, [-k - 1, -k])
    relative = margins / (1.0 + np.abs(recorded[-k:]))
    return Apart(float(features.max()), float(accuracy[0]), float(np.nan_to_num(relative, nan=0.0).max()))


class Budget:
    """The work that replays may take in all. Once it is spent, no replay goes on beyond its first record, and none is begun.

    Each of ``steps`` of replays and ``gradients`` spends all of it by itself.
    """

    def __init__(self, steps: float, gradients: float) -> None:
        self._step, self._gradient, self._spent = 1.0 / steps, 1.0 / gradients, 0.0

    def spend(self, gradients: int) -> None:
        """Take note of a step."""
        self._spent += self._step + gradients * self._gradient

    @property
    def is_left(self) -> bool:
        """Whether there is any of it."""
        return self._spent < 1.0


@dataclass(frozen=True, eq=False)
class Stretch:
    """A saved state and the records that are to be met from there, as far as the next saved state."""

    snapshot: Snapshot  # where the replay starts
    records: tuple[int, ...]  # indices of the records
    end: Snapshot | None  # the final state, if it follows and has no record: the run was interrupted there
    steps: tuple[int, ...]  # steps that the run made from the saved state to each of them


def stretches(evidence: Evidence) -> list[Stretch]:
    """Return what can be replayed: first the end, from the last saved state but one to the last, on which verdicts rest; then all others in order."""
    steps, final, result = evidence.run.dataset["step"].to_numpy(), evidence.snapshots[-1], list[Stretch]()
    for first, second in pairwise(evidence.snapshots):
        follow = np.flatnonzero((steps > first.step) & (steps <= second.step))
        end = second if second is final and final.step > steps[-1] else None
        reached = [*steps[follow].tolist(), *([end.step] if end else [])]
        if reached:
            result.append(Stretch(first, tuple(follow.tolist()), end, tuple(step - first.step for step in reached)))
    return result[-1:] + result[:-1]
