"""Flows that need very many steps: of Midpoint Mixup, with short steps although nothing moves, and what changes of the time-stepper make of them.

At k = 4 with all defaults, seed 8 would take steps of a millionth of the time and not settle. Equations fail where the part of the Hessian in the
preconditioner is not enough; each failure divides the step by four. The whole Hessian is the remedy, and takes a product for each of its columns: it
is formed once equations that failed since the last escape have cost as much, at `COST_OF_UNSOLVED` products each. Each design changes one thing and
follows five runs until they settle, or have taken more steps than the budget: the one that would creep, and four that would not.

Fails while the time-stepper as it is does not settle within the budget.
"""

from __future__ import annotations

import argparse
import os
import signal
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

from lib.runs import on_all_cores
from lib.study import TRAINING
from lib.tables import table

import mvsim
from mvsim.base.errors import Interrupted
from mvsim.flow import stepper
from mvsim.runs.simulation.progress import Silent

TITLE = "Flows that need very many steps"
SOURCES = TRAINING

RUNS = {"k=4, seed 8": (4, 8), "k=4, seed 2": (4, 2), "k=4, seed 6": (4, 6), "k=10, seed 0": (10, 0), "k=10, seed 1": (10, 1)}
"""Number of classes and seed, all defaults."""


def _counted_as(products: float) -> Callable[[], AbstractContextManager[Any]]:
    return lambda: patch.object(stepper, "COST_OF_UNSOLVED", products)


AS_IT_IS = "as it is"

DESIGNS: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    AS_IT_IS: nullcontext,
    "never the whole Hessian": _counted_as(0.0),
    "the whole Hessian after every failure": _counted_as(1e9),
}


class Budget(Silent):
    """Interrupts the run of its process once it has taken so many steps."""

    def __init__(self, steps: int) -> None:
        self._steps = steps

    def update(self, status: dict[str, Any]) -> None:
        """Interrupt, as Ctrl-C does."""
        if status["step"] > self._steps:
            os.kill(os.getpid(), signal.SIGINT)


def follow(job: tuple[str, str, int]) -> dict[str, Any]:
    """Follow one run with one design, and return what it took."""
    design, name, budget = job
    k, seed = RUNS[name]
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also where the study runs in the background
    start = time.process_time()
    with tempfile.TemporaryDirectory() as folder, DESIGNS[design]():
        out = Path(folder) / "run.nc"
        with suppress(Interrupted):
            mvsim.simulate(mvsim.Parameters(k=k), "midpoint", seed, out=out, threads=1, progress=Budget(budget))
        run = mvsim.open_run(out)
        ended = {name: run.dataset[f"final_{name}"].item() for name in ("step", "evaluations", "time")}
    return {**ended, "settled": bool(run.settled), "seconds": time.process_time() - start}


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the study."""
    parser.add_argument("--budget", type=int, default=20_000, help="most steps of a run")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Follow every run with every design, side by side."""
    jobs = [(design, name, options.budget) for design in DESIGNS for name in RUNS]
    found = on_all_cores(follow, jobs)
    rows: dict[str, dict[str, Any]] = {design: {} for design in DESIGNS}
    for (design, name, _), row in zip(jobs, found, strict=True):
        rows[design][name] = row
    return {"budget": options.budget, "designs": rows}


def judge(results: dict[str, Any]) -> list[str]:
    """Return which runs the time-stepper as it is does not bring to their end."""
    return [
        f"{name} has not settled after {row['step']} steps, {row['evaluations']} gradients"
        for name, row in results["designs"][AS_IT_IS].items()
        if not row["settled"]
    ]


def citations(results: dict[str, Any]) -> dict[str, list[str]]:
    """Return what the documentation says of runs that take long."""
    ours = {name: row["step"] for name, row in results["designs"][AS_IT_IS].items()}
    most = f"Midpoint Mixup at k = 4, seed 8 | {round(ours['k=4, seed 8'], -2):,} steps"
    return {"limits.md": [f"{most} (seeds 2 and 6: {round(ours['k=4, seed 2'], -2):,} and {round(ours['k=4, seed 6'], -2):,})"]}


def headline(results: dict[str, Any]) -> str:
    """Say how many of the runs settle with each design, and how many gradients the others take beside the time-stepper as it is."""
    ours, *others = results["designs"]
    told = [f"{_settled(results, ours)} of {len(RUNS)} runs settle within {results['budget']} steps"]
    told += [f'{_settled(results, design)} with "{design}", after {_ratio(results, design):.2g} times the gradients' for design in others]
    return "; ".join(told)


def _settled(results: dict[str, Any], design: str) -> int:
    """Return how many of the runs settle with a design."""
    return sum(row["settled"] for row in results["designs"][design].values())


def _ratio(results: dict[str, Any], design: str) -> float:
    """Return the gradients with a design over those of the time-stepper as it is, of the runs that settle both ways."""
    ours, theirs = results["designs"][AS_IT_IS], results["designs"][design]
    both = [name for name in RUNS if ours[name]["settled"] and theirs[name]["settled"]]
    return sum(theirs[name]["evaluations"] for name in both) / max(sum(ours[name]["evaluations"] for name in both), 1)


def passage(results: dict[str, Any]) -> str:
    """Put the gradients of every design into a table."""
    rows = [[design, *(_text(of_design[name]) for name in RUNS)] for design, of_design in results["designs"].items()]
    return (
        "Runs of Midpoint Mixup with all defaults are followed until they have settled. One thing is changed at a time. Gradients, and in brackets "
        f"steps, that a run takes; `--` stands for a run that has not settled when it has taken {results['budget']} steps, "
        "with the time that it has reached.\n\n" + table(["time-stepper", *RUNS], rows)
    )


def _text(row: dict[str, Any]) -> str:
    return f"{row['evaluations']} ({row['step']})" if row["settled"] else f"-- (t = {row['time']:.3g})"
