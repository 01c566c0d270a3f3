"""What the steps of Midpoint Mixup wait for: which correlation limits each step, before and after the last escape.

A step is as long as its error allows, and the error of one correlation decides (`mvsim.flow.error_size`). A flow is followed through all
escapes and then ten times as long, as a run does before it has settled. Of each step the correlation is noted whose error is the most tolerances,
and in which of these groups it was: an own correlation, or one with a feature of another class, of a neuron that has escaped or not; those of escaped
neurons by whether the activation sees nothing of the feature (below 0), is a power of it, or is linear in it.

Under Midpoint Mixup a neuron that has escaped is first pushed far below 0 on the features of other classes. Later it comes back: each of these
correlations crosses from below 0 to where the activation is linear, and there are V (k - 1) for each escaped neuron. Crossings are counted, too.

The study is a map: what it shows is reported, not judged. It fails if a view has not escaped.
"""

from __future__ import annotations

import argparse
import math
from typing import Any

import numpy as np
from lib.flow_problems import Problem
from lib.study import FLOW
from lib.tables import table

import mvsim
from mvsim.flow import GradientFlow, State
from mvsim.flow.system import ChartedField
from mvsim.multi_view.diagnostics import own_correlations
from mvsim.runs.recording.entries import EscapeLog

TITLE = "What the steps of Midpoint Mixup wait for"
SOURCES = FLOW

RTOL = 1e-3

LONGER = 10.0
"""Factor of the time of the last escape to which a flow is followed."""

PROBLEMS = {
    "k=4": Problem("k=4", "midpoint", mvsim.Parameters(k=4, d=2000), 1e12),
    "k=6": Problem("k=6", "midpoint", mvsim.Parameters(k=6), 1e12),
    "k=10": Problem("k=10", "midpoint", mvsim.Parameters(k=10, d=20000), 1e12),
}

OWN, OTHER = "own", "with another class"
GROUPS = (
    f"{OWN}, not escaped",
    f"{OTHER}, not escaped",
    f"{OWN}, escaped",
    f"{OTHER}, escaped, below 0",
    f"{OTHER}, escaped, power",
    f"{OTHER}, escaped, linear",
)

PHASES = ("to the last escape", "after it")


def group(place: tuple[int, ...], c: np.ndarray, linear_from: float) -> str:
    """Return the group of the correlation (y, r, s, l) at a state c (k, m, k, V)."""
    y, r, s, _ = place
    which = OWN if s == y else OTHER
    if c[y, r, y].max() < linear_from:
        return f"{which}, not escaped"
    if which == OWN:
        return f"{OWN}, escaped"
    value = c[place]
    return f"{OTHER}, escaped, {'below 0' if value <= 0.0 else 'power' if value < linear_from else 'linear'}"


def crossed(before: np.ndarray, c: np.ndarray, linear_from: float, low: np.ndarray) -> tuple[int, np.ndarray]:
    """Return how many correlations with other classes, of escaped neurons, became linear in a step after they had been below 0; and which may yet.

    Parameters
    ----------
    before, c : array
        (k, m, k, V) at the beginning and the end of a step.
    linear_from : float
        From where the activation is linear.
    low : array
        (k, m, k, V) bool: below 0 since the neuron escaped or since it crossed last.
    """
    k = len(c)
    escaped = own_correlations(c).max(axis=2) >= linear_from
    others = escaped[:, :, None, None] & ~np.eye(k, dtype=bool)[:, None, :, None]
    up = others & low & (before < linear_from) & (c >= linear_from)
    return int(up.sum()), (low & ~up) | (others & (c < 0.0))


def followed(name: str) -> dict[str, Any]:
    """Follow one flow, and return what limited its steps."""
    asked = PROBLEMS[name]
    field, linear_from = asked.field(), asked.objective().linear_from
    before = State(0, 0.0, asked.start())
    log, low = EscapeLog.started(own_correlations(before.c), asked.parameters.rho), np.zeros(before.c.shape, dtype=bool)
    steps: list[tuple[float, int, str]] = []
    crossings: list[float] = []
    for visit in GradientFlow(field, RTOL).trajectory(before, asked.t_end):
        state, memory = visit.state, visit.state.memory
        log.observe(before, state)
        if before.memory is not None:  # the first step tells no tolerance
            chart = before.memory.chart
            weight = ChartedField(field, chart, before.c.shape, RTOL, before.memory.largest).tolerance(chart.to_y(before.c.ravel())).step
            error = np.abs(memory.stepper.history.correction[: before.c.size]) / weight
            place = tuple(int(i) for i in np.unravel_index(int(error.argmax()), before.c.shape))
            steps.append((state.time, state.evaluations - before.evaluations, group(place, before.c, linear_from)))
        number, low = crossed(before.c, state.c, linear_from, low)
        crossings += [state.time] * number
        before, last = state, float(np.where(np.isnan(log.time), np.inf, log.time).min(axis=1).max())
        if state.time > LONGER * last:
            break
    phases = [[step for step in steps if (step[0] > last) == late] for late in (False, True)]
    row = {
        "k": asked.parameters.k,
        "last_escape": last if math.isfinite(last) else None,
        "steps": before.step,
        "evaluations": before.evaluations,
        "crossings": [sum((time > last) == late for time in crossings) for late in (False, True)],
        "phases": [
            {of: {"steps": sum(s[2] == of for s in phase), "gradients": sum(s[1] for s in phase if s[2] == of)} for of in GROUPS} for phase in phases
        ],
    }
    print(f"{name}: {row}", flush=True)
    return row


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the study."""
    parser.add_argument("--only", nargs="+", choices=list(PROBLEMS), default=list(PROBLEMS), metavar="NAME", help="flows to follow")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Follow one flow after another."""
    return options.file.measure_parts(options.only, followed)


def judge(results: dict[str, Any]) -> list[str]:
    """Return in which flows a view has not escaped."""
    return [f"{name}: a view has not escaped" for name, row in results.items() if row["last_escape"] is None]


def total(row: dict[str, Any], what: str, phase: int) -> int:
    """Return the steps or gradients of a phase, which is 0 or 1."""
    return sum(group[what] for group in row["phases"][phase].values())


def of_crossings(row: dict[str, Any]) -> tuple[int, int]:
    """Return the gradients of steps after the last escape that a correlation of an escaped neuron with another class limits, and of all after it."""
    late = row["phases"][1]
    return sum(late[name]["gradients"] for name in GROUPS if name.startswith(f"{OTHER}, escaped")), total(row, "gradients", 1)


def headline(results: dict[str, Any]) -> str:
    """Say how many gradients come after the last escape, and what limits steps there, at the largest k."""
    row = max(results.values(), key=lambda row: row["k"])
    limited, late = of_crossings(row)
    return (
        f"At k = {row['k']} {100 * late / row['evaluations']:.0f} % of the gradients of Midpoint Mixup come after the last escape, "
        f"{100 * limited / max(late, 1):.0f} % of these in steps that are limited where escaped neurons meet features of other classes"
    )


def passage(results: dict[str, Any]) -> str:
    """Put what limits steps into a table."""
    rows = [
        [name, of, *(f"{phase[of]['steps']} / {phase[of]['gradients']}" for phase in row["phases"])]
        for name, row in results.items()
        for of in GROUPS
        if any(phase[of]["steps"] for phase in row["phases"])
    ]
    crossings = "; ".join(
        f"{name}: {row['crossings'][0]} crossings to the last escape and {row['crossings'][1]} after it, of "
        f"{row['steps']} steps and {row['evaluations']} gradients in all"
        for name, row in results.items()
    )
    return (
        f"Flows of Midpoint Mixup, seed 0, are followed with rtol {RTOL:g} to {LONGER:g} times the last escape. Each step is counted for the "
        "correlation whose error is the most tolerances. *Power*: the activation is a power of the correlation; *linear*: linear in it.\n\n"
        + table(["flow", "correlation that limits the step", *(f"steps / gradients {phase}" for phase in PHASES)], rows)
        + "\nA crossing is a correlation of an escaped neuron with a feature of another class that becomes linear after it was below 0. "
        + crossings
        + ".\n"
    )
