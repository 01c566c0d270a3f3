"""The bounds of the integrator that follows escapes, one changed at a time: what each costs, and how far escapes and outputs are from the flow.

Midpoint Mixup in the default regime at k = 10, two seeds, and at k = 20. The flow has rtol 1e-4. It is followed to a record beyond ten times the
last escape, and every design to the same time. Differences are those of the study `escapes`, in parts of what is allowed there.
Fails if with the bounds as they are a time differs by more than 2 %.
"""

from __future__ import annotations

import argparse
import math
from contextlib import ExitStack
from types import ModuleType
from typing import Any, NamedTuple
from unittest.mock import patch

from lib.tables import table

import mvsim
from mvsim.base.echo import quantity
from mvsim.flow import EscapeFollower, GradientFlow, escapes, large_step, proximal_newton
from mvsim.runs.simulation.field import field_of
from studies.escapes import TIME, follow, row_of, summary

TITLE = "Bounds of large steps, one changed at a time"

PROBLEMS = {"k = 10, seed 0": (10, 0), "k = 10, seed 1": (10, 1), "k = 20, seed 0": (20, 0)}
RTOL = 1e-4


class Design(NamedTuple):
    """A change of one bound: a constant of a module, or the tolerance of the integrator."""

    what: str
    value: float
    module: ModuleType | None = None


AS_IT_IS = "as they are"
DESIGNS = {
    "tolerance 0.01 instead of 0.005": Design("rtol", 0.01),
    "tolerance 0.0025": Design("rtol", 0.0025),
    "residuals up to 0.5 instead of 0.1": Design("RESIDUAL", 0.5, large_step),
    "residuals up to 0.01": Design("RESIDUAL", 0.01, large_step),
    "residuals unbounded": Design("RESIDUAL", math.inf, large_step),
    "nothing asked near thresholds instead of 4 tolerances": Design("KINK", math.inf, large_step),
    "1 tolerance near thresholds": Design("KINK", 1.0, large_step),
    "off-diagonal correlations to 3 tolerances instead of 10": Design("OFF", 3.0, large_step),
    "4 secants instead of 16": Design("SECANTS", 4, proximal_newton),
    "shorter steps after 8 iterations instead of 15": Design("MANY", 8, escapes),
}


def options(parser: argparse.ArgumentParser) -> None:
    names = list(PROBLEMS)
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME", help=f"of {'; '.join(names)}")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    return options.file.measure_parts(options.only, lambda name: compare(*PROBLEMS[name]))


def compare(k: int, seed: int) -> dict[str, Any]:
    """Follow one problem by the flow and by every design."""
    p = mvsim.Parameters(k=k)
    objective = mvsim.objective("midpoint", p, mvsim.sample_dataset(p, seed))
    field = field_of(objective)
    objective.loss(mvsim.initial_correlations(p, seed))  # compiled before time is taken
    reference = follow(objective, GradientFlow(field, RTOL), seed, [])
    times = [state.time for state in reference[0]]
    rows: dict[str, Any] = {}
    for name, design in {AS_IT_IS: Design("rtol", EscapeFollower.usual), **DESIGNS}.items():
        with ExitStack() as changes:
            if design.module is not None:
                changes.enter_context(patch.object(design.module, design.what, design.value))
            integrator = EscapeFollower(field, design.value if design.module is None else None)
            rows[name] = row_of(objective, follow(objective, integrator, seed, times), reference)
        print(k, seed, name, rows[name]["escapes"]["gradients"], summary(rows[name]), flush=True)
    return rows


def judge(results: dict[str, Any]) -> list[str]:
    parts = {name: summary(rows[AS_IT_IS]) for name, rows in results.items()}
    return [f"{name}: times differ by {TIME * part['time']:.2%}" for name, part in parts.items() if not part["time"] <= 1.0]


def headline(results: dict[str, Any]) -> str:
    problems = quantity(len(results), "problem")
    parts = {design: [summary(rows[design]) for rows in results.values()] for design in (AS_IT_IS, *DESIGNS)}
    right = [design for design, each in parts.items() if all(part["output"] <= 1.0 for part in each)]
    return f"Of {len(parts)} choices of the bounds {len(right) or 'none'} give every output within what is allowed in {problems}"


def passage(results: dict[str, Any]) -> str:
    heads = ["bounds", *(f"{what}, {name}" for name in results for what in ("time", "gap", "output", "beyond", "gradients", "s"))]
    lines = []
    for design in (AS_IT_IS, *DESIGNS):
        line = [design]
        for rows in results.values():
            row = rows[design]
            part, followed = summary(row), row["escapes"]
            line += [
                f"{TIME * part['time']:.2%}",
                f"{part['gap']:.2g}",
                f"{part['output']:.2g}",
                f"{row['outputs_off']:.2%}",
                followed["gradients"],
                f"{followed['seconds']:.0f}",
            ]
        lines.append(line)
    flows = (rows[AS_IT_IS]["flow"] for rows in results.values())
    flow = ", ".join(f"{each['gradients']} gradients and {each['seconds']:.0f} s ({name})" for name, each in zip(results, flows, strict=True))
    return (
        "Largest difference of a time; of a gap over 10 % or ten recorded errors; of an output at the end over 0.01 + 1 %; "
        f"which part of the outputs is beyond that; gradients and seconds. The flow takes {flow}.\n\n" + table(heads, lines)
    )
