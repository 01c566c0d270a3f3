"""What is kept of a trajectory, and as which variables. Knows nothing of how the trajectory is made or where it is saved."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mvsim import diagnostics
from mvsim.errors import DivergedError, NotFiniteError
from mvsim.integrators import Integrator, State
from mvsim.linalg.norm import norm
from mvsim.linalg.power_iteration import largest_eigenvalue
from mvsim.objectives import Objective
from mvsim.random_streams import stream
from mvsim.recording.entries import EscapeLog, first_views, predicted_escape_times
from mvsim.recording.feature_test import FeatureTest

if TYPE_CHECKING:
    import xarray as xr

SHARPNESS_EVERY = 20
"""Records between two estimates of the sharpness, each of which costs `SHARPNESS_PRODUCTS` Hessian-vector products at most."""

SHARPNESS_PRODUCTS = 10

MEMORY = "memory_"
"""What the names of variables begin with in which an integrator keeps what it needs to go on."""

Measure = Callable[["Recorder", State, dict[str, Any]], Any]


class Quantity(NamedTuple):
    """A recorded quantity: its dimensions after time, what it is in words, and the function that measures it."""

    dims: tuple[str, ...]
    meaning: str
    measure: Measure


# A new quantity needs an entry here and one in mvsim.archive.schema: in OPTIONAL if files without it are to stay readable, else in VARIABLES with
# the next FORMAT.
MEASURES: dict[str, Quantity] = {
    "step": Quantity((), "steps taken", lambda self, state, now: np.int64(state.step)),
    "loss": Quantity((), "training loss", lambda self, state, now: now["loss"]),
    "training_accuracy": Quantity(
        (),
        "fraction of training points with argmax_s g_s(x_i) = y_i",
        lambda self, state, now: diagnostics.correct(now["outputs"], self.labels).mean(),
    ),
    "gradient_norm": Quantity((), "norm of the gradient of the training loss", lambda self, state, now: norm(now["gradient"])),
    "sharpness": Quantity((), "largest eigenvalue of the Hessian of the training loss, from below", lambda self, state, now: self.sharpness(state)),
    "dissipation": Quantity(
        (), "integral of |grad J|^2 dt from the start; of a flow J(0) - J(t)", lambda self, state, now: np.float64(state.dissipation)
    ),
    "log_dissipation": Quantity(
        (), "integral of |grad J|^2 / J dt from the start; of a flow ln J(0) - ln J(t)", lambda self, state, now: np.float64(state.log_dissipation)
    ),
    "turning_rate": Quantity(
        (), "|H g| / |g|: how fast the gradient g turns along itself", lambda self, state, now: self.turning_rate(state, now["gradient"])
    ),
    "own_correlations": Quantity(("class", "neuron", "view"), "<w_{y,r}, v_{y,l}>", lambda self, state, now: diagnostics.own_correlations(state.c)),
    "max_correlation": Quantity(
        ("class", "view"), "Lambda_{y,l} = max_r <w_{y,r}, v_{y,l}>", lambda self, state, now: diagnostics.max_correlation(state.c)
    ),
    "total_correlation": Quantity(
        ("class", "view"),
        "C_{y,l}, sum of the own correlations in B_{y,l}",
        lambda self, state, now: diagnostics.total_correlation(state.c, self.threshold),
    ),
    "active_neurons": Quantity(
        ("class", "view"), "size of B_{y,l}", lambda self, state, now: diagnostics.active_neurons(state.c, self.threshold).sum(axis=1)
    ),
    "feature_learned": Quantity(
        ("class", "view"),
        "fraction of fresh draws on which view l alone suffices (Definition 4.5)",
        lambda self, state, now: self.feature_test.fraction_learned(state.c),
    ),
    "view_gap": Quantity(("class",), "Delta_y = |C_{y,1} - C_{y,2}|", lambda self, state, now: diagnostics.view_gap(state.c, self.threshold)),
    "softmax_gap": Quantity(
        ("class",), "mean of 1 - phi_y over the training points of the class", lambda self, state, now: self.mean_softmax_gap(now["outputs"])
    ),
    "own_output_min": Quantity(("class",), "least g_y(x_i) over the training points of class y", lambda self, state, now: now["own_outputs"].min),
    "own_output_max": Quantity(("class",), "largest g_y(x_i) over the training points of class y", lambda self, state, now: now["own_outputs"].max),
    "other_output_max": Quantity(
        ("class",), "largest g_s(x_i) with s != y over the training points of class y", lambda self, state, now: now["own_outputs"].others_max
    ),
    "off_diagonal_max": Quantity(("class",), "largest <w_{y,r}, v_{s,l}> with s != y", lambda self, state, now: now["off_diagonal"].max(axis=1)),
    "off_diagonal_min": Quantity(("class",), "least <w_{y,r}, v_{s,l}> with s != y", lambda self, state, now: now["off_diagonal"].min(axis=1)),
    "off_diagonal_rms": Quantity(
        ("class",), "root mean square of <w_{y,r}, v_{s,l}> with s != y", lambda self, state, now: np.sqrt((now["off_diagonal"] ** 2).mean(axis=1))
    ),
}

MEANINGS = {
    "time": "time of the flow; of gradient descent eta times steps",
    "signal_strength": "S_{y,l} = (1/N) sum over own points and patches of beta^alpha",
    "correlations": "<w_{y,r}, v_{s,l}> at a few times",
    "snapshot_time": "time of each of these",
    "snapshot_step": "step of each of these",
    "final_correlations": "<w_{y,r}, v_{s,l}> at the last save",
    "final_step": "step of the last save",
    "final_time": "time of the last save",
    "escape_time": "time at which the own correlation entered B_{y,l}, NaN if it has not",
    "escape_step": "step of it, -1 if it has not",
    "predicted_escape_time": "the same time foretold from the initial state, infinite if it never grows or no double holds it",
    "final_evaluations": "gradients evaluated until then",
    "resume_correlations": "<w_{y,r}, v_{s,l}> where the run can be resumed",
    "resume_step": "step of it",
    "resume_time": "time of it",
    "resume_evaluations": "gradients evaluated until then",
    "resume_dissipation": "integral of |grad J|^2 dt until then",
    "resume_log_dissipation": "integral of |grad J|^2 / J dt until then",
    **{name: quantity.meaning for name, quantity in MEASURES.items()},
}


class Recorder:
    """Measures states and keeps the results.

    Parameters
    ----------
    objective : Objective
        Training loss, with its data.
    feature_test : FeatureTest
        Fresh draws for Definition 4.5.
    seed : int
        Seed of the run.
    """

    labels: np.ndarray
    feature_test: FeatureTest
    threshold: float
    escapes: EscapeLog
    predicted: np.ndarray

    def __init__(self, objective: Objective, feature_test: FeatureTest, seed: int) -> None:
        self.objective = objective
        self.labels = objective.data.labels
        self.feature_test = feature_test
        self.threshold = diagnostics.active_threshold(objective.parameters, objective.mixes)
        self.times: list[float] = []
        self.records: dict[str, list[Any]] = {name: [] for name in MEASURES}
        self.snapshots: list[State] = []
        self._opened = np.zeros(objective.parameters.k, dtype=bool)  # classes in which Delta_y has been log k or more
        self._seed = seed

    def start(self, state: State) -> None:
        """Take the initial state: the first record, and what it foretells."""
        self.escapes = EscapeLog.started(diagnostics.own_correlations(state.c), self.threshold)
        p, own = self.objective.parameters, diagnostics.own_correlations(state.c)
        self.predicted = predicted_escape_times(own, self.objective.log_growth_rates(), p.rho, p.alpha, self.threshold)
        self.record(state)

    def observe(self, before: State, after: State) -> None:
        """Take note of what escaped between two successive states."""
        self.escapes.observe(before, after)

    def record(self, state: State) -> None:
        """Measure a state and keep the results.

        Raises
        ------
        DivergedError
            If something that is measured is not finite; nothing is kept then.
        """
        try:
            values = self._measured(state)
        except NotFiniteError as error:
            raise DivergedError(f"at step {state.step} {error}; use a smaller step size") from None
        opened = self._opened | (values["view_gap"] >= np.log(len(state.c)))
        keep = _is_snapshot(state.step) or self._escapes_doubled(state.step) or _doubled(self._opened, opened)
        self._opened = opened
        self.times.append(state.time)
        for name, value in values.items():
            self.records[name].append(value)
        if keep:
            self.snapshots.append(state)

    def _measured(self, state: State) -> dict[str, Any]:
        """Return every quantity at a state."""
        self.objective.begin_step(state.step)  # a fresh draw, on which this state has not been trained
        loss, gradient = self.objective.loss_and_gradient(state.c)
        outputs = self.objective.outputs(state.c)
        now = {
            "loss": loss,
            "gradient": gradient,
            "outputs": outputs,
            "own_outputs": diagnostics.output_ranges(outputs, self.labels),
            "off_diagonal": diagnostics.off_diagonal_correlations(state.c).reshape(len(state.c), -1),
        }
        return {name: quantity.measure(self, state, now) for name, quantity in MEASURES.items()}

    def _escapes_doubled(self, step: int) -> bool:
        """Whether the number of views that have escaped has passed a power of two since the last record: those are the times to look at."""
        steps = np.where(self.escapes.step < 0, np.iinfo(np.int64).max, self.escapes.step).min(axis=1)
        return bool(self.times) and _doubled(steps <= self.last("step"), steps <= step)

    def forget_after(self, state: State, keep: bool) -> None:
        """Forget everything after a state, and with ``keep`` false its own record too: it lay where an earlier t_end cut, not on a mark."""
        steps = np.asarray(self.records["step"])
        count = int(np.searchsorted(steps, state.step, side="right" if keep else "left"))
        del self.times[count:]
        for values in self.records.values():
            del values[count:]
        self.snapshots = [snapshot for snapshot in self.snapshots if snapshot.step < state.step or (keep and snapshot.step == state.step)]
        k = len(self._opened)
        self._opened = (np.reshape(self.records["view_gap"], (-1, k)) >= np.log(k)).any(axis=0)
        self.escapes.forget_after(state.step)

    def last(self, name: str) -> Any:
        """Return the last recorded value of a quantity."""
        return self.records[name][-1]

    def sharpness(self, state: State) -> float:
        """Return the largest eigenvalue of the Hessian on every `SHARPNESS_EVERY`-th record, else NaN."""
        if len(self.times) % SHARPNESS_EVERY:
            return float("nan")
        start = stream(self._seed, "power iteration").standard_normal(state.c.shape)
        active = np.where(state.c >= self.threshold, state.c, 0.0)
        if active.any():  # the steep directions move the neurons that have escaped along what they have learned
            start = active / np.linalg.norm(active) + 0.01 * start / np.linalg.norm(start)
        return largest_eigenvalue(lambda v: self.objective.hessian_vector_product(state.c, v), start, SHARPNESS_PRODUCTS)[0]

    def turning_rate(self, state: State, gradient: np.ndarray) -> float:
        """Return |H g| / |g|, as often as the sharpness, else NaN."""
        size = norm(gradient)
        if len(self.times) % SHARPNESS_EVERY or not size > 0.0:
            return float("nan")
        return norm(self.objective.hessian_vector_product(state.c, gradient / size))

    def faithful_learning_rate(self, error: float) -> float:
        """Return the step size up to which gradient descent follows the gradient flow to a relative error, as far as it has been recorded.

        A step of size eta goes, to first order in eta, where the flow of c' = -g - (eta / 2) H g goes in that time: it follows another field,
        whose relative distance from -g is (eta / 2) |H g| / |g|. This is where eta = O(1 / poly(k)) is needed.
        """
        rates = [float(rate) for rate in self.records["turning_rate"] if rate > 0.0]
        return 2.0 * error / max(rates) if rates else float("inf")

    def foretold_winners(self) -> tuple[int, int]:
        """Return in how many classes the view foretold to escape first did so, and in how many any has escaped."""
        first, escaped = first_views(self.escapes.time, self.escapes.step)
        right = first == self.predicted.min(axis=1).argmin(axis=1)
        return int((right & escaped).sum()), int(escaped.sum())

    def mean_softmax_gap(self, outputs: np.ndarray) -> np.ndarray:
        """Return (k,): mean of 1 - phi_y over the training points of each class."""
        return diagnostics.class_mean(diagnostics.softmax_gap(outputs, self.labels), self.labels, len(outputs))

    def settled_since(self) -> float | None:
        """Return the time from which training accuracy has been 1 and Definition 4.5 has given the same answer for every feature, None if not now."""
        accuracy = np.asarray(self.records["training_accuracy"])
        learned = np.asarray(self.records["feature_learned"]) >= 1.0
        same = (accuracy == 1.0) & (learned == learned[-1]).all(axis=(1, 2))
        if not same[-1]:
            return None
        changes = np.flatnonzero(~same)
        return self.times[changes[-1] + 1] if len(changes) else self.times[0]

    def settles_at(self, factor: float) -> float | None:
        """Return when time will have grown by ``factor`` without a change, if none comes; None while training accuracy is below 1."""
        since = self.settled_since()
        return None if since is None else factor * max(since, self.times[min(1, len(self.times) - 1)])

    def settled(self, factor: float) -> bool:
        """Whether that time has come."""
        settles = self.settles_at(factor)
        return settles is not None and len(self.times) > 1 and bool(self.times[-1] >= settles)

    def to_dataset(self, state: State, resume: State, integrator: Integrator) -> xr.Dataset:
        """Return everything recorded, with ``state`` as the final one and ``resume`` as that from which the run can go on."""
        import xarray as xr

        p = self.objective.parameters
        variables: dict[str, Any] = {name: (("time", *quantity.dims), np.asarray(self.records[name])) for name, quantity in MEASURES.items()}
        variables["signal_strength"] = (("class", "view"), diagnostics.signal_strength(p, self.objective.data))
        dims = ("class", "neuron", "feature_class", "view")
        variables["correlations"] = (("snapshot", *dims), np.stack([s.c for s in self.snapshots]))
        variables["snapshot_time"] = (("snapshot",), np.array([s.time for s in self.snapshots]))
        variables["snapshot_step"] = (("snapshot",), np.array([s.step for s in self.snapshots], dtype=np.int64))
        variables["final_correlations"] = (dims, state.c)
        variables["final_step"] = ((), np.int64(state.step))
        variables["final_time"] = ((), np.float64(state.time))
        variables["final_evaluations"] = ((), np.int64(state.evaluations))
        own = ("class", "neuron", "view")
        variables["escape_time"], variables["escape_step"] = (own, self.escapes.time), (own, self.escapes.step)
        variables["predicted_escape_time"] = (own, self.predicted)
        variables["resume_correlations"] = (dims, resume.c)
        variables["resume_step"] = ((), np.int64(resume.step))
        variables["resume_time"] = ((), np.float64(resume.time))
        variables["resume_evaluations"] = ((), np.int64(resume.evaluations))
        variables["resume_dissipation"] = ((), np.float64(resume.dissipation))
        variables["resume_log_dissipation"] = ((), np.float64(resume.log_dissipation))
        for name, values in integrator.pack(resume.memory).items():
            variables[MEMORY + name] = (tuple(f"{MEMORY}{size}" for size in values.shape), values)
        dataset = xr.Dataset(variables, {"time": np.asarray(self.times), "class": np.arange(p.k), "view": np.arange(2)})
        for name, meaning in MEANINGS.items():
            dataset[name].attrs = {"long_name": meaning, "units": "dimensionless"}
        return dataset

    def restore(self, dataset: xr.Dataset, integrator: Integrator) -> tuple[State, State]:
        """Take over the records of a saved run; return its final state and the one from which it can go on."""
        self.times = dataset["time"].values.tolist()
        nothing = np.full(len(self.times), np.nan)  # runs of earlier versions lack what is measured since
        self.records = {name: list(dataset[name].values if name in dataset else nothing) for name in MEASURES}
        self.snapshots = [
            State(int(step), float(time), c.copy())
            for step, time, c in zip(dataset["snapshot_step"].values, dataset["snapshot_time"].values, dataset["correlations"].values, strict=True)
        ]
        self.escapes = EscapeLog(self.threshold, dataset["escape_time"].values.copy(), dataset["escape_step"].values.copy())
        self.predicted = dataset["predicted_escape_time"].values
        resume = State(
            int(dataset["resume_step"]),
            float(dataset["resume_time"]),
            dataset["resume_correlations"].values.copy(),
            int(dataset["resume_evaluations"]),
            float(dataset.get("resume_dissipation", np.nan)),
            float(dataset.get("resume_log_dissipation", np.nan)),
            integrator.unpack({str(name).removeprefix(MEMORY): values.values for name, values in dataset.items() if str(name).startswith(MEMORY)}),
        )
        evaluations = int(dataset["final_evaluations"])
        return State(int(dataset["final_step"]), float(dataset["final_time"]), dataset["final_correlations"].values.copy(), evaluations), resume


def _is_snapshot(step: int) -> bool:
    """Whether a step is 0, or 1, 2 or 5 times a power of ten."""
    return step == 0 or str(step).rstrip("0") in ("1", "2", "5")


def _doubled(before: np.ndarray, now: np.ndarray) -> bool:
    """Whether the number of true entries has passed a power of two."""
    return int(now.sum()).bit_length() > int(before.sum()).bit_length()
