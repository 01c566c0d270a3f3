"""``mvsim verify midpoint/theorem-4.6 --dry-run``: the runs that it needs, which of them are there, and what the others take."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import cast

import mvsim
from mvsim.base.echo import bytes_text
from mvsim.cli.output import print_wrapped, span_text
from mvsim.judging.statement import RunProcedure
from mvsim.papers.question import Question


@dataclass(frozen=True)
class RunPlan:
    """The runs of one theorem at one k."""

    theorem: str
    k: int
    # runs, present: How many runs are judged, and how many of them are in the folder
    runs: int
    present: int
    seconds: tuple[float, float]  # Time of one run, at least and at most, until it has settled
    memory_bytes: int  # Predicted peak of one run

    @property
    def left(self) -> tuple[float, float]:
        """Seconds, at least and at most, of the runs that are not there, one after another."""
        missing = self.runs - self.present
        return missing * self.seconds[0], missing * self.seconds[1]


def run_plans(question: Question) -> list[RunPlan]:
    """Return what a question about theorems over seeds needs; a gradient is timed for each theorem and k."""
    rows, request = [], question.request
    for group in question.groups:
        procedure = cast(RunProcedure, group.procedure)
        for p in group.settings:
            predicted = mvsim.estimate(p, procedure.method, threads=question.threads)
            present = procedure.runs_present(p, request)
            rows.append(RunPlan(procedure.theorem, p.k, request.seeds, present, predicted.seconds, predicted.memory_bytes))
    return rows


def print_plan(rows: list[RunPlan], folder: Path, follow: bool, as_json: bool) -> None:
    """Print it."""
    if as_json:
        print(json.dumps([{**asdict(row), "seconds_left": row.left} for row in rows]))
        return
    lines = []
    for row in rows:
        lines.append(f"Theorem {row.theorem}, k = {row.k}: {row.present} of {row.runs} runs are in {folder}.")
        if missing := row.runs - row.present:
            one = f"One takes {span_text(row.seconds)} and {bytes_text(row.memory_bytes)}"
            lines.append(f"  {one}; the {missing} to be made take {span_text(row.left)}, one after another on an idle machine.")
    if follow and any(row.present < row.runs for row in rows):
        lines.append("Runs in which a feature is missing go on for longer, unless --no-follow is given.")
    print_wrapped(lines)
