"""Runs that exist, judged by every paper that speaks of runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from mvsim.judging.statement import RunJudge, Section, Statement
from mvsim.multi_view.data import Dataset
from mvsim.papers.papers import PAPERS, paper_named
from mvsim.runs.archive import read_provenance
from mvsim.runs.run import Run
from mvsim.sweeps.runs import SweepRuns


def run_judges() -> list[RunJudge]:
    """Return how papers judge runs, of those that do."""
    return [paper.on_runs for paper in map(paper_named, PAPERS) if paper.on_runs is not None]


def judge_runs(
    runs: Sequence[Run | str | os.PathLike[str]],
    statements: Sequence[Statement] = (),
    begin: Callable[[Run], None] | None = None,
    data: Dataset | None = None,
) -> Iterator[Section]:
    """Judge runs by the theorems about their training loss, or by the papers and theorems among statements that are named."""
    for paper in map(paper_named, PAPERS):
        named = [statement for statement in statements if statement in paper.statements]
        if paper.on_runs is not None and (named or not statements):
            yield from paper.on_runs.runs(runs, [statement.number for statement in named if not statement.step], begin, data)


def judge_sweep(runs: SweepRuns, begin: Callable[[Run, int, int], None] | None = None) -> Iterator[Section]:
    """Judge the runs of a sweep that are done."""
    for judge in run_judges():
        yield from judge.sweep(runs, begin)


def done_cells(runs: SweepRuns) -> list[Any]:
    """Return the cells of a sweep that are done and that a paper speaks of."""
    return [cell for judge in run_judges() for cell, standing in judge.cells(runs) if standing.state == "done"]


def contents_of(runs: Iterable[Run]) -> dict[str, str]:
    """Return the content hashes of runs as they were read, by file."""
    return {str(run.path): run.provenance["sha256"] for run in runs}


def contents_of_sweep(runs: SweepRuns) -> dict[str, str]:
    """Return the content hashes of the runs of a sweep that are judged, by file."""
    return {str(file): read_provenance(file)["sha256"] for file in map(runs.folder.path_of, done_cells(runs))}
