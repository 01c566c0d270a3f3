"""How large the error of the flow is for a tolerance: at most 10 rtol, against a reference at rtol / 1000, through all escapes at k = 4.

Fails if an error is larger. Control: the same error with the reference of another seed's data is larger than any bound.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

from lib.flow_problems import Problem, error, follow, small_problems
from lib.study import FLOW

import mvsim

TITLE = "Accuracy of the flow"
SOURCES = FLOW

TOLERANCES = (1e-3, 1e-4, 1e-5)
BOUND = 10.0


def compare(problem: Problem, rtol: float) -> dict[str, Any]:
    """Follow one problem and compare it with its reference."""
    reference = follow(problem, rtol / 1000)
    start = time.perf_counter()
    state = follow(problem, rtol)
    seconds = time.perf_counter() - start
    off = error(state.c, reference.c)
    row = {"problem": problem.name, "t_end": problem.t_end, "rtol": rtol, "error": off, "error_over_rtol": off / rtol}
    row |= {"steps": state.step, "evaluations": state.evaluations, "seconds": seconds, "reference_evaluations": reference.evaluations}
    row["control"] = error(mvsim.initial_correlations(problem.parameters, 0), reference.c)
    print(
        f"{problem.name:9} rtol {rtol:.0e}: error {off:.1e} = {off / rtol:.2g} rtol, {state.step} steps, {state.evaluations} evaluations", flush=True
    )
    return row | {"ok": within(row)}


def within(row: dict[str, Any]) -> bool:
    """Whether an error is within the bound and the control is not."""
    return bool(row["error"] <= BOUND * row["rtol"] < row["control"])


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the study."""
    parser.add_argument("--tolerances", type=float, nargs="+", default=list(TOLERANCES))


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Follow all problems at all tolerances."""
    rows = [compare(problem, rtol) for problem in small_problems() for rtol in options.tolerances]
    return {"ok": all(row["ok"] for row in rows), "bound": BOUND, "rows": rows}


def judge(results: dict[str, Any]) -> list[str]:
    """Return which errors are too large."""
    return [
        f"{row['problem']} at rtol = {row['rtol']:g}: error {row['error']:.1e} over {BOUND:g} rtol, or control {row['control']:.1e} under it"
        for row in results["rows"]
        if not within(row)
    ]


def passage(results: dict[str, Any]) -> str:
    """Say how large errors are."""
    worst = max(row["error_over_rtol"] for row in results["rows"])
    least, most = (pick(row["rtol"] for row in results["rows"]) for pick in (min, max))
    return (
        f"With rtol from {least:g} to {most:g} the flow ends within {worst:.2g} rtol of a reference at rtol / 1000, through all escapes at k = 4 "
        f"(the study allows {results['bound']:g} rtol).\n"
    )
