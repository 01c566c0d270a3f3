"""``mvsim verify midpoint/theorem-4.6 --dry-run``: the runs that it needs, which of them are there, and what the others take."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import mvsim
from mvsim.cli.output import bytes_text, print_wrapped, span_text
from mvsim.papers.midpoint_mixup.over_runs import OnRuns
from mvsim.papers.midpoint_mixup.theorems.theorems import THEOREMS
from mvsim.papers.question import Question


@dataclass(frozen=True)
class Planned:
    """The runs of one theorem at one k."""

    theorem: str
    k: int
    # runs, there: How many runs are judged, and how many of them are in the folder
    runs: int
    there: int
    seconds: tuple[float, float]  # Time of one run, at least and at most, until it has settled
    memory_bytes: int  # Predicted peak of one run

    @property
    def left(self) -> tuple[float, float]:
        """Seconds, at least and at most, of the runs that are not there, one after another."""
        missing = self.runs - self.there
        return missing * self.seconds[0], missing * self.seconds[1]


def planned(question: Question) -> list[Planned]:
    """Return what a question about theorems over seeds needs; a gradient is timed for each theorem and k."""
    rows, asked = [], question.asked
    for judged, _, settings in question.groups:
        assert isinstance(judged, OnRuns)
        for p in settings:
            predicted = mvsim.estimate(p, THEOREMS[judged.theorem].method, threads=question.threads)
            present = judged.runs_present(p, asked)
            rows.append(Planned(judged.theorem, p.k, asked.seeds, present, predicted.seconds, predicted.memory_bytes))
    return rows


def print_plan(rows: list[Planned], folder: Path, follow: bool, as_json: bool) -> None:
    """Print it."""
    if as_json:
        print(json.dumps([{**asdict(row), "seconds_left": row.left} for row in rows]))
        return
    lines = []
    for row in rows:
        lines.append(f"Theorem {row.theorem}, k = {row.k}: {row.there} of {row.runs} runs are in {folder}.")
        if missing := row.runs - row.there:
            one = f"One takes {span_text(row.seconds)} and {bytes_text(row.memory_bytes)}"
            lines.append(f"  {one}; the {missing} to be made take {span_text(row.left)}, one after another.")
    if follow and any(row.there < row.runs for row in rows):
        lines.append("Runs in which a feature is missing go on for longer, unless --no-follow is given.")
    print_wrapped(lines)
