"""The one loop over time: draws the problem, steps it, records it, saves it."""

from __future__ import annotations

import math
import os
import signal
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from mvsim.archive import collect_provenance, ensure_writable, lock_run, read_run, write_run
from mvsim.data import sample_dataset
from mvsim.errors import DivergedError, Interrupted, UsageError
from mvsim.initialisation import initial_correlations
from mvsim.integrators import INTEGRATORS, Integrator, State
from mvsim.kernels import BACKENDS
from mvsim.learning import FeatureTest, count_classes
from mvsim.memory import check_memory
from mvsim.objectives import OBJECTIVES, Objective, check_name, check_options, options_of
from mvsim.parameters import Parameters
from mvsim.recorder import Recorder
from mvsim.run import Run
from mvsim.streams import check_seed
from mvsim.summary import summarise

SETTLED_FACTOR = 10.0
"""A run has settled when what it measures has stayed the same while time grew by this factor."""

DEFAULT_STEPS = {True: 6_000, False: 40_000}
"""Steps of gradient descent after which a run without t_end stops even if it has not settled: of a loss that mixes pairs, and of one that does not.

Either takes some five minutes at k = 50 on two cores."""


MOST_STEPS = 1e15
"""Beyond this nobody waits, and steps could not be counted exactly."""


class Progress(Protocol):
    """What `simulate` tells a display; see `mvsim.cli.progress` for two."""

    def start(self, info: dict[str, Any]) -> None:
        """Learn that the run is about to step; ``info`` has ``compiling`` (it still prepares), ``step`` and ``steps``."""

    def update(self, status: dict[str, Any]) -> None:
        """Learn that steps were taken."""

    def finish(self, summary: dict[str, Any]) -> None:
        """Learn that the run ended."""


class _Silent:
    def start(self, info: dict[str, Any]) -> None: ...
    def update(self, status: dict[str, Any]) -> None: ...
    def finish(self, summary: dict[str, Any]) -> None: ...


def simulate(
    parameters: Parameters,
    method: str = "midpoint",
    seed: int = 0,
    integrator: str = "gd",
    learning_rate: float | None = None,
    t_end: float | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    force: bool = False,
    backend: str = "auto",
    threads: int | None = None,
    n_test: int = 20,
    checkpoint_seconds: float = 10.0,
    progress: Progress | None = None,
    **objective_options: Any,
) -> Run:
    """Train one network from ``initial_correlations(parameters, seed)`` on ``sample_dataset(parameters, seed)`` and record the trajectory.

    Parameters
    ----------
    parameters : Parameters
        The problem.
    method : str
        Training loss, a key of `mvsim.objectives.OBJECTIVES`.
    seed : int
        Fixes data, initial weights and fresh draws.
    integrator : str
        A key of `mvsim.integrators.INTEGRATORS`.
    learning_rate : float, optional
        Step size eta of gradient descent; default `default_learning_rate`.
    t_end : float, optional
        Time (eta times steps) to stop at: the first step that reaches it is the last. Without it a run goes on until it has settled, that
        is, until training accuracy is 1 and the answer of Definition 4.5 has not changed for any feature while time grew tenfold, but
        not beyond `DEFAULT_STEPS` steps.
    out : path, optional
        Run file; without it nothing is saved.
    resume : bool
        Continue the run in ``out``, or start it if nothing was saved.
    force : bool
        Overwrite ``out``.
    backend : {"auto", "numpy", "numba"}
        See `mvsim.objective`.
    threads : int, optional
        Threads to compute with; default all available cores. The bits do not depend on it.
    n_test : int
        Fresh draws for each class on which Definition 4.5 is tested.
    checkpoint_seconds : float
        Seconds between two saves.
    progress : Progress, optional
        Is told how the run goes.
    **objective_options
        Options of the training loss, e.g. ``mixing`` for `mvsim.objectives.Mixup`; its seed is that of the run.

    Returns
    -------
    Run

    Raises
    ------
    UsageError
        If an argument is out of its domain, the problem does not fit in memory, or the file cannot be used.
    DivergedError
        If a value is not finite; the last good state has been saved.
    Interrupted
        If SIGINT arrives while stepping; the last state has been saved.
    """
    if not isinstance(parameters, Parameters):
        raise UsageError(f"parameters={parameters!r}: must be mvsim.Parameters(...)")
    check_seed(seed)
    check_name(method)
    for name, value, known in (("integrator", integrator, INTEGRATORS), ("backend", backend, BACKENDS)):
        if not isinstance(value, str) or value not in known:
            raise UsageError(f"{name}={value!r}: must be one of {', '.join(known)}")
    check_options(method, objective_options)
    t_end = None if t_end is None else _positive("t_end", t_end)
    learning_rate = None if learning_rate is None else _positive("eta", learning_rate)
    checkpoint_seconds = _positive("checkpoint_seconds", checkpoint_seconds, most=math.inf)
    if out is not None and not isinstance(out, (str, os.PathLike)):
        raise UsageError(f"out={out!r}: must be the name of a file")
    if resume and out is None:
        raise UsageError("resume=True: needs out, the run file to continue")
    check_memory(parameters, OBJECTIVES[method].mixes, backend, n_test)
    with ExitStack() as stack:
        if out is not None:
            stack.enter_context(lock_run(out))
            ensure_writable(out, force=force, resume=resume)
        saved = read_run(out) if out is not None and resume and Path(out).exists() else None
        session = _Session(
            parameters, method, seed, integrator, learning_rate, t_end, out, backend, threads, n_test, checkpoint_seconds,
            progress or _Silent(), saved, objective_options,
        )  # fmt: skip
        return session.run()


def _positive(name: str, value: Any, most: float = 1e100) -> float:
    """Return a number > 0 as a float, or raise `UsageError`."""
    allowed = "a number > 0" if most == math.inf else "a finite number > 0, at most 1e100"
    try:
        number = float(value) if not isinstance(value, (bool, str)) else math.nan
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not 0 < number <= most:
        raise UsageError(f"{name}={value!r}: must be {allowed}")
    return number


def default_learning_rate(parameters: Parameters) -> float:
    """Return the default step size of gradient descent: `LEARNING_RATE_PER_CLASS` times k, which stays below 2 / lambda_max in the default regime."""
    return LEARNING_RATE_PER_CLASS * parameters.k


LEARNING_RATE_PER_CLASS = 6.0


class _Session:
    """One call of `simulate` after its arguments have been checked."""

    state: State
    wall_before: float

    def __init__(
        self, parameters: Parameters, method: str, seed: int, integrator: str, learning_rate: float | None, t_end: float | None,
        out: str | os.PathLike[str] | None, backend: str, threads: int | None, n_test: int, checkpoint_seconds: float, progress: Progress, saved: Any,
        objective_options: dict[str, Any],
    ) -> None:  # fmt: skip
        self.parameters, self.method, self.seed, self.out, self.progress = parameters, method, seed, out, progress
        self.checkpoint_seconds = checkpoint_seconds
        self.warned = self.interrupted = False
        if learning_rate is None:
            default = default_learning_rate(parameters)
            learning_rate = _positive("eta", (saved[1] if saved else {"integrator": {}})["integrator"].get("learning_rate", default))
        data = sample_dataset(parameters, seed)
        if "seed" in options_of(method):
            objective_options = {"seed": seed, **objective_options}
        self.objective: Objective = OBJECTIVES[method](parameters, data, backend, threads, **objective_options)
        self.integrator: Integrator = INTEGRATORS[integrator](self._gradient, learning_rate)
        self.regime = parameters.deviations() + self.integrator.deviations()
        self.t_end = t_end
        if t_end is not None and t_end / learning_rate > MOST_STEPS:
            raise UsageError(f"eta={learning_rate:g}, t_end={t_end:g}: more than {MOST_STEPS:g} steps; use a larger eta or a smaller t_end")
        self.horizon = t_end if t_end is not None else DEFAULT_STEPS[self.objective.mixes] * learning_rate
        self.recorder = Recorder(self.objective, FeatureTest(parameters, n_test, seed, threads), seed)
        self.n_test = n_test
        self.provenance: dict[str, Any] = {
            **collect_provenance(),
            "parameters": parameters.model_dump(mode="json"),
            "method": method,
            "seed": int(seed),
            "integrator": {**self.integrator.options(), "t_end": t_end},
            "options": {"n_test": n_test, "backend": backend, **self.objective.options(), "algorithm": self.objective.describe()},
            "regime": [deviation.as_dict() for deviation in self.regime],
            "settled": None,
            "wall_seconds": 0.0,
        }
        self.saved = saved
        if saved:
            first = ("version", "git_revision", "command", "versions", "platform", "created")
            self.provenance["continued"] = [*saved[1].get("continued", []), {name: self.provenance[name] for name in first}]
            self.provenance.update({name: saved[1][name] for name in first})
            _refuse_other_run(self.provenance, saved[1], out)

    def run(self) -> Run:
        """Step until the run ends, one way or another, and save it; a finished run that has nothing left to do is left as it is."""
        self._begin()
        if self.out is not None and self.saved and self.saved[1]["status"] == "finished" and self._finished():
            return Run(self.saved[0], self.saved[1], Path(self.out))
        try:
            with self._signals_remembered():
                while not self._finished():
                    mark = self.integrator.next_mark(self.state, self.horizon)
                    self.state = self.integrator.advance(self.state, mark, self._after_step)
                    self._record()
        except DivergedError as error:
            self._save("diverged", f"Stopped: {error}.")
            raise
        except KeyboardInterrupt:
            self._save("interrupted", f"Interrupted at step {self.state.step}, t = {self.state.time:.4g}, where it can be resumed.")
            place = "" if self.out is None else f"; saved in {self.out}"
            raise Interrupted(f"interrupted at step {self.state.step}, t = {self.state.time:.4g}{place}") from None
        run = self._save("finished", " ".join([self._ending(), *self.objective.caveats(self.state.c)]))
        self.progress.finish({"summary": run.summary})
        return run

    def _gradient(self, step: int, c: np.ndarray) -> np.ndarray:
        self.objective.begin_step(step)
        return self.objective.gradient(c)

    def _begin(self) -> None:
        """Compile, restore or start, and take the first record."""
        self.started = self.last_saved = self.last_update = time.monotonic()
        info = {"step": int(self.saved[0]["final_step"]) if self.saved else 0, "steps": self.integrator.steps_until(self.horizon)}
        with _compilation_announced(self.progress, info):
            if self.saved:
                self.state = self.recorder.restore(self.saved[0])
                self.wall_before = self.saved[1]["wall_seconds"]
                if self.state.step == self.recorder.last("step") and not self.integrator.is_mark(self.state) and self.state.time < self.horizon:
                    self.recorder.drop_last()  # it lay where an earlier t_end cut
                self.objective.gradient(self.state.c)
                if self.state.step != self.recorder.last("step") and (self.integrator.is_mark(self.state) or self._reached()):
                    self._record()  # the run ended between the save of this state and its record
            else:
                self.state, self.wall_before = State(0, 0.0, initial_correlations(self.parameters, self.seed)), 0.0
                self._record()
        self.first_step, self.stepping_since = self.state.step, time.monotonic()

    def _finished(self) -> bool:
        return self._reached() or (self.t_end is None and self._settled())

    def _reached(self) -> bool:
        return self.state.time >= self.horizon * (1.0 - 1e-12)

    def _settled(self) -> bool:
        since = self.recorder.settled_since()
        return since is not None and self.recorder.times[-1] >= SETTLED_FACTOR * max(since, self.recorder.times[min(1, len(self.recorder.times) - 1)])

    @contextmanager
    def _signals_remembered(self) -> Iterator[None]:
        """Remember that a signal came: the KeyboardInterrupt of its handler is lost if it is raised in a callback from a C library."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        numbers = [number for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if callable(signal.getsignal(number))]
        before: dict[int, Any] = {number: signal.getsignal(number) for number in numbers}

        def remember(number: int, frame: Any) -> None:
            self.interrupted = True
            before[number](number, frame)

        for number in numbers:
            signal.signal(number, remember)
        try:
            yield
        finally:
            for number in numbers:
                signal.signal(number, before[number])

    def _after_step(self, state: State) -> None:
        self.state = state
        if self.interrupted:
            raise KeyboardInterrupt
        now = time.monotonic()
        if now - self.last_update >= 0.2:
            self.last_update = now
            self.progress.update(self._status())
        if self.out is not None and now - self.last_saved >= self.checkpoint_seconds:
            self._save("running", "Still running when this was saved.")

    def _record(self) -> None:
        self.recorder.record(self.state)
        limit = 2.0 / self.recorder.last("sharpness") if self.recorder.last("sharpness") > 0 else float("inf")
        rate = self.integrator.options()["learning_rate"]
        if rate > limit and not self.warned:
            self.warned = True
            what = f"eta={rate:g} exceeds 2 / lambda_max = {limit:.4g} at step {self.state.step}"
            warnings.warn(f"{what}: gradient descent need not follow the loss downhill; use a smaller eta", stacklevel=4)

    def _status(self) -> dict[str, Any]:
        elapsed = time.monotonic() - self.stepping_since
        rate = (self.state.step - self.first_step) / elapsed if elapsed > 0 else 0.0
        steps = self.integrator.steps_until(self.horizon)
        return {
            "step": self.state.step,
            "steps": steps,
            "time": self.state.time,
            "t_end": self.horizon,
            "loss": float(self.recorder.last("loss")),
            "training_accuracy": float(self.recorder.last("training_accuracy")),
            **count_classes(self.recorder.last("feature_learned")),
            "rate": rate,
            "eta_seconds": (steps - self.state.step) / rate if steps is not None and rate > 0 else None,
        }

    def _ending(self) -> str:
        since = self.recorder.settled_since()
        if self._settled():
            return f"Settled: training accuracy 1 and no change by Definition 4.5 since t = {since:.4g}."
        why = "training accuracy is below 1"
        if since is not None:
            why = f"the last change by Definition 4.5 was at t = {since:.4g}; without another it settles at t = {SETTLED_FACTOR * since:.4g}"
        limit = "t_end" if self.t_end is not None else f"the default limit of {DEFAULT_STEPS[self.objective.mixes]} steps (t_end sets another)"
        return f"Not settled at {limit}: {why}."

    def _save(self, status: str, ending: str) -> Run:
        """Put the run together as it stands and write it, if it has a file."""
        self.last_saved = time.monotonic()
        clock = f"{self.recorder.last('step')} steps of gradient descent with eta = {self.integrator.options()['learning_rate']:g}"
        summary = summarise(
            self.parameters, self.objective.label, self.seed, count_classes(self.recorder.last("feature_learned")),
            float(self.recorder.last("training_accuracy")), self.n_test, self.recorder.times[-1], clock, ending, self.regime,
        )  # fmt: skip
        wall = self.wall_before + self.last_saved - self.started
        settled = self._settled() if status == "finished" else None
        provenance = {**self.provenance, "status": status, "summary": summary, "wall_seconds": wall, "settled": settled}
        dataset = self.recorder.to_dataset(self.state)
        if self.out is not None:
            write_run(self.out, dataset, provenance)
        return Run(dataset, provenance, None if self.out is None else Path(self.out))


@contextmanager
def _compilation_announced(progress: Progress, info: dict[str, Any]) -> Iterator[None]:
    """Call ``progress.start`` once: when the body is done, or after a second of it, which may be compilation."""
    once = threading.Lock()

    def start(compiling: bool) -> None:
        if once.acquire(blocking=False):
            progress.start({**info, "compiling": compiling})

    notice = threading.Timer(1.0, start, [True])
    notice.daemon = True
    notice.start()
    try:
        yield
    finally:
        notice.cancel()
    start(False)


NAMES = {"learning_rate": "eta"}
"""What options of an integrator are called where they are given."""


def _refuse_other_run(now: dict[str, Any], saved: dict[str, Any], out: Any) -> None:
    """Raise `UsageError` if the saved run is not the one that is asked for."""
    differences = [
        f"{name}={now['parameters'].get(name)!r} (saved: {saved['parameters'].get(name)!r})"
        for name in now["parameters"] | saved["parameters"]
        if now["parameters"].get(name) != saved["parameters"].get(name)
    ]
    differences += [f"{name}={now[name]!r} (saved: {saved[name]!r})" for name in ("method", "seed") if now[name] != saved[name]]
    fixed = [name for name in now["integrator"] if name != "t_end"]
    differences += [
        f"{NAMES.get(name, name)}={now['integrator'][name]!r} (saved: {saved['integrator'].get(name)!r})"
        for name in fixed
        if now["integrator"][name] != saved["integrator"].get(name)
    ]
    for name in (name for name in now["options"] if name != "algorithm"):
        if now["options"][name] != saved["options"].get(name):
            differences.append(f"{name}={now['options'][name]!r} (saved: {saved['options'].get(name)!r})")
    if differences:
        raise UsageError(f"{out}: holds another run: {'; '.join(differences)}; give the saved values, another file, or --force to overwrite")
