"""One run, from its first record to its last save."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from mvsim.archive import collect_provenance, write_run
from mvsim.data import Dataset, sample_dataset
from mvsim.diagnostics import signal_strength
from mvsim.errors import DivergedError, Interrupted, StalledError, UsageError
from mvsim.initialisation import initial_correlations
from mvsim.integrators import INTEGRATORS, Integrator, State, Visit
from mvsim.learning import FeatureTest, count_classes
from mvsim.objectives import OBJECTIVES, Objective, options_of
from mvsim.recorder import Recorder
from mvsim.run import Run
from mvsim.simulation.field import field_of
from mvsim.simulation.progress import compilation_announced
from mvsim.simulation.request import Request
from mvsim.simulation.resuming import refuse_going_back, refuse_other_run
from mvsim.simulation.signals import signals_remembered
from mvsim.summary import summarise

SETTLED_FACTOR = 10.0
"""A run has settled when what it measures has stayed the same while time grew by this factor."""

LEARNING_RATE_PER_CLASS = 6.0
"""Times k, a step size of gradient descent that stays below 2 / lambda_max in the default regime."""

AFFORDABLE = {True: 6_000, False: 40_000}
"""Gradients worth waiting for where nobody says when to stop, by whether the loss mixes pairs."""

FAITHFUL = 0.01
"""Relative error of the speed at which gradient descent counts as following the flow."""

DISPLAY_SECONDS = 0.2
"""Time between two words to the display."""


class Session:
    """One call of `mvsim.simulate`.

    Parameters
    ----------
    request : Request
        What is asked for.
    saved : tuple, optional
        Data set and provenance of the run to continue.

    Raises
    ------
    UsageError
        If the saved run is not the one that is asked for.
    """

    state: State
    resume: State
    wall_before: float

    def __init__(self, request: Request, saved: Any) -> None:
        self.request, self.saved, self.parameters, self.progress = request, saved, request.parameters, request.progress
        self.warned = False
        self.objective = _objective(request)
        _check_signal_strength(self.objective, request.data)
        self.integrator = self._integrator()
        t_end = None if request.t_end is None else float(request.t_end)
        self.horizon = self.integrator.horizon(t_end)
        self.regime = self.parameters.deviations() + self.objective.deviations() + self.integrator.deviations()
        feature_test = FeatureTest(self.parameters, request.n_test, request.seed, request.threads, request.backend)
        self.recorder = Recorder(self.objective, feature_test, request.seed)
        self.provenance: dict[str, Any] = {
            **collect_provenance(),
            "parameters": self.parameters.model_dump(mode="json"),
            "method": request.method,
            "seed": int(request.seed),
            "integrator": {**self.integrator.options(), "t_end": t_end, "settled_factor": float(request.settled_factor)},
            "options": {
                "n_test": request.n_test, "backend": request.backend, **_origin(request.data), **self.objective.options(),
                "algorithm": self.objective.describe(),
            },
            "regime": [deviation.as_dict() for deviation in self.regime],
            "settled": None,
            "wall_seconds": 0.0,
        }  # fmt: skip
        if saved:
            first = ("version", "git_revision", "command", "versions", "platform", "created")
            self.provenance["continued"] = [*saved[1].get("continued", []), {name: self.provenance[name] for name in first}]
            self.provenance.update({name: saved[1][name] for name in first})
            refuse_other_run(self.provenance, saved[1], request.out)
            refuse_going_back(saved, t_end, self.integrator, request.out)

    def _integrator(self) -> Integrator:
        """Return the integrator, with the option that is asked for, that of the saved run, or the default."""
        chosen = INTEGRATORS[self.request.integrator]
        before = self.saved[1]["integrator"] if self.saved else {}
        kept = before.get(chosen.option) if before.get("name") == chosen.name else None
        field = field_of(self.objective, LEARNING_RATE_PER_CLASS * self.parameters.k, AFFORDABLE[self.objective.mixes])
        return chosen(field, kept if self.request.option is None else self.request.option)

    def run(self) -> Run:
        """Step until the run ends, one way or another, and save it; a finished run that has nothing left to do is left as it is."""
        info = {"step": int(self.saved[0]["final_step"]) if self.saved else 0, "steps": self.integrator.steps_until(self.horizon)}
        with compilation_announced(self.progress, info) as ready:
            left = self._begin()
            ready()
            if not left:
                return Run(self.saved[0], self.saved[1], Path(self.request.out or ""))
            with signals_remembered() as interrupted:  # the last save is a part of the run
                try:
                    self._step(interrupted)
                except (DivergedError, StalledError) as error:
                    self._save("diverged" if isinstance(error, DivergedError) else "stalled", f"Stopped: {error}.")
                    raise
                except KeyboardInterrupt:
                    self._save("interrupted", f"Interrupted at step {self.state.step}, t = {self.state.time:.4g}; it can be resumed.")
                    raise self._interruption("") from None
                run = self._save("finished", self._outcome())
        self.progress.finish({"summary": run.summary})
        if interrupted():
            raise self._interruption(" when it had finished")
        return run

    def _interruption(self, when: str) -> Interrupted:
        place = "" if self.request.out is None else f"; saved in {self.request.out}"
        return Interrupted(f"interrupted{when} at step {self.state.step}, t = {self.state.time:.4g}{place}")

    def _begin(self) -> bool:
        """Compile, restore or start, and take the first record; return whether anything is left to do."""
        self.started = self.last_saved = self.last_update = time.monotonic()
        if self.saved:
            self.state, self.resume = self.recorder.restore(self.saved[0], self.integrator)
            self.wall_before = self.saved[1]["wall_seconds"]
            if self.saved[1]["status"] == "finished" and self._finished():
                return False
            self.recorder.forget_after(self.resume, keep=self.integrator.is_mark(self.resume) or self.resume.time >= self.horizon)
            self.state = self.resume
            self.objective.gradient(self.state.c)
        else:
            c = initial_correlations(self.parameters, self.request.seed)
            self.state, self.wall_before = State(0, 0.0, c), 0.0
            self.resume = self.state
            self.recorder.start(self.state)
            self._warn_of_large_steps()
        self.first_step, self.stepping_since = self.state.step, time.monotonic()
        return True

    def _step(self, interrupted: Callable[[], bool]) -> None:
        """Step to the end, which has a record."""
        if not self._finished():
            for visit in self.integrator.trajectory(self.resume, self.horizon):
                self._arrive(visit)
                self._warn_of_large_steps()
                if interrupted():
                    raise KeyboardInterrupt
                self._tell()
                if visit.mark and self._finished():
                    break
        if self.recorder.last("step") != self.state.step:  # where it was interrupted is where it is now to end
            self.recorder.record(self.state)

    def _finished(self) -> bool:
        return self._reached() or (self.request.t_end is None and self._settled())

    def _reached(self) -> bool:
        return self.state.time >= self.horizon * (1.0 - 1e-12)

    def _settled(self) -> bool:
        settles, times = self._settles_at(), self.recorder.times
        return settles is not None and len(times) > 1 and times[-1] >= settles

    def _settles_at(self) -> float | None:
        """Return when the run has settled if nothing changes any more; None while training accuracy is below 1."""
        since, times = self.recorder.settled_since(), self.recorder.times
        return None if since is None else self.request.settled_factor * max(since, times[min(1, len(times) - 1)])

    def _arrive(self, visit: Visit) -> None:
        """Take note of a state: escapes, the record if it is due, where to resume."""
        self.recorder.observe(self.state, visit.state)
        if visit.mark:
            self.recorder.record(visit.state)
        self.state = visit.state
        if visit.resumable:
            self.resume = self.state

    def _tell(self) -> None:
        """Tell the display and the file how it goes, if it is time to."""
        now = time.monotonic()
        if now - self.last_update >= DISPLAY_SECONDS:
            self.last_update = now
            self.progress.update(self._status())
        if self.request.out is not None and now - self.last_saved >= self.request.checkpoint_seconds:
            self._save("running", "Still running when this was saved.")

    def _warn_of_large_steps(self) -> None:
        rate, sharpness = self.integrator.learning_rate, self.recorder.last("sharpness")
        if rate is None or self.warned or not sharpness > 2.0 / rate:
            return
        self.warned = True
        what = f"eta={rate:g} exceeds 2 / lambda_max = {2.0 / sharpness:.4g} at step {self.recorder.last('step')}"
        warnings.warn(f"{what}: gradient descent need not follow the loss downhill; use a smaller eta", stacklevel=5)

    def _status(self) -> dict[str, Any]:
        elapsed = time.monotonic() - self.stepping_since
        rate = (self.state.step - self.first_step) / elapsed if elapsed > 0 else 0.0
        steps = self.integrator.steps_until(self.horizon)
        return {
            "step": self.state.step,
            "steps": steps,
            "time": self.state.time,
            "until": self._settles_at() if self.request.t_end is None else self.horizon,
            "loss": float(self.recorder.last("loss")),
            "training_accuracy": float(self.recorder.last("training_accuracy")),
            **count_classes(self.recorder.last("feature_learned")),
            "rate": rate,
            "eta_seconds": (steps - self.state.step) / rate if steps is not None and rate > 0 else None,
        }

    def _outcome(self) -> str:
        """Say how a run that is over ended, and what there is to know about it."""
        return " ".join([self._ending(), *self._foretold(), *self._faithful_steps(), *self.objective.caveats(self.state.c)])

    def _ending(self) -> str:
        since = self.recorder.settled_since()
        if self._settled():
            return f"Settled: training accuracy 1 and no change by Definition 4.5 since t = {since:.4g}."
        why = "training accuracy is below 1"
        if since is not None:
            why = f"the last change by Definition 4.5 was at t = {since:.4g}; without another it settles at t = {self._settles_at():.4g}"
        steps = self.integrator.steps_until(self.horizon)
        limit = f"the default limit of {steps} steps (t_end sets another)" if steps is not None else f"t = {self.horizon:.4g}"
        limit = "t_end" if self.request.t_end is not None else limit
        return f"Not settled at {limit}: {why}."

    def _foretold(self) -> list[str]:
        """Say how well the initial state foretold which view of each class escapes first."""
        right, of = self.recorder.foretold_winners()
        return [f"The first view to escape was foretold by the initial state in {right} of {of} classes."] if of else []

    def _faithful_steps(self) -> list[str]:
        """Say which step size gradient descent would need to stay close to this flow."""
        eta = self.recorder.faithful_learning_rate(FAITHFUL)
        if self.integrator.learning_rate is not None or not math.isfinite(eta):
            return []
        steps = self.state.time / eta
        return [f"Gradient descent follows it to {100 * FAITHFUL:g} % for eta up to {eta:.3g}: {steps:.3g} steps."]

    def _save(self, status: str, ending: str) -> Run:
        """Put the run together as it stands and write it, if it has a file."""
        self.last_saved = time.monotonic()
        request = self.request
        summary = summarise(
            self.parameters, self.objective.label, request.seed, count_classes(self.recorder.last("feature_learned")),
            float(self.recorder.last("training_accuracy")), request.n_test, self.recorder.times[-1], self.integrator.clock(self.state), ending,
            self.regime,
        )  # fmt: skip
        eta = self.recorder.faithful_learning_rate(FAITHFUL)
        provenance = {
            **self.provenance,
            "status": status,
            "summary": summary,
            "wall_seconds": self.wall_before + self.last_saved - self.started,
            "settled": bool(self._settled()) if status == "finished" else None,
            "faithful_eta": eta if math.isfinite(eta) else None,
        }
        dataset = self.recorder.to_dataset(self.state, self.resume, self.integrator)
        # A resumed run first goes again through what was saved beyond the state from which it can go on: until then the file knows more.
        behind = status in ("running", "interrupted") and self.saved and self.state.step < int(self.saved[0]["final_step"])
        if request.out is not None and not behind:
            write_run(request.out, dataset, provenance)
        return Run(dataset, provenance, None if request.out is None else Path(request.out))


def _objective(request: Request) -> Objective:
    """Return the training loss on the points that are asked for."""
    data = sample_dataset(request.parameters, request.seed) if request.data is None else request.data
    options = request.objective_options
    if "seed" in options_of(request.method):
        options = {"seed": request.seed, **options}
    return OBJECTIVES[request.method](request.parameters, data, request.backend, request.threads, **options)


def _check_signal_strength(objective: Objective, given: Dataset | None) -> None:
    """Raise `UsageError` if S_{y,l} is no double: a run records it."""
    p = objective.parameters
    if np.isfinite(signal_strength(p, objective.data)).all():
        return
    wrong = f"alpha={p.alpha:g}, {f'delta2={p.delta2:g}' if given is None else 'data'}"
    raise UsageError(f"{wrong}: beta^alpha, summed for the signal strength, is beyond double precision; take a smaller alpha or smaller coefficients")


def _origin(given: Dataset | None) -> dict[str, Any]:
    """Return what the provenance says of the training points: nothing of those that parameters and seed fix."""
    return {} if given is None else {"data": given.digest()}
