"""How finely errors of steps are measured where escaped neurons are in balance with noise: ERM at d = k^20, two constants of the stepper changed.

Late under ERM residuals are as small as exp(-margin), and an escaped neuron is in balance with noise n that is small with them. The equation of a
step has to tell n from 0, and is solved more finely by a factor; the error of a step need not, as it is forgotten. It is measured with a power of
that factor (`mvsim.multi_view.objectives.scales.FORGOTTEN`), and at most so many times as coarsely (`MOST_FORGOTTEN`). For each pair: gradients, and
the largest error of the margin of a training point at the end and of the time of an escape, against a reference at rtol / 100 in which both are
equally fine. Fails if one of them is more than 10 rtol with the constants as they are, or if with them more gradients are taken than with equal
ones. Pairs that need more gradients than the budget are stopped.
"""

from __future__ import annotations

import argparse
import math
import time
from typing import Any
from unittest.mock import patch

import numpy as np
from lib.flow_problems import Problem, follow_escapes, margins
from lib.study import FLOW
from lib.tables import table

import mvsim
from mvsim.multi_view.objectives import scales

TITLE = "Errors of steps where escaped neurons are in balance with noise"
SOURCES = FLOW

RTOL, FINE = 1e-3, 1e-5
BOUND = 10.0
"""Largest error, in rtol."""

AS_IT_IS, EQUAL = (scales.FORGOTTEN, scales.MOST_FORGOTTEN), (1.0, 1.0)
PAIRS = (EQUAL, AS_IT_IS, (0.75, math.inf), (0.5, math.inf), (0.25, math.inf), (0.0, 10.0), (0.0, 30.0), (0.0, 100.0))
"""Power and largest ratio; with the power 0 the ratio alone decides."""


def problem(k: int) -> Problem:
    """Return what is followed: through all escapes at k = 6."""
    return Problem("erm, literal", "erm", mvsim.Parameters.literal(k=k), 1e43)


def follow(asked: Problem, pair: tuple[float, float], rtol: float, budget: int) -> dict[str, Any]:
    """Follow the problem with other constants."""
    start = time.perf_counter()
    with patch.object(scales, "FORGOTTEN", pair[0]), patch.object(scales, "MOST_FORGOTTEN", pair[1]):
        state, escapes = follow_escapes(asked, rtol, budget)
    return {
        "pair": list(pair),
        "rtol": rtol,
        "ended": bool(state.time == asked.t_end),
        "steps": state.step,
        "evaluations": state.evaluations,
        "seconds": time.perf_counter() - start,
        "margins": margins(asked, state.c).tolist(),
        "escapes": escapes.tolist(),
    }


def errors(row: dict[str, Any], reference: dict[str, Any]) -> tuple[float, float]:
    """Return the errors of the margins, absolutely, and of the times of escape, relatively; infinite if an escape is missing."""
    times, right = np.array(row["escapes"]), np.array(reference["escapes"])
    if not np.array_equal(np.isfinite(times), np.isfinite(right)):
        return math.inf, math.inf
    escaped = np.isfinite(right)
    of_margins = np.abs(np.array(row["margins"]) - np.array(reference["margins"])).max()
    return float(of_margins), float(np.abs(times[escaped] / right[escaped] - 1.0).max())


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the study."""
    parser.add_argument("--k", type=int, default=6)
    parser.add_argument("--budget", type=int, default=60_000, help="most gradients with one value")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Follow the reference, and the problem with every value."""
    asked = problem(options.k)
    reference = follow(asked, EQUAL, FINE, 10**9)
    print(f"reference: {reference['evaluations']} gradients", flush=True)
    rows = []
    for pair in PAIRS:
        rows.append(follow(asked, pair, RTOL, options.budget))
        print(f"{pair}: {rows[-1]['steps']} steps, {rows[-1]['evaluations']} gradients, {rows[-1]['seconds']:.0f} s, "
              f"errors {errors(rows[-1], reference)}", flush=True)  # fmt: skip
    return {"k": options.k, "as_it_is": list(AS_IT_IS), "budget": options.budget, "reference": reference, "rows": rows}


def judge(results: dict[str, Any]) -> list[str]:
    """Return what is wrong with the constants as they are."""
    rows = {tuple(row["pair"]): row for row in results["rows"]}
    ours, equal = rows[tuple(results["as_it_is"])], rows[EQUAL]
    wrong = [
        f"error of {what} {error:.1e}, over {BOUND:g} rtol"
        for what, error in zip(("a margin", "a time of escape"), errors(ours, results["reference"]), strict=True)
        if not error <= BOUND * ours["rtol"]
    ]
    more = ours["evaluations"] > equal["evaluations"]
    return wrong + ([f"{ours['evaluations']} gradients, more than the {equal['evaluations']} where both are equally fine"] if more else [])


def headline(results: dict[str, Any]) -> str:
    """Say what the tolerances in use save, and how large their errors are."""
    ours, equal = (next(row for row in results["rows"] if row["pair"] == list(pair)) for pair in (results["as_it_is"], EQUAL))
    worst = max(errors(ours, results["reference"])) / ours["rtol"]
    return (
        f"In one flow of ERM (k = {results['k']}, d = k^20) a coarser tolerance for steps than for equations takes {ours['evaluations']} "
        f"gradients instead of {equal['evaluations']}, with errors of at most {worst:.2g} rtol"
    )


def passage(results: dict[str, Any]) -> str:
    """Explain the two constants, and put the pairs into a table, the one in use first."""
    rows = []
    for row in sorted(results["rows"], key=lambda row: row["pair"] != results["as_it_is"]):  # stable
        of_margins, of_times = errors(row, results["reference"])
        counted = [row["steps"], row["evaluations"] if row["ended"] else f"more than {results['budget']}", f"{row['seconds']:.0f}"]
        found = [f"{of_margins / row['rtol']:.2g}", f"{of_times / row['rtol']:.2g}"] if row["ended"] else ["", ""]
        power, most = row["pair"][0], "no limit" if math.isinf(row["pair"][1]) else f"{row['pair'][1]:g}"
        rows.append([f"{power:g}" + (" (in use)" if row["pair"] == results["as_it_is"] else ""), most, *counted, *found])
    heads = [
        "power of the factor",
        "most times the tolerance of the equation",
        "steps",
        "gradients",
        "seconds",
        "error of a margin / rtol",
        "error of a time of escape / rtol",
    ]
    reference = results["reference"]
    tolerances = [
        ("the equation of a step", "the usual one times a factor below 1"),
        ("the error of a step", "the usual one times a power of that factor, at most so many times the tolerance of the equation"),
    ]
    return (
        f"ERM at d = k^20, k = {results['k']}, seed 0, is followed through all escapes with rtol {RTOL:g}. Where escaped neurons are in "
        "balance with noise, two tolerances differ:\n\n"
        + table(["quantity", "tolerance"], tolerances)
        + "\nThe power and the limit are the first two columns. The reference has equal tolerances, "
        f"rtol {reference['rtol']:g} and {reference['evaluations']} gradients.\n\n" + table(heads, rows)
    )
