"""What it saves that neurons rest while few of each class are stepped, and what it costs in accuracy.

A neuron rests until it is close to its threshold (`mvsim.flow.resting`). Flows at k = 20 and 50 are followed through escapes twice, one
after the other: with neurons that rest, as a run does by itself from k = 25 on, and with every neuron stepped. Where a reference at rtol / 1000 is
affordable, with every neuron stepped, both are compared with it: by the largest error of a correlation, relative to it plus a tenth of the largest
of its neuron, of all neurons and of those that have not escaped, and by the times of escapes. What both take is processor time. Fails if an error
with resting neurons is more than 10 rtol, if an escape differs by more than that from the reference or from the flow in which every neuron is
stepped, or if at k = 50 nothing is saved. Control: the initial state has errors beyond any bound.
"""

from __future__ import annotations

import argparse
import itertools
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
from lib.flow_problems import Problem, error, follow_escapes
from lib.study import FLOW
from lib.tables import table

import mvsim
from mvsim.flow import State, resting

TITLE = "Neurons that are not integrated (resting)"
SOURCES = FLOW

RTOL, FINER = 1e-3, 1000.0
BOUND = 10.0 * RTOL

PROBLEMS = {
    "k=20 erm": (Problem("k=20 erm", "erm", mvsim.Parameters(k=20), 3e5), True),
    "k=20 midpoint": (Problem("k=20 midpoint", "midpoint", mvsim.Parameters(k=20), 8e6), True),
    "k=50 erm": (Problem("k=50 erm", "erm", mvsim.Parameters(k=50), 5e5), False),
    "k=50 midpoint": (Problem("k=50 midpoint", "midpoint", mvsim.Parameters(k=50), 1.5e7), False),
}
"""Each with whether a reference is affordable; all through several escapes."""


@contextmanager
def resting_from(least: float) -> Iterator[None]:
    """Let neurons rest where there are so many correlations."""
    with patch.object(resting, "LEAST", least):
        yield


def followed(problem: Problem, rtol: float) -> tuple[State, np.ndarray, dict[str, Any]]:
    """Return the end of a flow, the times of escapes, and what it took."""
    start = time.process_time()
    state, escapes = follow_escapes(problem, rtol)
    took = {"steps": state.step, "evaluations": state.evaluations, "seconds": time.process_time() - start}
    stepped = int(state.memory.resting.stepped.shape[0]) or state.c.size
    return state, escapes, {**took, "stepped": stepped / state.c.size}


def apart(times: np.ndarray, others: np.ndarray) -> float:
    """Return the largest relative difference of times of escapes (k, V), infinite where one has escaped in only one of both."""
    both = np.isfinite(times) & np.isfinite(others)
    if (np.isfinite(times) != np.isfinite(others)).any():
        return math.inf
    return float(np.max(np.abs(times[both] / others[both] - 1.0), initial=0.0))


def errors(problem: Problem, c: np.ndarray, reference: np.ndarray) -> dict[str, float]:
    """Return the largest error of all neurons, and of those that have not escaped."""
    dormant = reference.max(axis=(2, 3)) < problem.parameters.rho
    size = np.abs(reference) + 0.1 * np.abs(reference).max(axis=(2, 3), keepdims=True)
    return {"all": error(c, reference), "dormant": float((np.abs(c - reference) / size)[dormant].max(initial=0.0))}


def compare(name: str) -> dict[str, Any]:
    """Follow one flow both ways, and compare."""
    problem, affordable = PROBLEMS[name]
    follow_escapes(Problem(name, problem.method, problem.parameters, 1.0), RTOL)  # compiles
    with resting_from(0):
        some, escapes, with_resting = followed(problem, RTOL)
    with resting_from(math.inf):
        every, times, without = followed(problem, RTOL)
        reference, right = follow_escapes(problem, RTOL / FINER) if affordable else (None, None)
    row = {
        "parameters": problem.parameters.model_dump(mode="json"),
        "t_end": problem.t_end,
        "rtol": RTOL,
        "escapes": int(np.isfinite(times).sum()),
        "resting": with_resting,
        "every": without,
        "apart": apart(escapes, times),
    }
    if reference is not None and right is not None:
        row["resting"] |= {"errors": errors(problem, some.c, reference.c), "apart": apart(escapes, right)}
        row["every"] |= {"errors": errors(problem, every.c, reference.c), "apart": apart(times, right)}
        row["control"] = error(problem.start(), reference.c)
    print(f"{name}: {row}", flush=True)
    return row


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the study."""
    parser.add_argument("--only", nargs="+", choices=list(PROBLEMS), default=list(PROBLEMS), metavar="NAME", help="flows to follow")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Follow one flow after another."""
    return options.file.measure_parts(options.only, compare)


def is_large(row: dict[str, Any]) -> bool:
    """Whether neurons rest in a run of that size by themselves."""
    k, m = row["parameters"]["k"], row["parameters"]["m"]
    return bool(row["parameters"]["V"] * k * k * m >= resting.LEAST)


def judge(results: dict[str, Any]) -> list[str]:
    """Return what is wrong."""
    faults = []
    for name, row in results.items():
        if not row["apart"] <= BOUND:
            faults.append(f"{name}: an escape differs by {row['apart']:.2g} from the flow in which every neuron is stepped; at most {BOUND:g}")
        if is_large(row) and not row["resting"]["seconds"] < row["every"]["seconds"]:
            faults.append(f"{name}: nothing is saved ({row['resting']['seconds']:.3g} s instead of {row['every']['seconds']:.3g} s)")
        if "control" not in row:
            continue
        found = row["resting"]["errors"]
        faults += [f"{name}: error {found[which]:.2g} of {which} neurons; at most {BOUND:g}" for which in found if not found[which] <= BOUND]
        if not row["resting"]["apart"] <= BOUND:
            faults.append(f"{name}: an escape differs by {row['resting']['apart']:.2g} from the reference; at most {BOUND:g}")
        if row["control"] <= BOUND:
            faults.append(f"{name}: the control passes")
    return faults


def saved(row: dict[str, Any]) -> float:
    """Return the processor time with every neuron stepped, over that with resting neurons."""
    return row["every"]["seconds"] / row["resting"]["seconds"]


def citations(results: dict[str, Any]) -> dict[str, list[str]]:
    """Return what the documentation says of neurons at rest."""
    found = [(row["parameters"]["k"], row["resting"]["errors"]["all"]) for row in results.values() if row["resting"].get("errors")]
    ks = ", ".join(str(k) for k in sorted({k for k, _ in found}))
    return {"concepts.md": [f"most neurons at rest | k = {ks} | {max(error for _, error in found) / RTOL:.2g} rtol at most"]}


def headline(results: dict[str, Any]) -> str:
    """Say at which k resting saves time."""
    by_k: dict[int, list[float]] = {}
    for row in results.values():
        by_k.setdefault(row["parameters"]["k"], []).append(1.0 / saved(row))
    told = [f"{' and '.join(f'{factor:.2g}' for factor in factors)} of it at k = {k}" for k, factors in sorted(by_k.items(), reverse=True)]
    of_errors = [row["resting"]["errors"]["all"] for row in results.values() if row["resting"].get("errors")]
    accuracy = f"; where a reference was made, errors are {max(of_errors):.1e} at most" if of_errors else ""
    return f"Where most neurons rest, the first escapes take, of the processor time without (ERM and Midpoint Mixup), {', '.join(told)}{accuracy}"


def _first_k() -> int:
    """Return the least k at which neurons rest by default."""
    return next(k for k in itertools.count(2) if mvsim.Parameters(k=k).m * k * 2 * k >= resting.LEAST)


def passage(results: dict[str, Any]) -> str:
    """Put the comparison into a table."""
    heads = ["flow", "escapes", "neurons", "stepped", "steps", "gradients", "s", "error, all", "error, dormant", "escapes off by"]
    rows = []
    for name, row in results.items():
        for kind, words in (("resting", "most rest"), ("every", "every one stepped")):
            one = row[kind]
            found = one.get("errors")
            rows.append(
                [
                    name,
                    row["escapes"],
                    words,
                    f"{100 * one['stepped']:.0f} %",
                    one["steps"],
                    one["evaluations"],
                    f"{one['seconds']:.0f}",
                    "" if found is None else f"{found['all']:.1e}",
                    "" if found is None else f"{found['dormant']:.1e}",
                    f"{one.get('apart', row['apart']):.1e}" if found is not None or kind == "resting" else "",
                ]
            )
    factors = "; ".join(f"{name} {saved(row):.2g}" for name, row in results.items())
    return (
        f"Processor time with every neuron stepped, over that with resting neurons (above 1: resting saves time): {factors}. By default neurons rest "
        f"where there are {resting.LEAST:,} correlations or more, from k = {_first_k()} on; below that the study lets them rest all the same.\n\n"
        "Each flow is followed both ways with rtol 1e-3, through the number of escapes in the table; s is processor time. Errors, and differences of "
        "the times of escapes, are relative to a reference at rtol / 1000. Where there is none, escapes are compared with those of the flow in which "
        "every neuron is stepped.\n\n" + table(heads, rows)
    )
