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
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from lib.tables import table

import mvsim
from mvsim.flow import GradientFlow, State
from mvsim.multi_view.diagnostics import own_correlations
from mvsim.multi_view.objectives import Objective
from mvsim.runs.recording.entries import EscapeLog
from mvsim.runs.simulation.field import field_of

TITLE = "Accuracy of the flow"

TOLERANCES = (1e-3, 1e-4, 1e-5)
BOUND = 10.0


@dataclass(frozen=True)
class Problem:
    """A loss and how long its flow is followed: through escapes."""

    name: str
    method: str
    parameters: mvsim.Parameters
    t_end: float

    def objective(self) -> Objective:
        """Return the loss on the points of seed 0."""
        return mvsim.objective(self.method, self.parameters, mvsim.sample_dataset(self.parameters, 0))

    def start(self) -> np.ndarray:
        """Return the initial correlations."""
        return mvsim.initial_correlations(self.parameters, 0)


def follow_escapes(problem: Problem, rtol: float) -> tuple[State, np.ndarray]:
    """Return the state of a flow at its end, and the (k, V) times at which the first neuron of each view has escaped, infinite where none has."""
    before = State(0, 0.0, problem.start())
    log = EscapeLog.started(own_correlations(before.c), problem.parameters.rho)
    for visit in GradientFlow(field_of(problem.objective()), rtol).trajectory(before, problem.t_end):
        log.observe(before, visit.state)
        before = visit.state
    return before, np.where(np.isnan(log.time), np.inf, log.time).min(axis=1)


def error(c: np.ndarray, reference: np.ndarray) -> float:
    """Return the largest error of a correlation, relative to it plus a tenth of the largest of its neuron."""
    size = np.abs(reference) + 0.1 * np.abs(reference).max(axis=(2, 3), keepdims=True)
    return float(np.max(np.abs(c - reference) / size))


def margins(problem: Problem, c: np.ndarray) -> np.ndarray:
    """Return the (N,) margins of the training points."""
    objective = problem.objective()
    outputs, labels = objective.outputs(c), objective.data.labels
    points = np.arange(len(labels))
    own = outputs[labels, points]
    others = outputs.copy()
    others[labels, points] = -math.inf
    return own - others.max(axis=0)


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
    """Return all problems with all tolerances, by name: followed beyond all escapes, at d = k^20 only where a reference is affordable."""
    p, literal = mvsim.Parameters(k=4, d=2000), mvsim.Parameters.literal(k=4)
    small = [Problem("erm", "erm", p, 5e8), Problem("midpoint", "midpoint", p, 3e9)]
    large = [Problem("erm, literal", "erm", literal, 1e35), Problem("midpoint, literal", "midpoint", literal, 5e35)]
    pairs = [(problem, rtol) for problems, rtols in ((small, TOLERANCES), (large, TOLERANCES[:2])) for problem in problems for rtol in rtols]
    return {f"{problem.name}, rtol = {rtol:g}": (problem, rtol) for problem, rtol in pairs}


def options(parser: argparse.ArgumentParser) -> None:
    names = list(asked_for())
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME", help=f"of {'; '.join(names)}")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    asked = asked_for()
    return options.file.measure_parts(options.only, lambda name: compare(*asked[name]))


def judge(results: dict[str, Any]) -> list[str]:
    return [fault for row in results.values() for fault in faults(row)]


def citations(results: dict[str, Any]) -> dict[str, list[str]]:
    worst = max(max(row["error"], row["margin_error"]) / row["rtol"] for row in results.values())
    return {"concepts.md": [f"the end, with that at rtol / 1000 | k = 4, {len(results)} flows | {worst:.2g} rtol at most"]}


def headline(results: dict[str, Any]) -> str:
    worst = max(max(row["error"], row["margin_error"]) / row["rtol"] for row in results.values())
    rtols = [row["rtol"] for row in results.values()]
    which = f"{len(results)} flows at k = 4, rtol {max(rtols):g} to {min(rtols):g}"
    missing = len(asked_for()) - len(results)
    return f"Through all escapes of {which}, the end differs from that at rtol / 1000 by at most {worst:.2g} rtol; {BOUND:g} are allowed" + (
        f" ({missing} more flows of the study are not measured)" if missing else ""
    )


def passage(results: dict[str, Any]) -> str:
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
