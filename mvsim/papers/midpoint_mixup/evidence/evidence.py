"""Everything that the claims need to know about one run, computed when it is first asked for and named as in the proofs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np

from mvsim.flow import INTEGRATORS
from mvsim.multi_view import diagnostics
from mvsim.multi_view.data import Dataset, sample_dataset
from mvsim.multi_view.objectives import Objective, objective
from mvsim.multi_view.objectives import options_of as options_of_objective
from mvsim.multi_view.parameters import Deviation, Parameters
from mvsim.multi_view.thresholds import entered_B
from mvsim.numerics.logarithms import logarithm
from mvsim.numerics.random_streams import stream
from mvsim.papers.midpoint_mixup.evidence.mixed_points import MixedPoints, all_mixed_points, listed_mixed_points
from mvsim.runs.recording.entries import first_views
from mvsim.runs.recording.fresh_draws import FeatureTest
from mvsim.runs.run import Run
from mvsim.runs.simulation.field import field_of
from mvsim.runs.simulation.plan import departures_of_problem

FEWEST_SNAPSHOTS, MOST_SNAPSHOTS = 3, 12
"""Snapshots at most at which mixed points and gradients are evaluated: the second number where pairs are few, the first where they are many."""

PAIR_OUTPUTS = 5e7
"""Outputs on pairs of points that all these snapshots may have between the two."""

MOST_PAIR_OUTPUTS = 10**8
"""Largest N^2 k for which all pairs are evaluated; beyond it `SAMPLED_PAIRS` of them are."""

SAMPLED_PAIRS = 10_000

Computed = TypeVar("Computed")


class Snapshot(NamedTuple):
    """A full state that was saved: its step, its time and its correlations (k, m, k, V)."""

    step: int
    time: float
    c: np.ndarray


def _recorded(name: str) -> cached_property[np.ndarray]:
    return cached_property(lambda evidence: evidence.recorded(name))


@dataclass(frozen=True, eq=False)
class Evidence:
    """One run, its data and its objective.

    Views are counted from 0; a class has index y, a neuron r, a record t of T. Nothing here is changed once it has been computed.
    """

    run: Run
    given_data: Dataset | None = None  # what it was trained on; default what its parameters and seed say
    threads: int | None = None  # Threads of the compiled kernel

    # ---- What was run --------------------------------------------------------------------------------------------------------------

    @cached_property
    def parameters(self) -> Parameters:
        """Hyper-parameters."""
        return self.run.parameters

    @cached_property
    def data(self) -> Dataset:
        """Training data."""
        return sample_dataset(self.parameters, self.run.seed) if self.given_data is None else self.given_data

    @cached_property
    def objective(self) -> Objective:
        """The training loss, made again with the options of the run."""
        names, saved = options_of_objective(self.run.method), self.run.provenance["options"]
        options = {name: saved[name] for name in (*names, "weight_decay", "label_smoothing") if name in saved}
        if "seed" in names:
            options["seed"] = self.run.seed
        return objective(self.run.method, self.parameters, self.data, "auto", self.threads, loss=saved["loss"], **options)

    @cached_property
    def regime(self) -> list[Deviation]:
        """The departures of the parameters, the training loss and the stepping from what the theorems assume, formed again."""
        saved = self.run.provenance["integrator"]
        integrator = INTEGRATORS.get(saved["name"])
        departures = [] if integrator is None else integrator(field_of(self.objective), saved[integrator.option]).deviations()
        problem = departures_of_problem(self.parameters, own_points="data" in self.run.provenance["options"])
        return problem + self.objective.deviations() + [Deviation(*each) for each in departures]

    @property
    def rtol(self) -> float:
        """Relative tolerance of the flow by whose bounds the states are judged, 0 where the integrator has none, as gradient descent."""
        saved = self.run.provenance["integrator"]
        chosen = INTEGRATORS.get(saved["name"])
        return (1.0 if chosen is None else chosen.as_flow) * float(saved.get("rtol") or 0.0)

    @property
    def mixes(self) -> bool:
        """Whether training points are mixed."""
        return self.objective.mixes

    @cached_property
    def log_k(self) -> float:
        """The natural logarithm of k."""
        return float(np.log(self.parameters.k))

    @cached_property
    def class_sizes(self) -> np.ndarray:
        """(k,): |N_y|."""
        return np.bincount(self.data.labels, minlength=self.parameters.k)

    @cached_property
    def signal_strength(self) -> np.ndarray:
        """(k, V): S_{y,l}."""
        return diagnostics.signal_strength(self.parameters, self.data)

    @cached_property
    def log_signal_strength(self) -> np.ndarray:
        """(k, V): log S_{y,l}."""
        return diagnostics.log_signal_strength(self.parameters, self.data)

    @cached_property
    def threshold(self) -> float:
        """Of B_{y,l}: rho / delta1, 2 rho / delta1 if points are mixed."""
        return entered_B(self.parameters, self.mixes)

    @property
    def poly_end(self) -> float:
        """A = rho / (delta2 - delta1), for V views rho / (delta2 - (V - 1) delta1): below it every own patch is in the polynomial part."""
        return self.parameters.rho / self.parameters.largest_signal

    def recorded(self, name: str) -> np.ndarray:
        """Return a variable of the run."""
        return self.run.dataset[name].to_numpy()

    # ---- Records along the trajectory ----------------------------------------------------------------------------------------------

    times = _recorded("time")  # (T,): times of the records
    own = _recorded("own_correlations")  # (T, k, m, V): <w_{y,r}, v_{y,l}>
    max_correlation = _recorded("max_correlation")  # (T, k, V): Lambda_{y,l}
    total = _recorded("total_correlation")  # (T, k, V): C_{y,l}
    off_diagonal_max = _recorded("off_diagonal_max")  # (T, k): the largest <w_{y,r}, v_{s,l}> with s != y
    own_output_min = _recorded("own_output_min")  # (T, k): the least g_y(x_i) over i in N_y
    own_output_max = _recorded("own_output_max")  # (T, k): the largest g_y(x_i) over i in N_y
    other_output_max = _recorded("other_output_max")  # (T, k): the largest g_s(x_i) with s != y over i in N_y

    @cached_property
    def least_margin(self) -> np.ndarray:
        """(T, k): the least g_y(x_i) - max_{s != y} g_s(x_i) over i in N_y; NaN at records of versions that did not keep it."""
        known = "margin_min" in self.run.dataset
        return self.recorded("margin_min") if known else np.full_like(self.own_output_min, np.nan)

    @cached_property
    def log_loss(self) -> np.ndarray:
        """(T,): ln J, -inf where no double holds J."""
        return logarithm(self.recorded("loss"))

    training_accuracy = _recorded("training_accuracy")  # (T,): the fraction of training points that are right
    learned_fractions = _recorded("feature_learned")  # (T, k, V): the fraction of fresh draws on which each view suffices, as recorded

    @cached_property
    def feature_test(self) -> FeatureTest:
        """The fresh draws of the run."""
        return FeatureTest(self.parameters, self.run.provenance["options"]["n_test"], self.run.seed, self.threads)

    softmax_gap = _recorded("softmax_gap")  # (T, k): the mean of 1 - phi_y over the points of each class
    sharpness = _recorded("sharpness")  # (T,): the largest eigenvalue of the Hessian, NaN where it was not estimated

    @cached_property
    def entry_time(self) -> np.ndarray:
        """(k, V): when the first neuron of a class entered B_{y,l}, infinite if none has."""
        return _first_of_neurons(self.recorded("entry_time"))

    @cached_property
    def first_views(self) -> tuple[np.ndarray, np.ndarray]:
        """(k,) which view of each class entered B_{y,l} first, and (k,) whether any did."""
        return first_views(self.recorded("entry_time"), self.recorded("entry_step"))

    @cached_property
    def predicted_entry_time(self) -> np.ndarray:
        """(k, V): the same predicted from the start."""
        return _first_of_neurons(self.recorded("predicted_entry_time"))

    # ---- Full states ---------------------------------------------------------------------------------------------------------------

    @cached_property
    def snapshots(self) -> list[Snapshot]:
        """The saved full states in order of time, the initial one first and the final one last."""
        saved = [
            Snapshot(int(step), float(time), c)
            for step, time, c in zip(*(self.recorded(name) for name in ("snapshot_step", "snapshot_time", "correlations")), strict=True)
        ]
        final = Snapshot(int(self.recorded("final_step")), float(self.recorded("final_time")), self.run.final_correlations)
        return [snapshot for snapshot in saved if snapshot.step < final.step] + [final]

    @cached_property
    def late_snapshots(self) -> list[Snapshot]:
        """Some of those after the first escape, evenly chosen, `most_snapshots` at most; the final one is always among them."""
        return _evenly([s for s in self.snapshots[:-1] if s.time >= self.entry_time.min()] + self.snapshots[-1:], self.most_snapshots)

    @cached_property
    def open_snapshots(self) -> list[Snapshot]:
        """Some of those at which some Delta_y is log k or more, evenly chosen, `most_snapshots` at most; without any, the final one."""
        opened = [s for s in self.snapshots if diagnostics.is_open(diagnostics.view_gap(s.c, self.threshold)).any()]
        return _evenly(opened or self.snapshots[-1:], self.most_snapshots)

    @property
    def most_snapshots(self) -> int:
        """How many of them, by the work that they make."""
        pairs = min(self.data.N**2 * self.parameters.k, SAMPLED_PAIRS * self.parameters.k if not self._all_pairs else MOST_PAIR_OUTPUTS)
        return int(min(max(PAIR_OUTPUTS / pairs, FEWEST_SNAPSHOTS), MOST_SNAPSHOTS))

    def outputs(self, snapshot: Snapshot) -> np.ndarray:
        """Return (k, N): g_y(x_i)."""
        return self._once("outputs", snapshot, lambda: self.objective.outputs(snapshot.c))

    def total_at(self, snapshot: Snapshot) -> np.ndarray:
        """Return (k, V): C_{y,l}."""
        return diagnostics.total_correlation(snapshot.c, self.threshold)

    def gradient(self, snapshot: Snapshot) -> np.ndarray:
        """Return (k, m, k, V): the gradient of the training loss, the correlations <grad_{w_{y,r}} J, v_{s,l}>."""
        return self._once("gradient", snapshot, lambda: self.gradient_at(snapshot.c, snapshot.step))

    def gradient_at(self, c: np.ndarray, step: int) -> np.ndarray:
        """Return the gradient at c (k, m, k, V), with the points that are trained on in that step."""
        self.objective.begin_step(step)
        return self.objective.gradient(c)

    def mixed_points(self, snapshot: Snapshot) -> MixedPoints:
        """Return the mixed points of all ordered pairs, or of `SAMPLED_PAIRS` if there are too many."""
        return self._once("mixed points", snapshot, lambda: self.mixed_points_at(snapshot.c))

    def mixed_points_at(self, c: np.ndarray) -> MixedPoints:
        """Return the mixed points at c (k, m, k, V), the same pairs in the same order for every c."""
        if self._all_pairs:
            return all_mixed_points(self.objective.kernel, self.data.labels, c)
        first, second = stream(self.run.seed, "mixing").integers(self.data.N, size=(2, SAMPLED_PAIRS))
        return listed_mixed_points(self.objective.kernel, self.data.labels, c, first, second)

    @property
    def _all_pairs(self) -> bool:
        return self.data.N**2 * self.parameters.k <= MOST_PAIR_OUTPUTS

    @property
    def which_pairs(self) -> str:
        """What to add to a detail about `mixed_points`: nothing, if these are all pairs."""
        return "" if self._all_pairs else f"; {SAMPLED_PAIRS} pairs drawn at random"

    def pairs_of_class(self, snapshot: Snapshot, y: int) -> MixedPoints:
        """Return the |N_y| N mixed points with i in N_y, i slowest, in the order of the data."""
        members, everyone = np.flatnonzero(self.data.labels == y), np.arange(self.data.N)
        first, second = np.repeat(members, self.data.N), np.tile(everyone, len(members))
        return self._once(
            f"pairs of class {y}", snapshot, lambda: listed_mixed_points(self.objective.kernel, self.data.labels, snapshot.c, first, second)
        )

    @cached_property
    def _cache(self) -> dict[tuple[str, int], Any]:
        return {}

    def _once(self, what: str, snapshot: Snapshot, compute: Callable[[], Computed]) -> Computed:
        key = (what, snapshot.step)
        if key not in self._cache:
            self._cache[key] = compute()
        value: Computed = self._cache[key]
        return value


def _first_of_neurons(times: np.ndarray) -> np.ndarray:
    """Return (k, V): the least of times (k, m, V), infinite if all are NaN."""
    return np.where(np.isnan(times), np.inf, times).min(axis=1)


def _evenly(snapshots: list[Snapshot], most: int) -> list[Snapshot]:
    """Return that many of them at most, the last one among these."""
    chosen = np.unique(np.linspace(len(snapshots) - 1, 0, most).round().astype(int))
    return [snapshots[i] for i in chosen]
