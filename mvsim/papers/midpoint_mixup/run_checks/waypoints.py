"""What the file says of the points that a replay has to come to: records, and a final state that has none."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mvsim.multi_view.diagnostics import correct, output_ranges, own_correlations
from mvsim.numerics.logarithms import logarithm
from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence
from mvsim.papers.midpoint_mixup.run_checks.stretches import Stretch


class Waypoint(NamedTuple):
    """A point of a run as the file has it.

    Attributes
    ----------
    time : float
        Of it.
    log_loss : float
        ln J.
    measured : numpy.ndarray
        (k V + 1 + k,) what takes points, see `measure_of`.
    own : numpy.ndarray
        (k, m, V) own correlations.
    whole : numpy.ndarray or None
        (k, m, k, V) all of them, of a saved state.
    """

    time: float
    log_loss: float
    measured: np.ndarray
    own: np.ndarray
    whole: np.ndarray | None


def waypoints(evidence: Evidence, stretch: Stretch) -> list[Waypoint]:
    """Return the points of a stretch in order. Of a final state that has no record all follows from its correlations."""
    steps = evidence.run.dataset["step"].to_numpy()
    whole = {snapshot.step: snapshot.c for snapshot in evidence.snapshots}
    found = []
    for i in stretch.records:
        measured = np.concatenate([evidence.learned_fractions[i].ravel(), evidence.training_accuracy[i : i + 1], evidence.least_margin[i]])
        found.append(Waypoint(float(evidence.times[i]), float(evidence.log_loss[i]), measured, evidence.own[i], whole.get(int(steps[i]))))
    if stretch.end is not None:
        c = stretch.end.c
        log_loss = float(logarithm(evidence.objective.loss(c)))
        found.append(Waypoint(stretch.end.time, log_loss, measure_of(evidence)(c), own_correlations(c), c))
    return found


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
