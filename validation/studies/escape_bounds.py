"""The bounds of the integrator that follows escapes, one changed at a time, and the flow at other tolerances: what each costs, and how right it is.

Midpoint Mixup in the default regime. The reference is the flow, at k = 10 at rtol 1e-6 and at k = 20 at rtol 1e-4, to a record beyond ten times the
last escape; all others are followed to the same time. Differences are those of the study `escapes`, in parts of what is allowed
there. Fails if with the bounds as they are a time differs by more than 2 %.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from types import ModuleType
from typing import Any, NamedTuple
from unittest.mock import patch

from lib.tables import table

import mvsim
from mvsim.base.echo import quantity
from mvsim.flow import EscapeFollower, FlowIntegrator, GradientFlow, escapes, large_step, proximal_newton
from mvsim.runs.simulation.field import field_of
from studies.escapes import RTOL, TIME, follow, row_of, summary

TITLE = "Bounds of large steps, one changed at a time"

PROBLEMS = {"k = 10, seed 1": (10, 1), "k = 20, seed 0": (20, 0)}
FLOWS = {"flow, rtol 0.001": 1e-3, "flow, rtol 0.0001": 1e-4}


class Change(NamedTuple):
    """One bound is changed: a constant of a module, or the tolerance of the integrator."""

    what: str
    value: float
    module: ModuleType | None = None


AS_IT_IS = "as they are"
CHOICES = {
    AS_IT_IS: Change("rtol", EscapeFollower.usual),
    "tolerance 0.01 instead of 0.005": Change("rtol", 0.01),
    "tolerance 0.0025": Change("rtol", 0.0025),
    "residuals up to 0.5 instead of 0.1": Change("RESIDUAL", 0.5, large_step),
    "residuals up to 0.01": Change("RESIDUAL", 0.01, large_step),
    "off-diagonal correlations to 3 tolerances instead of 10": Change("OFF", 3.0, large_step),
    "4 secants instead of 16": Change("SECANTS", 4, proximal_newton),
    "shorter steps after equations of 15 iterations instead of 8": Change("MANY", 15, escapes),
    "steps of 75 % of what the error allows instead of 60 %": Change("SAFETY", 0.75, escapes),
}


def options(parser: argparse.ArgumentParser) -> None:
    names = list(PROBLEMS)
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME", help=f"of {'; '.join(names)}")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    return options.file.measure_parts(options.only, lambda name: compare(*PROBLEMS[name]))


def compare(k: int, seed: int) -> dict[str, Any]:
    """Follow one problem by the flow and by every choice."""
    p = mvsim.Parameters(k=k)
    objective = mvsim.objective("midpoint", p, mvsim.sample_dataset(p, seed))
    field = field_of(objective)
    objective.loss(mvsim.initial_correlations(p, seed))  # compiled before time is taken
    reference = follow(objective, GradientFlow(field, RTOL[k]), seed, [])
    times = [state.time for state in reference[0]]
    rows: dict[str, Any] = {}

    def add(name: str, integrator: FlowIntegrator) -> None:
        rows[name] = row_of(objective, follow(objective, integrator, seed, times), reference)
        print(k, seed, name, rows[name]["escapes"]["gradients"], summary(rows[name]), flush=True)

    for name, change in CHOICES.items():
        if change.module is None:
            add(name, EscapeFollower(field, change.value))
        else:
            with patch.object(change.module, change.what, change.value):
                add(name, EscapeFollower(field))
    for name, rtol in FLOWS.items():
        if rtol > RTOL[k]:
            add(name, GradientFlow(field, rtol))
    return rows


def judge(results: dict[str, Any]) -> list[str]:
    parts = {name: summary(rows[AS_IT_IS]) for name, rows in results.items()}
    return [f"{name}: times differ by {TIME * part['time']:.2%}" for name, part in parts.items() if not part["time"] <= 1.0]


def _right(results: dict[str, Any], names: Iterable[str]) -> list[str]:
    """Return those of some integrators that give every output within what is allowed, wherever they were followed."""
    parts = {name: [summary(rows[name]) for rows in results.values() if name in rows] for name in names}
    return [name for name, each in parts.items() if all(part["output"] <= 1.0 for part in each)]


def headline(results: dict[str, Any]) -> str:
    right, flows = _right(results, CHOICES), _right(results, FLOWS)
    everywhere = f"give every output within what is allowed in {quantity(len(results), 'problem')}"
    return f"Of {len(CHOICES)} choices of the bounds {len(right) or 'none'} {everywhere}, of {len(FLOWS)} coarser flows {len(flows) or 'none'}"


def passage(results: dict[str, Any]) -> str:
    heads = ["bounds", "time", "gap or 10 errors / allowed", "output / allowed", "of all outputs, beyond", "gradients", "s"]
    return (
        "Largest differences from the flow at small rtol: of a time, of the time between the two views of a class over 10 % or ten recorded "
        "errors, of an output at the end over 0.01 + 1 %.\n\n"
        + "\n\n".join(f"{name}, where the reference takes {_cost(rows)}:\n\n{table(heads, _lines(rows))}" for name, rows in results.items())
    )


def _cost(rows: dict[str, Any]) -> str:
    flow = rows[AS_IT_IS]["flow"]
    return f"{flow['gradients']} gradients and {flow['seconds']:.0f} s"


def _lines(rows: dict[str, Any]) -> list[list[Any]]:
    lines = []
    for name, row in rows.items():
        part, followed = summary(row), row["escapes"]
        differences = [f"{TIME * part['time']:.2%}", f"{part['gap']:.2g}", f"{part['output']:.2g}", f"{row['outputs_off']:.2%}"]
        lines.append([name, *differences, followed["gradients"], f"{followed['seconds']:.0f}"])
    return lines
