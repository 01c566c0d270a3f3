"""Kill real runs at random instants and check that nothing saved is lost and nothing computed changes.

Small runs of ``mvsim simulate`` are killed by SIGKILL, continued with ``--resume``, killed again, until they reach their end. The kills
are aimed in turn at start-up, at stepping and at the writing of a save. After each one

- the run file opens and is intact, or does not exist because nothing had been saved;
- its final step is neither below that after the previous kill nor below that of the file an instant before this kill.

At the end of every run its file equals that of an uninterrupted run, every value of every variable, and lies alone in its directory.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mvsim.base.errors import UsageError
from mvsim.runs.archive import read_run

TITLE = "Killed runs"

_FLOW = "--k 4 --d 2000 --checkpoint-seconds 0.05 --quiet"
RUNS = {
    "midpoint": f"{_FLOW} --N 150 --method midpoint --t-end 3e7",
    "erm": f"{_FLOW} --N 5000 --method erm --t-end 1e6",
    "midpoint-gd": "--k 4 --N 150 --method midpoint --integrator gd --eta 24 --t-end 7200 --checkpoint-seconds 0.05 --quiet",
}
"""Some hundred steps each. The first two follow the gradient flow; in the third, one step in seven is recorded:
a kill between the save of a step and its record is no rare event."""

AIMS = ("start-up", "stepping", "saving")
MET = ("before a save", "between saves", "during a save")
"""Where a kill met the process: before it had saved for the first time, after that, or with a half-written file on the disk."""

SHORTER, LONGER = 0.7, 1.07
"""What a run that ends by itself and one that is killed do to the time that later ones are given: about five kills for each end."""


@dataclass
class Reference:
    """An uninterrupted run: its variables and provenance, and the seconds within which runs like it are to be killed.

    ``start_up`` is what the first save took, counted from the start; ``stepping`` counts from the first save and follows the load of the
    machine.
    """

    dataset: Any
    provenance: dict[str, Any]
    start_up: float
    stepping: float


@dataclass
class Trial:
    """One run that is killed again and again."""

    method: str
    directory: Path
    steps: list[int] = field(default_factory=list)

    @property
    def file(self) -> Path:
        """The run file, in a directory of its own."""
        return self.directory / "run" / "run.nc"

    @property
    def witness(self) -> Path:
        """Second name of the run file as it was at some instant: saves replace the file and leave the contents of the old one alone."""
        return self.directory / "witness.nc"


def start(method: str, file: Path, resume: bool) -> subprocess.Popen[bytes]:
    """Start ``mvsim simulate``."""
    command = [sys.executable, "-m", "mvsim", "simulate", *RUNS[method].split(), "--out", str(file), *["--resume"] * resume]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def finish(process: subprocess.Popen[bytes]) -> None:
    """Wait for a run to end by itself, and stop this study if it failed."""
    _, message = process.communicate()
    if process.returncode != 0:
        sys.exit(f"mvsim simulate ended with exit code {process.returncode}: {message.decode().strip()}")


def run_reference(method: str, directory: Path) -> Reference:
    """Run to the end without interruption, once to compile the kernels and once to measure."""
    finish(start(method, directory / f"{method}-compile.nc", resume=False))
    file = directory / f"{method}.nc"
    begin = time.monotonic()
    process = start(method, file, resume=False)
    while not file.exists() and process.poll() is None:
        time.sleep(0.001)
    first_save = time.monotonic()
    finish(process)
    return Reference(*read_run(file), first_save - begin, (time.monotonic() - first_save) / 3)


def kill_once(trial: Trial, reference: Reference, aim: str, rng: random.Random) -> str | None:
    """Start or resume the run and kill it; return where the kill met it, or None if it reached its end before."""
    before, stale = identity(trial.file), temporary_files(trial)
    process = start(trial.method, trial.file, resume=True)
    if aim == "start-up":
        wait(process, rng.uniform(0, reference.start_up))
    else:
        while process.poll() is None and identity(trial.file) == before:
            time.sleep(0.001)
        wait(process, rng.uniform(0, reference.stepping))
    trial.witness.unlink(missing_ok=True)
    with contextlib.suppress(FileNotFoundError):
        os.link(trial.file, trial.witness)
    if aim == "saving":
        while process.poll() is None and not temporary_files(trial) - stale:
            pass
        if rng.random() < 0.5:  # else at the very beginning of the save
            time.sleep(rng.uniform(0, 0.001))
    process.kill()
    if process.wait() != -signal.SIGKILL:
        finish(process)
        reference.stepping *= SHORTER
        return None
    process.communicate()
    reference.stepping *= LONGER
    if temporary_files(trial) - stale:
        return MET[2]
    return MET[0] if identity(trial.file) == before else MET[1]


def wait(process: subprocess.Popen[bytes], seconds: float) -> None:
    """Wait for so long, or until the process ends."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(seconds)


def identity(file: Path) -> tuple[int, int] | None:
    """Return something that changes whenever the file is replaced, None if there is no file."""
    return (file.stat().st_ino, file.stat().st_mtime_ns) if file.exists() else None


def temporary_files(trial: Trial) -> set[str]:
    """Name the saves that are being written, or were when a process was killed."""
    return {name for name in os.listdir(trial.file.parent) if name.endswith(".tmp")}


def check_kill(trial: Trial) -> str | None:
    """Return what is wrong after a kill, or None."""
    known = trial.steps[-1:]
    if trial.witness.exists():
        known.append(final_step(trial.witness))
    if not trial.file.exists():
        return "a saved run has disappeared" if known else None
    try:
        trial.steps.append(final_step(trial.file))
    except UsageError as error:
        return str(error).replace(str(trial.file), "run.nc")
    return f"final step {trial.steps[-1]} after {max(known)}" if known and trial.steps[-1] < max(known) else None


def final_step(file: Path) -> int:
    """Return the step at the last save."""
    return int(read_run(file)[0]["final_step"])


def check_end(trial: Trial, reference: Reference) -> str | None:
    """Return how a run that was killed and resumed differs from the uninterrupted one, or None."""
    dataset, provenance = read_run(trial.file)
    if provenance["status"] != "finished":
        return f"status {provenance['status']} at the end"
    if os.listdir(trial.file.parent) != ["run.nc"]:
        return f"left behind: {sorted(os.listdir(trial.file.parent))}"
    return difference(dataset, reference.dataset)


def difference(one: Any, other: Any) -> str | None:
    """Name the variables in which two runs differ in any value (NaN equals NaN), or return None."""
    if set(one.variables) != set(other.variables):
        return f"variables differ: {sorted(set(one.variables) ^ set(other.variables))}"
    names = [str(name) for name in one.variables if not same(one.variables[name], other.variables[name])]
    return f"values differ: {', '.join(names)}" if names else None


def same(a: Any, b: Any) -> bool:
    """Tell whether two variables agree in type, dimensions and every value."""
    return a.dtype == b.dtype and a.dims == b.dims and np.array_equal(a.values, b.values, equal_nan=a.dtype.kind == "f")


def check_comparison(reference: Reference) -> None:
    """Fail if the comparison of runs would not notice one number changed by one part in a million."""
    changed = reference.dataset.copy(deep=True)
    changed["final_correlations"].values.flat[0] *= 1 + 1e-6
    assert difference(changed, reference.dataset) == "values differ: final_correlations"
    assert difference(reference.dataset.copy(deep=True), reference.dataset) is None


def killed(kills: int, seed: int, directory: Path) -> dict[str, Any]:
    """Kill ``kills`` times and return what happened."""
    rng = random.Random(seed)
    references = {method: run_reference(method, directory) for method in RUNS}
    for reference in references.values():
        check_comparison(reference)
    met: Counter[tuple[str, str]] = Counter()
    runs: Counter[str] = Counter()
    failures: list[str] = []
    trials: dict[str, Trial] = {}

    def end(trial: Trial) -> None:
        problem = check_end(trial, references[trial.method])
        runs[trial.method] += 1
        failures.extend([f"{trial.method}, end of run {runs[trial.method]}: {problem}"] if problem else [])

    while met.total() < kills:
        method = list(RUNS)[met.total() % len(RUNS)]
        if method not in trials:
            trials[method] = Trial(method, directory / f"{method}-{runs[method]}")
            trials[method].file.parent.mkdir(parents=True)
        where = kill_once(trials[method], references[method], AIMS[met.total() // len(RUNS) % len(AIMS)], rng)
        if where is None:
            end(trials.pop(method))
            continue
        met[method, where] += 1
        if problem := check_kill(trials[method]):
            failures.append(f"{method}, kill {met.total()}, {where}: {problem}")
        if sys.stderr.isatty():
            print(f"\r{met.total()} of {kills} kills, {len(failures)} failures", end="", file=sys.stderr)
    for trial in trials.values():
        finish(start(trial.method, trial.file, resume=True))
        end(trial)
    return {
        "kills": {method: {where: met[method, where] for where in MET} for method in RUNS},
        "runs_compared": {method: runs[method] for method in RUNS},
        "final_step": {method: int(reference.dataset["final_step"]) for method, reference in references.items()},
        "failures": failures,
        "pass": not failures,
        "options": RUNS,
        "mvsim": references["erm"].provenance["version"],
        "git_revision": references["erm"].provenance["git_revision"],
        "versions": references["erm"].provenance["versions"],
    }


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="of the instants of the kills")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as directory:
        results = killed(options.kills, options.seed, Path(directory))
    print(f"\n{'kills':10}" + "".join(f"{title:>16}" for title in (*MET, "runs compared")))
    for method, kills in results["kills"].items():
        print(f"{method:12}" + "".join(f"{number:16}" for number in (*kills.values(), results["runs_compared"][method])))
    return results | {"command": options.command}


def judge(results: dict[str, Any]) -> list[str]:
    idle = [] if sum(results["runs_compared"].values()) else ["no run was compared with an uninterrupted one"]
    return [*results["failures"], *idle]


def headline(results: dict[str, Any]) -> str:
    kills = sum(sum(where.values()) for where in results["kills"].values())
    return f"{kills} SIGKILLs at random instants left {len(results['failures'])} files unreadable, steps lost or values changed"


def passage(results: dict[str, Any]) -> str:
    compared = sum(results["runs_compared"].values())
    return (
        f"Runs of the flow and of gradient descent were killed before, between and during saves. {compared} resumed runs were compared bit for bit "
        "with uninterrupted ones.\n"
    )
