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
from mvsim.data import Dataset, sample_dataset
from mvsim.errors import DivergedError, Interrupted, StalledError, UsageError
from mvsim.initialisation import initial_correlations
from mvsim.integrators import INTEGRATORS, Field, Integrator, State, Visit
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
"""Steps of gradient descent after which a run without t_end stops even if it has not settled, by whether the loss mixes pairs."""

LAST_TIME = 1e250
"""Time at which the gradient flow stops without t_end even if it has not settled; escapes take of the order of (rho / c(0))^(alpha - 2)."""

FAITHFUL = 0.01
"""Relative error of the speed at which gradient descent counts as following the flow."""

DEFAULT_RTOL = 1e-3
"""Relative tolerance of the gradient flow."""

OPTION_OF = {name: integrator.option for name, integrator in INTEGRATORS.items()}
"""The one option that each integrator has, as an argument of `simulate`."""


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
    integrator: str = "flow",
    learning_rate: float | None = None,
    rtol: float | None = None,
    t_end: float | None = None,
    settled_factor: float = SETTLED_FACTOR,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    force: bool = False,
    backend: str = "auto",
    threads: int | None = None,
    n_test: int = 20,
    checkpoint_seconds: float = 10.0,
    progress: Progress | None = None,
    data: Dataset | None = None,
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
    rtol : float, optional
        Relative tolerance of the gradient flow; default `DEFAULT_RTOL`.
    t_end : float, optional
        Time to stop at (of gradient descent eta times steps: the first step that reaches it is the last). Without it a run goes on until it
        has settled, that is, until training accuracy is 1 and the answer of Definition 4.5 has not changed for any feature while time grew
        by ``settled_factor``, but gradient descent not beyond `DEFAULT_STEPS` steps.
    settled_factor : float
        See ``t_end``; more than 1.
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
    data : Dataset, optional
        Other training points than those, as many and with as many patches as the parameters say. The file keeps a hash of them, by which
        they are known again, not the points.
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
    StalledError
        If the gradient flow cannot be followed further; the last good state has been saved.
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
    _check_data(parameters, data)
    t_end = None if t_end is None else _positive("t_end", t_end)
    options = {"learning_rate": None if learning_rate is None else _positive("eta", learning_rate), "rtol": rtol}
    for of, key in OPTION_OF.items():
        if options[key] is not None and of != integrator:
            raise UsageError(f"{NAMES.get(key, key)}={options[key]!r}: belongs to integrator={of!r}, and integrator={integrator!r} was asked for")
    option = options[OPTION_OF[integrator]]
    if isinstance(settled_factor, bool) or not isinstance(settled_factor, (int, float, np.integer, np.floating)) or not 1.0 < settled_factor <= 1e100:
        raise UsageError(f"settled_factor={settled_factor!r}: must be a number above 1, at most 1e100")
    checkpoint_seconds = _positive("checkpoint_seconds", checkpoint_seconds, most=math.inf)
    if out is not None and not isinstance(out, (str, os.PathLike)):
        raise UsageError(f"out={out!r}: must be the name of a file")
    if resume and out is None:
        raise UsageError("resume=True: needs out, the run file to continue")
    check_memory(parameters, OBJECTIVES[method].mixes, backend, n_test, integrator)
    with ExitStack() as stack:
        if out is not None:
            stack.enter_context(lock_run(out))
            ensure_writable(out, force=force, resume=resume)
        saved = read_run(out) if out is not None and resume and Path(out).exists() else None
        session = _Session(
            parameters, method, seed, integrator, option, t_end, float(settled_factor), out, backend, threads, n_test, checkpoint_seconds,
            progress or _Silent(), saved, data, objective_options,
        )  # fmt: skip
        return session.run()


def _check_data(parameters: Parameters, data: Dataset | None) -> None:
    """Raise `UsageError` if data are given that are not what the parameters say."""
    if data is None:
        return
    if not isinstance(data, Dataset):
        raise UsageError("data: must be a data set, from mvsim.sample_dataset or mvsim.Dataset.from_patches")
    for name in ("k", "N", "P"):
        if getattr(data, name) != getattr(parameters, name):
            raise UsageError(f"{name}={getattr(parameters, name)}: the data have {name} = {getattr(data, name)}; they must agree")


def _origin(given: Dataset | None) -> dict[str, Any]:
    """Return what the provenance says of the training points: nothing of those that parameters and seed fix."""
    return {} if given is None else {"data": given.digest()}


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
    resume: State
    wall_before: float

    def __init__(
        self, parameters: Parameters, method: str, seed: int, integrator: str, option: float | None, t_end: float | None, settled_factor: float,
        out: str | os.PathLike[str] | None, backend: str, threads: int | None, n_test: int, checkpoint_seconds: float, progress: Progress, saved: Any,
        given: Dataset | None, objective_options: dict[str, Any],
    ) -> None:  # fmt: skip
        self.parameters, self.method, self.seed, self.out, self.progress = parameters, method, seed, out, progress
        self.checkpoint_seconds, self.settled_factor = checkpoint_seconds, settled_factor
        self.warned = self.interrupted = False
        data = sample_dataset(parameters, seed) if given is None else given
        if "seed" in options_of(method):
            objective_options = {"seed": seed, **objective_options}
        self.objective: Objective = OBJECTIVES[method](parameters, data, backend, threads, **objective_options)
        self.integrator: Integrator = self._integrator(integrator, option, saved)
        self.regime = parameters.deviations() + self.integrator.deviations()
        self.t_end = t_end
        self.horizon = self._horizon(t_end)
        self.recorder = Recorder(self.objective, FeatureTest(parameters, n_test, seed, threads), seed)
        self.n_test = n_test
        self.provenance: dict[str, Any] = {
            **collect_provenance(),
            "parameters": parameters.model_dump(mode="json"),
            "method": method,
            "seed": int(seed),
            "integrator": {**self.integrator.options(), "t_end": t_end, "settled_factor": settled_factor},
            "options": {"n_test": n_test, "backend": backend, **_origin(given), **self.objective.options(), "algorithm": self.objective.describe()},
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

    def _integrator(self, name: str, option: float | None, saved: Any) -> Integrator:
        """Return the integrator, with the option that is asked for, that of the saved run, or the default."""
        before = saved[1]["integrator"] if saved and saved[1]["integrator"]["name"] == name else {}
        key = OPTION_OF[name]
        default = default_learning_rate(self.parameters) if name == "gd" else DEFAULT_RTOL
        value = option if option is not None else before.get(key, default)
        field = Field(self._gradient, self.objective.curvature, self.objective.escape_threshold, self.parameters.alpha, self.objective.fixed)
        return INTEGRATORS[name](field, **{key: _positive("eta", value) if name == "gd" else value})

    def _horizon(self, t_end: float | None) -> float:
        """Return the time beyond which the run does not go."""
        rate = self.integrator.options().get("learning_rate")
        if rate is None:
            return t_end if t_end is not None else LAST_TIME
        if t_end is not None and t_end / rate > MOST_STEPS:
            raise UsageError(f"eta={rate:g}, t_end={t_end:g}: more than {MOST_STEPS:g} steps; use a larger eta or a smaller t_end")
        return t_end if t_end is not None else DEFAULT_STEPS[self.objective.mixes] * rate

    def run(self) -> Run:
        """Step until the run ends, one way or another, and save it; a finished run that has nothing left to do is left as it is."""
        if not self._begin():
            return Run(self.saved[0], self.saved[1], Path(self.out or ""))
        try:
            with self._signals_remembered():
                if not self._finished():
                    for visit in self.integrator.trajectory(self.resume, self.horizon):
                        self._arrive(visit)
                        if visit.mark and self._finished():
                            break
                if self.recorder.last("step") != self.state.step:  # where it was interrupted is where it is now to end
                    self.recorder.record(self.state)
        except (DivergedError, StalledError) as error:
            self._save("diverged" if isinstance(error, DivergedError) else "stalled", f"Stopped: {error}.")
            raise
        except KeyboardInterrupt:
            self._save("interrupted", f"Interrupted at step {self.state.step}, t = {self.state.time:.4g}; it can be resumed.")
            place = "" if self.out is None else f"; saved in {self.out}"
            raise Interrupted(f"interrupted at step {self.state.step}, t = {self.state.time:.4g}{place}") from None
        run = self._save("finished", " ".join([self._ending(), *self._foretold(), *self._faithful_steps(), *self.objective.caveats(self.state.c)]))
        self.progress.finish({"summary": run.summary})
        return run

    def _gradient(self, step: int, c: np.ndarray) -> np.ndarray:
        self.objective.begin_step(step)
        return self.objective.gradient(c)

    def _begin(self) -> bool:
        """Compile, restore or start, and take the first record; return whether anything is left to do."""
        self.started = self.last_saved = self.last_update = time.monotonic()
        info = {"step": int(self.saved[0]["final_step"]) if self.saved else 0, "steps": self.integrator.steps_until(self.horizon)}
        with _compilation_announced(self.progress, info):
            if self.saved:
                self.state, self.resume = self.recorder.restore(self.saved[0])
                self.wall_before = self.saved[1]["wall_seconds"]
                if self.saved[1]["status"] == "finished" and self._finished():
                    return False
                self.recorder.forget_after(self.resume, keep=self.integrator.is_mark(self.resume) or self.resume.time >= self.horizon)
                self.state = self.resume
                self.objective.gradient(self.state.c)
            else:
                c = initial_correlations(self.parameters, self.seed)
                self.state, self.wall_before = State(0, 0.0, c), 0.0
                self.resume = self.state
                self.recorder.start(self.state)
                self._warn_of_large_steps()
        self.first_step, self.stepping_since = self.state.step, time.monotonic()
        return True

    def _finished(self) -> bool:
        return self._reached() or (self.t_end is None and self._settled())

    def _reached(self) -> bool:
        return self.state.time >= self.horizon * (1.0 - 1e-12)

    def _settled(self) -> bool:
        since = self.recorder.settled_since()
        times = self.recorder.times
        return since is not None and times[-1] >= self.settled_factor * max(since, times[min(1, len(times) - 1)])

    @contextmanager
    def _signals_remembered(self) -> Iterator[None]:
        """Let a signal end the run after the step: a KeyboardInterrupt raised within one may be lost in a callback from a C library.

        Who cannot wait for the end of the step sends a second one.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        numbers = [number for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if callable(signal.getsignal(number))]
        before: dict[int, Any] = {number: signal.getsignal(number) for number in numbers}

        def remember(number: int, frame: Any) -> None:
            if self.interrupted:
                before[number](number, frame)
            self.interrupted = True

        for number in numbers:
            signal.signal(number, remember)
        try:
            yield
        finally:
            for number in numbers:
                signal.signal(number, before[number])

    def _arrive(self, visit: Visit) -> None:
        """Take note of a state: escapes, the record if it is due, where to resume, what the display and the file are told."""
        self.recorder.observe(self.state, visit.state)
        if visit.mark:
            self.recorder.record(visit.state)
            self._warn_of_large_steps()
        self.state = visit.state
        if visit.resumable:
            self.resume = self.state
        if self.interrupted:
            raise KeyboardInterrupt
        now = time.monotonic()
        if now - self.last_update >= 0.2:
            self.last_update = now
            self.progress.update(self._status())
        if self.out is not None and now - self.last_saved >= self.checkpoint_seconds:
            self._save("running", "Still running when this was saved.")

    def _warn_of_large_steps(self) -> None:
        rate, sharpness = self.integrator.options().get("learning_rate"), self.recorder.last("sharpness")
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
            why = f"the last change by Definition 4.5 was at t = {since:.4g}; without another it settles at t = {self.settled_factor * since:.4g}"
        steps = self.integrator.steps_until(self.horizon)
        limit = f"the default limit of {steps} steps (t_end sets another)" if steps is not None else f"t = {self.horizon:.4g}"
        limit = "t_end" if self.t_end is not None else limit
        return f"Not settled at {limit}: {why}."

    def _foretold(self) -> list[str]:
        """Say how well the initial state foretold which view of each class escapes first."""
        right, of = self.recorder.foretold_winners()
        return [f"The first view to escape was foretold by the initial state in {right} of {of} classes."] if of else []

    def _faithful_steps(self) -> list[str]:
        """Say which step size gradient descent would need to stay close to this flow."""
        eta = self.recorder.faithful_learning_rate(FAITHFUL)
        if "learning_rate" in self.integrator.options() or not math.isfinite(eta):
            return []
        steps = self.state.time / eta
        return [f"Gradient descent follows it to {100 * FAITHFUL:g} % for eta up to {eta:.3g}: {steps:.3g} steps."]

    def _save(self, status: str, ending: str) -> Run:
        """Put the run together as it stands and write it, if it has a file."""
        self.last_saved = time.monotonic()
        summary = summarise(
            self.parameters, self.objective.label, self.seed, count_classes(self.recorder.last("feature_learned")),
            float(self.recorder.last("training_accuracy")), self.n_test, self.recorder.times[-1], self.integrator.clock(self.state), ending,
            self.regime,
        )  # fmt: skip
        wall = self.wall_before + self.last_saved - self.started
        settled = self._settled() if status == "finished" else None
        eta = self.recorder.faithful_learning_rate(FAITHFUL)
        provenance = {**self.provenance, "status": status, "summary": summary, "wall_seconds": wall, "settled": settled}
        provenance["faithful_eta"] = eta if math.isfinite(eta) else None
        dataset = self.recorder.to_dataset(self.state, self.resume)
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


NAMES = {"learning_rate": "eta", "name": "integrator"}
"""What options of an integrator are called where they are given."""


def _refuse_other_run(now: dict[str, Any], saved: dict[str, Any], out: Any) -> None:
    """Raise `UsageError` if the saved run is not the one that is asked for."""
    differences = [
        f"{name}={now['parameters'].get(name)!r} (saved: {saved['parameters'].get(name)!r})"
        for name in now["parameters"] | saved["parameters"]
        if now["parameters"].get(name) != saved["parameters"].get(name)
    ]
    differences += [f"{name}={now[name]!r} (saved: {saved[name]!r})" for name in ("method", "seed") if now[name] != saved[name]]
    fixed = [name for name in now["integrator"] if name not in ("t_end", "settled_factor")]
    differences += [
        f"{NAMES.get(name, name)}={now['integrator'][name]!r} (saved: {saved['integrator'].get(name)!r})"
        for name in fixed
        if now["integrator"][name] != saved["integrator"].get(name)
    ]
    for name in (name for name in now["options"] | saved["options"] if name != "algorithm"):
        if now["options"].get(name) != saved["options"].get(name):
            differences.append(f"{name}={now['options'].get(name)!r} (saved: {saved['options'].get(name)!r})")
    if differences:
        raise UsageError(f"{out}: holds another run: {'; '.join(differences)}; give the saved values, another file, or --force to overwrite")
