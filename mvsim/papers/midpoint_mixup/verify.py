"""Answers, section by section: of given runs, of theorems over seeds and k, of results that need no runs, of the controls.

`mvsim.papers.midpoint_mixup.question` has what may be asked for together.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mvsim.base.echo import echo, path_text
from mvsim.base.errors import MvsimError, UsageError
from mvsim.base.inputs import check_threads
from mvsim.flow import LAST_TIME
from mvsim.judging.verdict import Verdict
from mvsim.multi_view.data import Dataset
from mvsim.multi_view.parameters import Parameters
from mvsim.papers.midpoint_mixup.controls import run_controls
from mvsim.papers.midpoint_mixup.ensemble import over_k, over_seeds
from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence
from mvsim.papers.midpoint_mixup.evidence.persistence import PATIENCE
from mvsim.papers.midpoint_mixup.result_verdicts import check_result, control_verdicts, result_over_seeds, trend_over_k
from mvsim.papers.midpoint_mixup.run_verdicts import (
    Judgement,
    check_complete,
    check_method,
    check_model,
    check_theorem,
    check_two_views,
    judge,
    theorem_of,
)
from mvsim.papers.midpoint_mixup.section_3.results import RESULTS
from mvsim.papers.midpoint_mixup.theorems import THEOREMS
from mvsim.runs.run import Run, open_run
from mvsim.runs.simulation.progress import Progress
from mvsim.runs.simulation.run_cache import run_name, try_kept_run
from mvsim.sweeps.run_files import refuse_repeated

SEEDS = 20
"""Runs of each theorem at each k."""

FOLDER = Path("mvsim-runs")
"""Where runs that verification makes are kept."""

CONTROL_PARAMETERS = {"k": 4, "d": 2000}
"""Both theorems hold there, so a check that does not pass has its own reason, and runs are short."""


FOLLOWED = PATIENCE**2
"""Factor of time, beyond the first escape in every class, to which a run is followed in which something is missing. Each change on the way begins
the wait of `mvsim.papers.midpoint_mixup.evidence.persistence.PATIENCE` anew; there may be so many that no later time decides."""


Shown = Callable[[str], AbstractContextManager[Progress]]
"""Shows how a run goes, given which run of how many it is."""


class Section(NamedTuple):
    """Verdicts that belong together, and where they come from: that is no part of the answer, which is the same the next time."""

    title: str
    verdicts: list[Verdict]
    origin: str = ""
    stated: bool = False
    """Whether every verdict is shown with its statement, since no headline says what they are about."""


def ask_of_runs(
    runs: Iterable[Run | str | os.PathLike[str]],
    theorems: Sequence[str] = (),
    begin: Callable[[Run], None] | None = None,
    data: Dataset | None = None,
) -> Iterator[Section]:
    """Judge existing runs, by the theorem about their training loss, if there is one, or by those that are named; ``begin`` is told of each before.

    Parameters
    ----------
    runs : iterable of Run or path
        The runs.
    theorems : sequence of str
        Numbers of theorems.
    begin : callable, optional
        Is told of each run.
    data : Dataset, optional
        Points that all of them were trained on, if they were given.

    Raises
    ------
    UsageError
        If a run cannot be read, is given twice, is not of the method that a named theorem is about, or was trained on other points. All runs are
        looked at before the first is judged.
    """
    opened = [run if isinstance(run, Run) else open_run(_path(run)) for run in runs]
    refuse_repeated(opened)
    asked: list[tuple[Run, str | None]] = []
    for run in opened:
        check_complete(run)
        for number in theorems:
            check_method(run, check_theorem(number))
            check_model(run.parameters, f"{path_text(run.path or 'a run')}: ")
        _check_points(run, data)
        named: list[str | None] = [*theorems] or [theorem_of(run)]
        asked += [(run, about) for about in named]
    for run, about in asked:
        if begin is not None:
            begin(run)
        state = "" if run.status == "finished" else f" ({run.status} when it was saved)"
        yield Section(f"{run.path or run}{state}", judge(run, about, data).verdicts)


def _check_points(run: Run, data: Dataset | None) -> None:
    """Raise `UsageError` unless a run was trained on the points ``data``; without any, on those of its parameters and seed."""
    name, trained_on = path_text(run.path or "a run"), run.provenance["options"].get("data")
    if data is None and trained_on is not None:
        raise UsageError(
            f"{name}: was trained on given points, which the file does not keep; judge it in Python with them: mvsim.verify(run, data=...)"
        )
    if data is not None and trained_on is None:
        raise UsageError(f"data: {name} was trained on the points that its parameters and seed determine, not on given ones; leave out data")
    if data is not None and data.digest() != trained_on:
        raise UsageError(f"data: {name} was trained on other points; give those that it was trained on")


def ask_of_theorems(
    theorems: Sequence[str],
    parameters: Sequence[Parameters],
    seeds: int = SEEDS,
    folder: Path = FOLDER,
    threads: int | None = None,
    progress: Shown | None = None,
    follow: bool = True,
) -> Iterator[Section]:
    """Judge theorems over seeds 0 .. seeds - 1 at each of several parameters, making the runs that are missing.

    Arguments are checked at once, before anything is made.

    With several k, the trend in k comes last. With ``follow``, a run in which something is missing is gone on with, ten times as long each
    time, until it is decided, but not beyond `FOLLOWED` times the first escapes: then it stays inconclusive.

    Raises
    ------
    UsageError
        If an argument is out of its domain, two parameters have the same k, or the folder cannot be used.
    """
    numbers = [check_theorem(number) for number in theorems]
    if not parameters:
        raise UsageError("k=(): give at least one number of classes")
    _check_seeds(seeds)
    for p in parameters:
        check_model(p)
    check_threads(threads)  # before runs that are all there make it pass unseen
    if len({p.k for p in parameters}) < len(parameters):
        raise UsageError(f"k={', '.join(str(p.k) for p in parameters)}: each k once")
    return _theorems(numbers, parameters, seeds, folder, threads, progress, follow)


def _theorems(
    numbers: Sequence[str],
    parameters: Sequence[Parameters],
    seeds: int,
    folder: Path,
    threads: int | None,
    progress: Shown | None,
    follow: bool,
) -> Iterator[Section]:
    """Judge theorems over seeds; see `ask_of_theorems`."""
    make_folder(folder)
    for number in numbers:
        name, by_k, missing = f"Theorem {number}", {}, {}
        for p in parameters:
            present = runs_present(number, p, seeds, folder)
            judgements, stopped = judgements_over_seeds(number, p, seeds, folder, threads, progress, follow)
            by_k[p.k] = judgements
            title, origin = f"{name}, k = {p.k}, {seeds} seeds", f"{present} runs found in {folder}, {seeds - present} made"
            if not judgements:
                detail = f"none of {seeds} runs could be followed to an end: {stopped[0]}"
                yield Section(title, [Verdict(name, "inconclusive", name, detail=detail, kind="theorem", number=number).at_k(p.k)], origin)
            else:
                yield Section(title, over_seeds(name, p.k, judgements, len(stopped)), "; ".join([origin, *stopped]))
            missing[p.k] = len(stopped)
        if len(by_k) > 1 and any(by_k.values()):
            yield Section(f"{name}, trend in k", over_k(name, by_k, missing))


def runs_present(number: str, p: Parameters, seeds: int, folder: Path) -> int:
    """Return how many of the runs with seeds 0 .. seeds - 1 that a theorem is judged on are in a folder."""
    return sum((folder / run_name(p, THEOREMS[number].method, seed, {})).exists() for seed in range(seeds))


def ask_of_results(
    results: Sequence[str], each_k: Sequence[int], seeds: int = SEEDS, fields: Mapping[str, Any] | None = None, controls: bool = False
) -> Iterator[Section]:
    """Judge results that need no runs on data sets with seeds 0 .. seeds - 1 at each k; with ``controls`` also whether their checks can fail.

    Arguments are checked at once, before anything is judged.

    Raises
    ------
    UsageError
        If an argument is out of its domain, ``fields`` are no parameters of the model that a result is about, or classes have not two views.
    """
    numbers = [check_result(number) for number in results]
    if not each_k or len(set(each_k)) < len(each_k):
        raise UsageError(f"k={', '.join(str(k) for k in each_k) or '()'}: give at least one number of classes, each once")
    _check_seeds(seeds)
    asked = {number: [RESULTS[number].parameters(k, dict(fields or {})) for k in each_k] for number in numbers}
    for number, parameters in asked.items():
        for p in parameters:
            check_two_views(p, f"{RESULTS[number].name} is")
    return _results(asked, seeds, controls)


def _results(asked: Mapping[str, Sequence[Parameters]], seeds: int, controls: bool) -> Iterator[Section]:
    """Judge results at the parameters that belong to them."""
    for number, parameters in asked.items():
        result, by_k = RESULTS[number], {}
        for p in parameters:
            by_k[p.k] = result_over_seeds(result, p, seeds)
            title = f"{result.name}, k = {p.k}, {seeds} {'seed' if seeds == 1 else 'seeds'}"
            yield Section(title, [v.about(number) for v in by_k[p.k].verdicts], f"N = {p.N}", stated=True)
        if trends := trend_over_k(by_k):
            yield Section(f"{result.name}, trend in k", [v.about(number) for v in trends])
        if controls:
            yield Section(f"{result.name}, controls", control_verdicts(result, parameters[0]))


def _check_seeds(seeds: Any) -> None:
    if isinstance(seeds, bool) or not isinstance(seeds, (int, np.integer)) or not 1 <= seeds <= 10**6:
        raise UsageError(f"seeds={echo(seeds)}: must be an integer >= 1, the number of runs or data sets of each theorem or result at each k")


def _path(run: Any) -> str | os.PathLike[str]:
    if not isinstance(run, (str, os.PathLike)):
        raise UsageError(f"runs: {echo(run)} is neither a run nor the name of its file")
    return run


def judgements_over_seeds(
    number: str,
    p: Parameters,
    seeds: int,
    folder: Path,
    threads: int | None = None,
    progress: Shown | None = None,
    follow: bool = True,
) -> tuple[list[Judgement], list[str]]:
    """Return the judgement of every seed by a theorem, and of the runs that could not be followed to an end why not; see `ask_of_theorems`."""
    judgements, stopped = [], []
    for seed in range(seeds):
        which = f"Theorem {number}, k = {p.k}, run {seed + 1} of {seeds}"
        run = followed_run(number, p, seed, folder, threads, None if progress is None else partial(progress, which), follow)
        if isinstance(run, Run):
            judgements.append(judge(run, number))
        else:
            stopped.append(f"seed {seed} stopped: {run}")
    return judgements, stopped


def followed_run(
    number: str,
    p: Parameters,
    seed: int,
    folder: Path,
    threads: int | None = None,
    progress: Callable[[], AbstractContextManager[Progress]] | None = None,
    follow: bool = True,
) -> Run | MvsimError:
    """Return the run of one seed that a theorem is judged on, or why it could not be followed to an end; what is in the folder is not made again.

    Parameters
    ----------
    number : str
        Of the theorem.
    p, seed
        Of the run.
    progress : callable, optional
        Shows how it goes, each time that it is gone on with.
    folder, threads, follow
        See `ask_of_theorems`.
    """
    until: float | None = None
    while True:
        with nullcontext() if progress is None else progress() as shown:
            run = try_kept_run(folder, p, THEOREMS[number].method, seed, threads=threads, progress=shown, until=until)
        if not isinstance(run, Run):
            return run
        end = float(run.dataset["final_time"])
        decided = all(v.status != "inconclusive" for v in judge(run, number, everything=False).verdicts if v.kind == "theorem")
        if decided or not follow or end >= _farthest(run):
            return run
        until = 10.0 * end


def _farthest(run: Run) -> float:
    """Return the time to which a run is followed at most: `FOLLOWED` times where the last class had, or is predicted to have, its first escape."""
    evidence = Evidence(run)
    first = np.where(np.isfinite(evidence.entry_time), evidence.entry_time, evidence.predicted_entry_time).min(axis=1)
    return min(FOLLOWED * float(first[np.isfinite(first)].max(initial=1.0)), LAST_TIME)


def ask_of_controls(folder: Path = FOLDER, parameters: Parameters | None = None, seed: int = 0) -> Iterator[Section]:
    """Run the negative controls: a verdict holds if the check that it is about says what it must."""
    p = Parameters(**CONTROL_PARAMETERS) if parameters is None else parameters
    check_model(p)
    make_folder(folder)
    for outcome in run_controls(folder, p, seed):
        yield Section("Controls", [outcome.verdict()])


def make_folder(folder: Path) -> None:
    """Make the folder for runs and answers if it is not there, or raise `UsageError`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"folder={path_text(folder)}: cannot be created ({error.strerror}); choose another") from None
