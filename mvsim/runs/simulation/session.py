"""One run, from its first record to its last save."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mvsim.base.errors import DivergedError, Interrupted, StalledError
from mvsim.base.signals import remember_signals
from mvsim.base.warn import warn
from mvsim.flow import State, Visit
from mvsim.multi_view.initialisation import initial_correlations
from mvsim.runs.archive import plain_attributes, without_resuming, write_run
from mvsim.runs.recording.fresh_draws import count_classes
from mvsim.runs.recording.saving import to_dataset
from mvsim.runs.run import Run
from mvsim.runs.simulation.estimate import LONG, estimate_of
from mvsim.runs.simulation.pace import Pace, escape_progress
from mvsim.runs.simulation.plan import plan_of
from mvsim.runs.simulation.progress import Silent, announce_compilation
from mvsim.runs.simulation.request import Request
from mvsim.runs.simulation.resuming import restore_run, warn_of_other_kernels
from mvsim.runs.simulation.summary import ended, facts, faithful_eta, number, summary

DISPLAY_SECONDS = 0.2
"""Seconds between two updates of the display."""

SAVES_APART = 20.0
"""A run is stepped so many times as long as the last save took before it is saved again: a large file takes long to write."""


class Session:
    """Runs one call of `mvsim.simulate`: start or resume, step, record, save."""

    state: State
    resume: State

    def __init__(self, request: Request, saved: Any) -> None:
        self.request = request
        self.parameters = request.parameters
        self.options = request.options
        self.saved = saved
        self.reached = int(saved[0]["final_step"]) if saved else 0
        self.warned = False
        self.wall_before = saved[1]["wall_seconds"] if saved else 0.0
        self.plan = plan_of(request, saved)
        self.objective = self.plan.objective
        self.integrator = self.plan.integrator
        self.horizon = self.plan.horizon
        self.recorder = self.plan.recorder
        self.progress = request.progress

    def run(self) -> Run:
        """Step until the run ends, one way or another, and save it; a finished run that has nothing left to do is left as it is."""
        self.started = self.last_saved = self.last_update = time.monotonic()
        self.saving = 0.0
        info = {"step": 0, "repeated": 0, "steps": self.integrator.steps_until(self.horizon)}
        if self.saved:
            info |= {"step": int(self.saved[0]["resume_step"]), "repeated": self.reached}
        with announce_compilation(self.progress, info) as ready:
            if self.saved:
                self.state, self.resume = restore_run(self.recorder, self.saved[0], self.integrator, self.options.out)
                if self.saved[1]["status"] == "finished" and self._finished():
                    return Run(without_resuming(self.saved[0]), self.saved[1], Path(self.options.out or ""))
            self._begin()
            ready()
            self._say_if_it_takes_long(info)
            self.saved = None  # large, and taken over by the recorder
            with remember_signals() as interrupted:  # the last save is a part of the run
                try:
                    self._step(interrupted)
                except (DivergedError, StalledError) as error:
                    status = "diverged" if isinstance(error, DivergedError) else "stalled"
                    self._save(status, f"{status} at t = {number(self.state.time)}", [f"Stopped: {error}."])
                    raise
                except KeyboardInterrupt:
                    self._save("interrupted", f"interrupted at step {self.state.step}, t = {number(self.state.time)}", ["It can be resumed."])
                    raise self._interruption("") from None
                ending = ended(self.recorder, self.integrator, self.horizon, self.options.t_end, self.options.settled_factor)
                run = self._save("finished", ending, facts(self.recorder, self.state, self.integrator, self.options.settled_factor))
        self.progress.finish({"summary": run.summary})
        if interrupted():
            raise self._interruption(" when it had finished")
        return run

    def _say_if_it_takes_long(self, info: dict[str, Any]) -> None:
        """Tell the display what a run will take that has just begun, if that is long; how much of a resumed one is left nobody knows."""
        if not self.saved and not isinstance(self.progress, Silent):
            estimate = estimate_of(self.request, self.plan)
            if estimate.seconds[1] > LONG:
                self.progress.start({**info, "compiling": False, "seconds": estimate.seconds})

    def _interruption(self, when: str) -> Interrupted:
        place = "" if self.options.out is None else f"; saved in {self.options.out}"
        again = f", goes on from step {self.resume.step}" if place and self.resume.step < self.state.step and not when else ""
        return Interrupted(f"interrupted{when} at step {self.state.step}, t = {self.state.time:.4g}{place}{again}")

    def _begin(self) -> None:
        """Go back to where the run can be resumed, or start it; compile, and take the first record."""
        if self.saved:
            warn_of_other_kernels(self.objective.describe(), self.saved[1], self.options.out)
            self.recorder.forget_after(self.resume, keep=self.integrator.is_mark(self.resume) or self.resume.time >= self.horizon)
            self.state = self.resume
            self.objective.gradient(self.state.c)
        else:
            c = initial_correlations(self.parameters, self.options.seed)
            self.state = self.resume = State(0, 0.0, c)
            self.recorder.start(self.state)
            self._warn_of_large_steps()
        self.pace = Pace(self.state.step)

    def _step(self, interrupted: Callable[[], bool]) -> None:
        """Step to the end, which has a record."""
        if not self._finished():
            for visit in self.integrator.trajectory(self.resume, self.horizon):
                self._arrive(visit)
                self._warn_of_large_steps()
                if interrupted():
                    raise KeyboardInterrupt
                self._report()
                if visit.mark and self._finished():
                    break
        if self.recorder.last("step") != self.state.step:  # where it was interrupted is where it is now to end
            self.recorder.record(self.state)

    def _finished(self) -> bool:
        return self.plan.is_over(self.state.time, self.options)

    def _arrive(self, visit: Visit) -> None:
        """Take note of a state: escapes, the record if it is due, where to resume."""
        self.recorder.observe(self.state, visit.state)
        if visit.mark:
            self.recorder.record(visit.state)
        self.state = visit.state
        if visit.resumable:
            self.resume = self.state

    def _report(self) -> None:
        """Tell the display and the file how it goes, if it is time to."""
        now = time.monotonic()
        if now - self.last_update >= DISPLAY_SECONDS:
            self.last_update = now
            self.progress.update(self._status())
        if self.options.out is not None and now - self.last_saved >= max(self.options.checkpoint_seconds, SAVES_APART * self.saving):
            self._save("running", "running when this was saved", [])

    def _warn_of_large_steps(self) -> None:
        rate, sharpness = self.integrator.learning_rate, self.recorder.last("sharpness")
        if rate is None or self.warned or not sharpness > 2.0 / rate:
            return
        self.warned = True
        what = f"eta={rate:g} exceeds 2 / lambda_max = {2.0 / sharpness:.4g} at step {self.recorder.last('step')}"
        warn(f"{what}: gradient descent need not follow the loss downhill; use a smaller eta")

    def _status(self) -> dict[str, Any]:
        rate = self.pace.steps_per_second(self.state.step)
        steps = self.integrator.steps_until(self.horizon)
        until = self.recorder.settling.settles_at(self.options.settled_factor) if self.options.t_end is None else self.horizon
        left = self.pace.seconds_to(self.state.time, until)
        if steps is not None:
            left = (steps - self.state.step) / rate if rate > 0 else None
        return {
            "step": self.state.step,
            "steps": steps,
            "time": self.state.time,
            "until": until,
            "escapes": escape_progress(self.recorder, self.state.time),
            "loss": float(self.recorder.last("loss")),
            "training_accuracy": float(self.recorder.last("training_accuracy")),
            "classes": count_classes(self.recorder.last("feature_learned")),
            "rate": rate,
            "seconds_left": left,
        }

    def _save(self, status: str, ending: str, sentences: list[str]) -> Run:
        """Put the run together as it stands and write it, if it has a file."""
        begun, out = time.monotonic(), self.options.out
        provenance = {
            **self.plan.provenance,
            "status": status,
            "summary": summary(
                self.recorder, self.options.seed, self.integrator.clock(self.state), self.state.time, ending, sentences, self.plan.regime
            ),
            "wall_seconds": self.wall_before + time.monotonic() - self.started,
            "settled": self.recorder.settling.reached(self.options.settled_factor) if status == "finished" else None,
            "faithful_eta": faithful_eta(self.recorder),
        }
        dataset = to_dataset(self.recorder, self.state, self.resume, self.integrator)
        # A resumed run first repeats the steps after its restart point; until it has caught up, the file is newer and is not overwritten.
        behind = status in ("running", "interrupted") and self.state.step < self.reached
        if out is not None and not behind:
            write_run(out, dataset, provenance)
        self.last_saved = time.monotonic()  # when it is written: a run has so long for its steps, however long saving takes
        self.saving = self.last_saved - begun
        described = without_resuming(dataset).assign_attrs(plain_attributes(provenance))
        return Run(described, provenance, None if out is None else Path(out))
