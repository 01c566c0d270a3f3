"""Designs of the integrator beside each other where targets of time are missed: the flow, and `escapes` as it was at earlier revisions and is now.

Every run is a process of its own at the revision that is named, which is checked out into a folder of its own; a small run compiles it before the
clock starts. A run is interrupted after ``--limit`` seconds. Fails if the best run of a problem that settles takes longer than its target, or if
another design than that of `auto` learns the same features with less than two thirds of its gradients. Outputs are not compared here: the study
`escapes` does that.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from lib.faults import TargetMissed
from lib.paths import ROOT
from lib.tables import table

import mvsim
from mvsim.runs.simulation.auto import integrator_of
from mvsim.runs.simulation.options import RunOptions
from studies.flow_runs import Asked, follow

TITLE = "Designs of the integrator where targets are missed"


class Design(NamedTuple):
    """What it does, the integrator and its rtol (None for the default), and the revision (None for the present one)."""

    what: str
    integrator: str
    rtol: float | None = None
    revision: str | None = None


DESIGNS = {
    "flow": Design("the flow", "flow", 1e-3),
    "coarse": Design("the flow, rtol 0.01", "flow", 1e-2),
    "jumps": Design("`escapes` with predicted jumps", "escapes", revision="c7c1312"),
    "steps": Design("`escapes` by steps alone", "escapes", revision="501ca1b"),
    "escapes": Design("`escapes` as it is now", "escapes"),
}

PROBLEMS = {
    "k=20": Asked(mvsim.Parameters(k=20), "midpoint", 30),
    "k=10 d=20000": Asked(mvsim.Parameters(k=10, d=20000), "midpoint", 8),
    "k=4 d=2000 mixup": Asked(mvsim.Parameters(k=4, d=2000), "mixup", 60),
    "k=10 d=k^20": Asked(mvsim.Parameters.literal(k=10), "midpoint", 60),
    "k=10 d=k^20 erm": Asked(mvsim.Parameters.literal(k=10), "erm", 30),
    "k=50 erm": Asked(mvsim.Parameters(k=50), "erm", 60),
    "k=100": Asked(mvsim.Parameters(k=100), "midpoint", 3600),
}

LESS = 2 / 3


def taken_by_auto(problem: str) -> str:
    """Return the integrator that `auto` takes, which is the name of its design as well."""
    asked = PROBLEMS[problem]
    return integrator_of(asked.parameters, RunOptions(method=asked.method))


@contextmanager
def checked_out(revision: str | None) -> Iterator[Path]:
    """Check a revision out into a folder of its own; the present one is where it is."""
    if revision is None:
        yield ROOT
        return
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        subprocess.run(["git", "-C", str(ROOT), "worktree", "add", "--quiet", "--detach", str(tree), revision], check=True)
        try:
            yield tree
        finally:
            subprocess.run(["git", "-C", str(ROOT), "worktree", "remove", "--force", str(tree)], check=True)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", nargs="+", choices=list(PROBLEMS), default=list(PROBLEMS), metavar="NAME", help=f"of {', '.join(PROBLEMS)}")
    parser.add_argument("--designs", nargs="+", choices=list(DESIGNS), default=list(DESIGNS), metavar="NAME", help=f"of {', '.join(DESIGNS)}")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds after which a run is interrupted")


def measure(options: argparse.Namespace) -> dict[str, Any]:

    def measured(name: str) -> dict[str, Any]:
        problem, label = name.split(": ")
        design = DESIGNS[label]
        with checked_out(design.revision) as tree, chdir(tree), patch.dict(os.environ, PYTHONPATH=str(tree)):
            row = follow(PROBLEMS[problem]._replace(integrator=design.integrator, rtol=design.rtol), options.limit)
        print(f"{name:32} {row['seconds']:6.1f} s, {row['evaluations']} gradients, settled {row['settled']}, {row['classes']}", flush=True)
        return row | {"revision": design.revision, "limit": options.limit, "load": os.getloadavg()[0]}

    return options.file.measure_parts([f"{problem}: {label}" for label in options.designs for problem in options.only], measured)


def of_problems(results: dict[str, Any]) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the runs of each problem by their designs, in the order of both."""
    return {
        problem: {label: results[f"{problem}: {label}"] for label in DESIGNS if f"{problem}: {label}" in results}
        for problem in PROBLEMS
        if any(name.startswith(f"{problem}: ") for name in results)
    }


def best(runs: dict[str, dict[str, Any]]) -> dict[str, Any] | None:
    """Return the fastest run that has settled, if there is one."""
    return min((row for row in runs.values() if row["settled"]), key=lambda row: row["seconds"], default=None)


def judge(results: dict[str, Any]) -> list[str]:
    wrong: list[str] = []
    for problem, runs in of_problems(results).items():
        row, target = best(runs), PROBLEMS[problem].seconds
        if row is None:
            wrong.append(TargetMissed(f"{problem}: settled with no design; target {target:.0f} s"))
        elif row["seconds"] > target:
            wrong.append(TargetMissed(f"{problem}: {row['seconds']:.1f} s at best; target {target:.0f} s"))
        taken = runs.get(taken_by_auto(problem))
        if taken is not None:
            wrong += [
                f"{problem}: {DESIGNS[label].what} takes {row['evaluations']} gradients for the same features, what auto takes {taken['evaluations']}"
                for label, row in runs.items()
                if row["settled"] and row["learned"] == taken["learned"] and row["evaluations"] < LESS * taken["evaluations"]
            ]
    return wrong


def citations(results: dict[str, Any]) -> dict[str, list[str]]:
    rows = []
    for problem, runs in of_problems(results).items():
        cells = (_cell(runs[label]) if label in runs else "" for label in DESIGNS)
        rows.append(f"| {problem} | {PROBLEMS[problem].seconds:.0f} s | {' | '.join(cells)} |")
    small = [f"{row['seconds']:.0f} s" for name in ("k=10 d=20000", "k=20") if (row := results.get(f"{name}: escapes"))]
    limits = [f"Midpoint Mixup at k = 10, d = 20000, and at k = 20, all defaults | settled after {' and '.join(small)} on one core"]
    if large := results.get("k=100: escapes"):
        ended = f"{'settled' if large['settled'] else 'not settled'} after {large['seconds'] / 60:.0f} minutes on one core"
        limits.append(f"Midpoint Mixup at k = 100, all defaults | {ended}, when {large['classes']['both']} of 100 classes had both features")
    return {"time-stepper-designs.md": rows, "limits.md": limits}


def _cell(row: dict[str, Any]) -> str:
    settled = "" if row["settled"] else "not settled: "
    return f"{settled}{row['seconds']:.0f} s, {row['evaluations']:,}"


def headline(results: dict[str, Any]) -> str:
    problems = of_problems(results)
    by_any = sum((row := best(runs)) is not None and row["seconds"] <= PROBLEMS[name].seconds for name, runs in problems.items())
    taken = [(name, runs.get(taken_by_auto(name))) for name, runs in problems.items()]
    by_auto = sum(row is not None and row["settled"] and row["seconds"] <= PROBLEMS[name].seconds for name, row in taken)
    return f"What auto takes meets {by_auto or 'none'} of {len(problems)} targets of time, the best of {len(DESIGNS)} designs {by_any or 'none'}"


def passage(results: dict[str, Any]) -> str:
    heads = ["run", "target", "design", "revision", "seconds", "gradients", "steps", "settled", "both", "one", "none"]
    rows = [
        [
            problem,
            f"{PROBLEMS[problem].seconds:.0f} s",
            DESIGNS[label].what + (" (`auto`)" if label == taken_by_auto(problem) else ""),
            row["revision"] or "",
            f"{row['seconds']:.0f}",
            row["evaluations"],
            row["steps"],
            "yes" if row["settled"] else "no",
            *(row["classes"][what] for what in ("both", "one", "none")),
        ]
        for problem, runs in of_problems(results).items()
        for label, row in runs.items()
    ]
    return (
        "Runs are of Midpoint Mixup unless ERM or Mixup (lambda uniform) is named. Those without a revision are of the one that measured. "
        "One that had not settled was interrupted.\n\n" + table(heads, rows)
    )
