"""How large the errors of the flow are for a tolerance, against a reference at rtol / 1000, through all escapes at k = 4, d = 2000 and d = k^20.

At the end: the largest error of a correlation, relative to it plus a tenth of the largest of its neuron, and the largest error of the margin of a
training point, g_y(x_i) - max_{s != y} g_s(x_i), absolutely. On the way: whether the views escape in the order of the reference; two that escape
within 10 rtol of the time have no order. Fails if an error is more than 10 rtol, or an order is another one. Control: the initial state has errors
beyond any bound.
"""

from __future__ import annotations

import argparse
import math
import time
from itertools import combinations
from typing import Any

import numpy as np
from lib.flow_problems import Problem, error, follow_escapes, literal_problems, margins, small_problems
from lib.tables import table

TITLE = "Accuracy of the flow"

TOLERANCES = (1e-3, 1e-4, 1e-5)
BOUND = 10.0


def misplaced(times: np.ndarray, reference: np.ndarray, close: float) -> int:
    """Return how many pairs of views (k, V) escape in another order than in the reference, of those that are not ``close`` there, relatively."""
    pairs = combinations(zip(times.ravel(), reference.ravel(), strict=True), 2)
    return sum((a < b) != (right_a < right_b) for (a, right_a), (b, right_b) in pairs if not math.isclose(right_a, right_b, rel_tol=close))


def compare(problem: Problem, rtol: float) -> dict[str, Any]:
    """Follow one problem and compare it with its reference."""
    reference, escapes = follow_escapes(problem, rtol / 1000)
    start = time.perf_counter()
    state, times = follow_escapes(problem, rtol)
    seconds = time.perf_counter() - start
    right = margins(problem, reference.c)
    row = {
        "problem": problem.name,
        "t_end": problem.t_end,
        "rtol": rtol,
        "error": error(state.c, reference.c),
        "margin_error": float(np.abs(margins(problem, state.c) - right).max()),
        "escapes": int(np.isfinite(escapes).sum()),
        "escaped": int(np.isfinite(times).sum()),
        "misplaced": int(misplaced(times, escapes, BOUND * rtol)),
        "steps": state.step,
        "evaluations": state.evaluations,
        "seconds": seconds,
        "reference_evaluations": reference.evaluations,
        "control": error(problem.start(), reference.c),
        "margin_control": float(np.abs(margins(problem, problem.start()) - right).max()),
    }
    print(row, flush=True)
    return row


def faults(row: dict[str, Any]) -> list[str]:
    """Return what is wrong with one row."""
    name, bound = f"{row['problem']} at rtol = {row['rtol']:g}", BOUND * row["rtol"]
    wrong = [
        f"{name}: {what} {row[key]:.1e}, over {BOUND:g} rtol"
        for what, key in (("error of a correlation", "error"), ("error of a margin", "margin_error"))
        if not row[key] <= bound
    ]
    if row["misplaced"] or row["escapes"] != row["escaped"]:
        wrong.append(f"{name}: {row['escaped']} escapes instead of {row['escapes']}, {row['misplaced']} pairs of views in another order")
    if not min(row["control"], row["margin_control"]) > bound:
        wrong.append(f"{name}: the control is within the bound")
    return wrong


def asked_for() -> dict[str, tuple[Problem, float]]:
    """Return all problems with all tolerances, by name; d = k^20 only where a reference is affordable."""
    small = [(problem, rtol) for problem in small_problems() for rtol in TOLERANCES]
    literal = [(problem, rtol) for problem in literal_problems() for rtol in TOLERANCES[:2]]
    return {f"{problem.name}, rtol = {rtol:g}": (problem, rtol) for problem, rtol in [*small, *literal]}


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the study."""
    names = list(asked_for())
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME", help=f"of {'; '.join(names)}")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Follow one problem after another."""
    asked = asked_for()
    return options.file.measure_parts(options.only, lambda name: compare(*asked[name]))


def judge(results: dict[str, Any]) -> list[str]:
    """Return which errors are too large."""
    return [fault for row in results.values() for fault in faults(row)]


def citations(results: dict[str, Any]) -> dict[str, list[str]]:
    """Return what the documentation says of errors at the end."""
    worst = max(max(row["error"], row["margin_error"]) / row["rtol"] for row in results.values())
    return {"concepts.md": [f"the end, with that at rtol / 1000 | k = 4, {len(results)} flows | {worst:.2g} rtol at most"]}


def headline(results: dict[str, Any]) -> str:
    """Say how large the largest error is, and in how many of the flows."""
    worst = max(max(row["error"], row["margin_error"]) / row["rtol"] for row in results.values())
    rtols = [row["rtol"] for row in results.values()]
    which = f"{len(results)} flows at k = 4, rtol {max(rtols):g} to {min(rtols):g}"
    missing = len(asked_for()) - len(results)
    return f"Through all escapes of {which}, the end differs from that at rtol / 1000 by at most {worst:.2g} rtol; {BOUND:g} are allowed" + (
        f" ({missing} more flows of the study are not measured)" if missing else ""
    )


def passage(results: dict[str, Any]) -> str:
    """Say how large errors are."""
    heads = [
        "flow, k = 4",
        "rtol",
        "error of a correlation / rtol",
        "error of a margin / rtol",
        "escapes",
        "escapes out of order",
        "gradients",
        "gradients of the reference",
    ]
    rows = [
        [
            row["problem"],
            f"{row['rtol']:g}",
            f"{row['error'] / row['rtol']:.2g}",
            f"{row['margin_error'] / row['rtol']:.2g}",
            row["escaped"],
            row["misplaced"],
            row["evaluations"],
            row["reference_evaluations"],
        ]
        for row in results.values()
    ]
    return (
        f"The study allows {BOUND:g} rtol. Errors of correlations are relative to them plus a tenth of the largest of their neuron, those of the "
        "margins of the training points absolute.\n\n" + table(heads, rows)
    )
