"""Theorems 4.6 and 4.7, and the steps of their proofs, judged on runs: on those that are given, and over seeds and k on runs that are made."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from mvsim.base.echo import echo, path_text, quantity
from mvsim.base.errors import MvsimError, UsageError
from mvsim.base.inputs import check_threads, make_folder
from mvsim.flow import LAST_TIME
from mvsim.judging.controls import control_section
from mvsim.judging.over_seeds import over_seeds
from mvsim.judging.over_sizes import over_sizes
from mvsim.judging.statement import Request, Section, Statement
from mvsim.judging.verdict import Verdict
from mvsim.multi_view.data import Dataset
from mvsim.multi_view.parameters import Parameters
from mvsim.papers.midpoint_mixup.controls import CONTROL_PARAMETERS, KeptRuns
from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence
from mvsim.papers.midpoint_mixup.evidence.persistence import PATIENCE
from mvsim.papers.midpoint_mixup.judge_run import Judgement, check_complete, check_method, check_model, judge, theorem_of
from mvsim.papers.midpoint_mixup.paths import PATHS, describe_path, path_in_k
from mvsim.papers.midpoint_mixup.theorems.theorems import THEOREMS
from mvsim.runs.run import Run, open_run
from mvsim.runs.simulation.progress import Progress
from mvsim.runs.simulation.run_cache import run_name, try_kept_run
from mvsim.sweeps.identity import refuse_repeated

FOLLOWING_LIMIT = PATIENCE**2
"""Factor of time, beyond the first escape in every class, to which a run is followed in which something is missing."""


class RunSetting(Parameters):
    """The options of what is judged over seeds on runs: parameters, and a path in k that says what d is."""

    path: Annotated[str, Field(description=f"Which d belongs to each k: {PATHS}.")] = "default"


def parameters_on_path(path: str = "default", **fields: Any) -> Parameters:
    """Return the parameters at one k on a path."""
    p = path_in_k(path)(**fields)
    check_model(p)
    return p


@dataclass(frozen=True)
class OnRuns:
    """Judge a theorem and the steps of its proof on runs over seeds, making those that are missing."""

    theorem: str
    makes_runs: ClassVar[bool] = True

    @property
    def method(self) -> str:
        """Training loss of the runs."""
        return THEOREMS[self.theorem].method

    def sections(self, statements: Sequence[Statement], settings: Sequence[Parameters], request: Request) -> Iterator[Section]:
        """Yield the verdicts over seeds at each k, then the trend in k, then the controls.

        With ``follow``, a run in which something is missing is gone on with, ten times as long each time, until it is decided, but not beyond
        `FOLLOWING_LIMIT` times the first escapes: then it stays inconclusive.
        """
        check_threads(request.threads)  # before runs that are all there make it pass unseen
        name, by_k, missing = f"Theorem {self.theorem}", dict[int, list[Judgement]](), dict[int, int]()
        make_folder(request.folder)
        for p in settings:
            present = self.runs_present(p, request)
            by_k[p.k], stopped = judgements_over_seeds(self.theorem, p, request)
            missing[p.k] = len(stopped)
            title, place = f"{name}, k = {p.k}, {quantity(request.seeds, 'seed')}", f"at k = {p.k}"
            origin = f"{quantity(present, 'run')} found in {request.folder}, {request.seeds - present} made"
            yield section_over_seeds(self.theorem, p.k, by_k[p.k], stopped, title, place, "; ".join([origin, *stopped]))
        if len(by_k) > 1 and any(by_k.values()):
            yield Section(f"{name}, trend in k", over_k(name, by_k, missing))
        if request.controls:
            controls = [control for statement in statements for control in statement.controls]
            yield control_section(name, controls, KeptRuns(Parameters(**CONTROL_PARAMETERS), request.folder))

    def runs_present(self, p: Parameters, request: Request) -> int:
        """Return how many of the runs that the theorem is judged on are in the folder."""
        return sum((request.folder / run_name(p, self.method, seed, {})).exists() for seed in range(request.seeds))


def section_over_seeds(theorem: str, k: int, judgements: Sequence[Judgement], stopped: Sequence[str], title: str, place: str, origin: str) -> Section:
    """Return what the runs of one theorem at one k say together; without any, why there is none."""
    name = f"Theorem {theorem}"
    if judgements:
        regimes = [list(names) for names in dict.fromkeys(judgement.departures for judgement in judgements)]
        return Section(title, over_seeds(name, k, judgements, len(stopped)), place, regimes, origin)
    detail = f"none of {len(stopped)} runs could be followed to an end: {stopped[0]}" if stopped else "no run is done"
    return Section(title, [Verdict(name, "inconclusive", name, detail=detail, kind="theorem").about(theorem, name).at("k", k)], place, [], origin)


def over_k(name: str, judgements: Mapping[int, Sequence[Judgement]], lost: Mapping[int, int] | None = None) -> list[Verdict]:
    """Report how a theorem goes with k, and along which r0(k): a trend on which r0 does not fall is not one that the theorems speak of."""
    return over_sizes(name, judgements, lost, describe_path({k: own[0].run.parameters for k, own in judgements.items() if own}))


def judge_runs(
    runs: Iterable[Run | str | os.PathLike[str]],
    theorems: Sequence[str] = (),
    begin: Callable[[Run], None] | None = None,
    data: Dataset | None = None,
) -> Iterator[Section]:
    """Judge existing runs, by the theorem about their training loss or by those that are named; all are looked at before the first is judged."""
    runs = list(runs)
    for run in runs:
        if not isinstance(run, (Run, str, os.PathLike)):
            raise UsageError(f"runs: {echo(run)} is neither a run nor the name of its file")
    opened = [run if isinstance(run, Run) else open_run(run) for run in runs]
    refuse_repeated(opened)
    for run in opened:
        check_complete(run)
        for number in theorems:
            check_method(run, number)
            check_model(run.parameters, f"{path_text(run.path or 'a run')}: ")
        _check_points(run, data)
    for run in opened:
        named: Sequence[str | None] = theorems or [theorem_of(run)]
        for about in named:
            if begin is not None:
                begin(run)
            state = "" if run.status == "finished" else f" ({run.status} when it was saved)"
            judgement = judge(run, about, data)
            yield Section(f"{run.path or run}{state}", judgement.verdicts, f"in {run.path or run}{state}", [list(judgement.departures)])


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


def judgements_over_seeds(number: str, p: Parameters, request: Request) -> tuple[list[Judgement], list[str]]:
    """Return the judgement of every seed by a theorem, and of the runs that could not be followed to an end why not."""
    judgements, stopped = [], []
    for seed in range(request.seeds):
        which = f"Theorem {number}, k = {p.k}, run {seed + 1} of {request.seeds}"
        progress = None if request.progress is None else partial(request.progress, which)
        run = followed_run(number, p, seed, request.folder, request.threads, progress, request.follow)
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
    """Return the run of one seed that a theorem is judged on, or why it could not be followed to an end; what is in the folder is not made again."""
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
    """Return the latest end of a run: `FOLLOWING_LIMIT` times when the last class had, or is predicted to have, its first escape."""
    evidence = Evidence(run)
    first = np.where(np.isfinite(evidence.entry_time), evidence.entry_time, evidence.predicted_entry_time).min(axis=1)
    return min(FOLLOWING_LIMIT * float(first[np.isfinite(first)].max(initial=1.0)), LAST_TIME)
