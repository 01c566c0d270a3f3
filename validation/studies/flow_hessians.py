"""What it saves to keep the whole Hessian of mixed points while the time since an escape grows.

Under Midpoint Mixup at d = k^20 the stiff part that is known of the Hessian is not enough: equations fail, and once they have cost as much the whole
Hessian of the escaped neurons is formed (`mvsim.flow.stepper.COST_OF_UNSOLVED`). That of single points falls with their residuals, so it
is made anew each time the clock has grown by `OUTGROWN`. Mixed points keep their residuals (`mvsim.flow.base.Field.lasting`), and theirs is
kept. Flows are followed through all escapes and then ten times as long with it kept, and with it made anew as of single points.

Fails if a view does not escape, if keeping it takes more gradients, or if the two flows differ in the time of an escape by more than 10 rtol.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
from lib.flow_problems import Problem
from lib.study import FLOW
from lib.tables import table

import mvsim
from mvsim.flow import GradientFlow, State
from mvsim.flow.system import ChartedField
from mvsim.multi_view.diagnostics import own_correlations
from mvsim.runs.recording.entries import EscapeLog

TITLE = "Whole Hessians of mixed points"
SOURCES = FLOW

RTOL = 1e-3
BOUND = 10.0 * RTOL

LONGER = 10.0
"""Factor of the time of the last escape to which a flow is followed."""

PROBLEMS = {f"k={k}": Problem(f"k={k}", "midpoint", mvsim.Parameters.literal(k=k), 1e200) for k in (4, 6)}

DESIGNS = {"kept": True, "made anew": False}
"""Whether the field says that its Hessian lasts."""


def followed(asked: Problem, lasting: bool) -> dict[str, Any]:
    """Follow one flow, and return what it took and when views escaped."""
    field, before = replace(asked.field(), lasting=lasting), State(0, 0.0, asked.start())
    log, products, spent = EscapeLog.started(own_correlations(before.c), asked.parameters.rho), [], ChartedField.spent

    def counted(self: ChartedField, number: int) -> None:
        products.append(number)
        spent(self, number)

    with patch.object(ChartedField, "spent", counted):
        for visit in GradientFlow(field, RTOL).trajectory(before, asked.t_end):
            log.observe(before, visit.state)
            before = visit.state
            first = np.where(np.isnan(log.time), np.inf, log.time).min(axis=1)
            if before.time > LONGER * first.max():
                break
    return {
        "steps": before.step,
        "evaluations": before.evaluations,
        "hessians": len(products),
        "of_hessians": 2 * sum(products),
        "escapes": [time if np.isfinite(time) else None for time in first.ravel().tolist()],
    }


def part(name: str) -> dict[str, Any]:
    """Follow one flow with each design."""
    row = {design: followed(PROBLEMS[name], lasting) for design, lasting in DESIGNS.items()}
    print(f"{name}: {row}", flush=True)
    return row


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the study."""
    parser.add_argument("--only", nargs="+", choices=list(PROBLEMS), default=list(PROBLEMS), metavar="NAME", help="flows to follow")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Follow one flow after another."""
    return options.file.measure_parts(options.only, part)


def difference(row: dict[str, Any]) -> float | None:
    """Return the largest relative difference of the time of an escape, None if one is missing."""
    kept, anew = (row[design]["escapes"] for design in DESIGNS)
    if None in (*kept, *anew):
        return None
    return max(abs(a / b - 1.0) for a, b in zip(kept, anew, strict=True))


def judge(results: dict[str, Any]) -> list[str]:
    """Return what is wrong."""
    faults = []
    for name, row in results.items():
        apart = difference(row)
        if apart is None:
            faults.append(f"{name}: a view has not escaped")
        elif apart > BOUND:
            faults.append(f"{name}: escapes differ by {apart:.2g}")
        if row["kept"]["evaluations"] > row["made anew"]["evaluations"]:
            faults.append(f"{name}: keeping the Hessian takes more gradients")
    return faults


def headline(results: dict[str, Any]) -> str:
    """Say what it takes both ways."""
    told = "; ".join(
        f"{row['kept']['evaluations']} gradients instead of {row['made anew']['evaluations']} at {name.replace('=', ' = ')}"
        for name, row in results.items()
    )
    return f"Midpoint Mixup at d = k^20 takes {told}, because whole Hessians of mixed points are kept"


def passage(results: dict[str, Any]) -> str:
    """Put what it takes into a table."""
    rows = [
        [name, design, row[design]["steps"], row[design]["evaluations"], row[design]["hessians"], row[design]["of_hessians"]]
        for name, row in results.items()
        for design in DESIGNS
    ]
    apart = ", ".join(f"{'none' if (of := difference(row)) is None else f'{of:.2g}'} ({name})" for name, row in results.items())
    return (
        f"Flows at d = k^20, seed 0, with rtol {RTOL:g}, to {LONGER:g} times the last escape.\n\n"
        + table(["flow", "whole Hessian", "steps", "gradients", "Hessians formed", "gradients for these"], rows)
        + f"\nLargest relative difference of the time of an escape: {apart}.\n"
    )
