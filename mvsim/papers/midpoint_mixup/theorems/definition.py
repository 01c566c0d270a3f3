"""Definition 4.5 on fresh draws and on the training points, with intervals, next to what correlations alone would say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from mvsim.judging.verdict import Verdict, constant
from mvsim.multi_view.data import Dataset, sample_dataset
from mvsim.multi_view.diagnostics import active_neurons, class_mean, correct, own_correlations
from mvsim.multi_view.kernels import make_kernel
from mvsim.multi_view.kernels.finite import finite_outputs
from mvsim.multi_view.objectives import OBJECTIVES
from mvsim.multi_view.thresholds import entered_B
from mvsim.numerics.intervals import CONFIDENCE, clopper_pearson
from mvsim.papers.midpoint_mixup.evidence.persistence import unchanged_since
from mvsim.runs.recording.fresh_draws import FeatureTest, count_classes, is_learned
from mvsim.runs.run import Run

DRAWS = 200
"""Fresh draws for each class: a feature learned on all of them is learned on at least 98.1 % of D, with 95 % confidence."""

MOST_STATES = 8
"""Saved states before the end at most, evenly chosen, that are tested with all draws."""


class Earlier(NamedTuple):
    """What a saved state before the end says."""

    time: float
    learned: np.ndarray  # (k, V) bool: `Learned.by_definition` and `Learned.escaped` of it
    escaped: np.ndarray


@dataclass(frozen=True, eq=False)
class Learned:
    """Which features a network has learned, in three ways."""

    fresh: np.ndarray  # (k, V): fraction of fresh draws (x, y) ~ D on which view l alone suffices. A tie is not a win
    # fresh draws for each class that are independent of each other. Of the draws that the run took at its records, which ``fresh`` counts too, some
    # have the signal coefficients of one of them, beside other noise
    draws: int
    training: np.ndarray  # (k, V): the same fraction over the training points of the class, NaN for a class without points
    active: np.ndarray  # (k, V) bool: whether B_{y,l} has a neuron, the proxy of the proofs
    accuracy: float  # training accuracy of the network, computed from it
    escaped: np.ndarray  # (k, V) bool: whether a neuron of the class is beyond the polynomial part on some patch of the view. Other views are dormant
    # saved states before the end, in order: those since training accuracy is 1 or, if that is earlier, since the run's own draws have said what
    # they say at the end; and the one before
    earlier: Sequence[Earlier] = ()

    @property
    def lost(self) -> np.ndarray:
        """(k, V) bool: views that had escaped and were learned at some of `earlier`, and are not learned at the end."""
        return self.lost_since(0.0)

    def lost_since(self, time: float) -> np.ndarray:
        """Return (k, V) bool: the same at a time or after it. A dormant view that was right on all draws, which noise or chance can do, is none."""
        ever = np.zeros_like(self.by_definition)
        for state in self.earlier:
            if state.time >= time:
                ever |= state.learned & state.escaped
        return ever & ~self.by_definition

    @property
    def least_share(self) -> float:
        """The part of D on which a learned view suffices at least: the lower end of the Clopper-Pearson interval."""
        return clopper_pearson(self.draws, self.draws)[0]

    @property
    def least_share_text(self) -> str:
        """The same to three digits, rounded down."""
        return f"{math.floor(1e3 * self.least_share) / 1e3:.3f}"

    @property
    def by_definition(self) -> np.ndarray:
        """(k, V) bool: Definition 4.5 holds on every fresh draw and every training point: the worst case of all that were looked at."""
        return _on_all(self.fresh, self.training)

    @property
    def partly(self) -> np.ndarray:
        """(k, V) bool: the view has escaped, and alone it suffices on some of what was looked at and not on all."""
        return self._on_some & self.escaped

    @property
    def dormant_partly(self) -> np.ndarray:
        """(k, V) bool: the same of dormant views. There noise tells the class, or all outputs but a tiny one are 0."""
        return self._on_some & ~self.escaped

    @property
    def _on_some(self) -> np.ndarray:
        return ~self.by_definition & ((self.fresh > 0.0) | (self.training > 0.0))


def learned_features(run: Run, draws: int = DRAWS, data: Dataset | None = None) -> Learned:
    """Test Definition 4.5 on the final network of a run."""
    p, c = run.parameters, run.final_correlations
    data = sample_dataset(p, run.seed) if data is None else data
    threshold = entered_B(p, OBJECTIVES[run.method].mixes_with(run.provenance["options"]))
    fresh = _Draws([FeatureTest(p, n, run.seed) for n in sorted({draws, int(run.provenance["options"]["n_test"])})])
    views = [make_kernel(p, data.keep_view(view), "auto", None) for view in range(p.V)]

    def training(state: np.ndarray) -> np.ndarray:
        return np.stack([class_mean(correct(finite_outputs(kernel, state), data.labels), data.labels, data.k) for kernel in views], axis=1)

    active = np.asarray(active_neurons(c, threshold).any(axis=1))
    accuracy = float(correct(finite_outputs(make_kernel(p, data, "auto", None), c), data.labels).mean())

    def escaped(state: np.ndarray) -> np.ndarray:
        return np.asarray(own_correlations(state).max(axis=1) >= p.rho / p.largest_signal)

    earlier = [Earlier(time, _on_all(fresh.fraction_learned(state), training(state)), escaped(state)) for time, state in _late_states(run)]
    return Learned(fresh.fraction_learned(c), fresh.independent, training(c), active, accuracy, escaped(c), earlier)


class _Draws:
    """Several sets of fresh draws, of different sizes, as one. Sets share some random numbers, so that only those of the largest are independent."""

    def __init__(self, sets: Sequence[FeatureTest]) -> None:
        self._sets = sets
        self.independent = max(each.draws for each in sets)

    def fraction_learned(self, c: np.ndarray) -> np.ndarray:
        """Return (k, V): the fraction of all of them on which view l alone suffices."""
        counts = [np.rint(each.fraction_learned(c) * each.draws) for each in self._sets]
        return np.asarray(sum(counts) / sum(each.draws for each in self._sets))


def _late_states(run: Run) -> list[tuple[float, np.ndarray]]:
    """Return the saved states before the end, times and correlations, that `Learned.earlier` is about; `MOST_STATES` at most."""
    dataset = run.dataset
    times, accuracy = dataset["time"].to_numpy(), dataset["training_accuracy"].to_numpy()
    since = unchanged_since(times, is_learned(dataset["feature_learned"].to_numpy()))
    if accuracy[-1] == 1.0:
        since = min(since, unchanged_since(times, accuracy))
    before = np.flatnonzero(dataset["snapshot_step"].to_numpy() < int(dataset["final_step"]))
    times = dataset["snapshot_time"].to_numpy()[before]
    first = max(int(np.searchsorted(times, since)) - 1, 0)
    late = before[first:]
    chosen = late[np.unique(np.linspace(0, len(late) - 1, MOST_STATES).round().astype(int))] if len(late) else late
    return [(float(dataset["snapshot_time"][i]), dataset["correlations"][i].to_numpy()) for i in chosen]


def _on_all(fresh: np.ndarray, training: np.ndarray) -> np.ndarray:
    """Return (k, V) bool: where a view suffices on every fresh draw and every training point."""
    return is_learned(fresh) & (is_learned(training) | np.isnan(training))


def classes_text(learned: Learned) -> str:
    """Say in how many classes how many views are learned."""
    (first, count_first), *others = count_classes(np.where(learned.by_definition, 1.0, 0.0)).items()
    sizes = ", ".join([f"{first} views in {count_first}", *(f"{name} in {n}" for name, n in others)])
    return f"{sizes} of {len(learned.fresh)} classes"


def definition_4_5(run: Run, learned: Learned) -> Verdict:
    """Report how many of the V k features are learned, how sure that is, and whether B_{y,l} tells the same.

    The least lower end of the Clopper-Pearson intervals of the learned features says on how much of D, at least, each of them suffices.
    """
    p, by_definition = run.parameters, learned.by_definition
    count = int(by_definition.sum())
    only_training = int((is_learned(learned.training) & ~is_learned(learned.fresh)).sum())
    against = int((by_definition != learned.active).sum())
    total = own_correlations(run.final_correlations)
    detail = (
        f"{classes_text(learned)}; a learned view suffices on >= {learned.least_share_text} of D "
        f"({100 * CONFIDENCE:g}%, {learned.draws} fresh draws per class); partly learned: {int(learned.partly.sum())}; "
        f"dormant and right on some: {int(learned.dormant_partly.sum())}; "
        f"on training points only: {only_training}; B_(y,l) says otherwise for {against}; largest own correlation {total.max():.4g}"
    )
    statement = (
        f"fraction of the {p.V}k features whose view alone gives argmax_s g_s(x') = y, over fresh draws and training points; a tie is not a win"
    )
    return replace(constant("Definition 4.5", statement, count / p.features, detail=detail), number="4.5", gathered="median")
