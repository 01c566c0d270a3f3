"""Escape times of Midpoint Mixup at the sizes that are used: the flow at rtol 1e-4 at k = 20 and 50, and how far other integrators are from it.

References are followed until every view has escaped, at k = 50 to t = 1.2e8. Others are compared with the reference of their k and seed, up to the
earlier of both ends; a view that has not escaped is taken to escape there. Fails if a time differs by more than 1 % (of `escapes` 2 %, as in that
study), if two views that are further apart than that escape in another order, or if view 1 of class 1 at k = 50, seed 0, does not escape within 1 %
of 6.6242e7: implicit steps that damp what grows pass over that escape (`mvsim.flow.growth`).
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from lib.tables import table

import mvsim
from mvsim.base.echo import quantity
from mvsim.flow import INTEGRATORS, EscapeFollower, State
from mvsim.multi_view.diagnostics import own_correlations
from mvsim.runs.recording.entries import EscapeLog
from mvsim.runs.simulation.field import field_of

TITLE = "Escapes at k = 20 and 50"

EVER = 1e12
"""A time at which every view has escaped at k = 20."""

PASSED_OVER = ("k = 50, seed 0", 1, 1, 6.6242e7)
"""Data, class, view and time of an escape that long steps pass over."""

BOUNDS = {"flow": 0.01, "escapes": 0.02}
"""Relative error that a time may have."""


class Flow(NamedTuple):
    """A flow in the default regime."""

    k: int
    seed: int
    t_end: float
    integrator: str
    rtol: float

    @property
    def data(self) -> str:
        """What is followed."""
        return f"k = {self.k}, seed {self.seed}"

    @property
    def name(self) -> str:
        """What is followed, and by what."""
        return f"{self.data}, {self.integrator}, rtol = {self.rtol:g}"


DATA = ((50, 0, 1.2e8), *((20, seed, EVER) for seed in range(3)))
BY = (("flow", 1e-4), ("flow", 1e-3), ("escapes", EscapeFollower.usual))
FLOWS = {flow.name: flow for by in BY for flow in (Flow(*data, *by) for data in DATA)}


def follow(flow: Flow) -> Iterator[dict[str, Any]]:
    """Follow a flow until every view has escaped or to its end; give what is known of it after each escape and there."""
    p, begun = mvsim.Parameters(k=flow.k), time.perf_counter()
    field = field_of(mvsim.objective("midpoint", p, mvsim.sample_dataset(p, flow.seed)))
    state = State(0, 0.0, mvsim.initial_correlations(p, flow.seed))
    log = EscapeLog.started(own_correlations(state.c), p.rho)
    for visit in INTEGRATORS[flow.integrator](field, flow.rtol).trajectory(state, flow.t_end):
        before, state = state, visit.state
        log.observe(before, state)
        over = bool(log.views().all()) or state.time >= flow.t_end
        if over or log.has_new_view(before.step):
            first = np.where(log.step < 0, np.inf, log.time).min(axis=1)
            yield {
                "until": state.time,
                "steps": state.step,
                "gradients": state.evaluations,
                "seconds": time.perf_counter() - begun,
                "times": [[one if math.isfinite(one) else None for one in views] for views in first.tolist()],
            }
        if over:
            break


def compare(row: dict[str, Any], reference: dict[str, Any], bound: float) -> dict[str, Any]:
    """Compare the escapes of a flow with those of its reference; a view that has not escaped counts as one that does where one of them ends."""
    until = min(row["until"], reference["until"])
    times, right = (np.fmin(np.array(each["times"], float), until) for each in (row, reference))  # None becomes NaN, which fmin leaves out
    pairs = combinations(zip(times.ravel(), right.ravel(), strict=True), 2)
    off = np.abs(times / right - 1.0)
    return {
        "escapes": int((right < until).sum()),
        "largest": float(off.max()),
        "median": float(np.median(off[right < until])),
        "misplaced": sum(bool((a < b) != (x < y)) for (a, x), (b, y) in pairs if not math.isclose(x, y, rel_tol=bound)),
    }


def compared(results: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Compare all flows that have a reference with it."""
    references = {FLOWS[name].data: row for name, row in results.items() if (FLOWS[name].integrator, FLOWS[name].rtol) == BY[0]}
    others = {name: row for name, row in results.items() if (FLOWS[name].integrator, FLOWS[name].rtol) != BY[0] and FLOWS[name].data in references}
    return {name: compare(row, references[FLOWS[name].data], BOUNDS[FLOWS[name].integrator]) for name, row in others.items()}


def options(parser: argparse.ArgumentParser) -> None:
    names = list(FLOWS)
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME", help=f"of {'; '.join(names)}")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    options.file.keep([name for name in options.file.read() if name not in options.only])
    for name in options.only:
        for row in follow(FLOWS[name]):
            options.file.write({**options.file.read(), name: row})  # at each escape, so that a cut loses nothing
        print(name, {key: value for key, value in row.items() if key != "times"}, flush=True)
    return options.file.read()


def judge(results: dict[str, Any]) -> list[str]:
    wrong = []
    for name, row in compared(results).items():
        bound = BOUNDS[FLOWS[name].integrator]
        wrong += [f"{name}: a time is off by {row['largest']:.1e}, over {bound:g}"] if not row["largest"] <= bound else []
        wrong += [f"{name}: {row['misplaced']} pairs of views escape in another order"] if row["misplaced"] else []
    data, label, view, right = PASSED_OVER
    for name, row in results.items():
        found = row["times"][label][view]
        if FLOWS[name].data == data and not (found and math.isclose(found, right, rel_tol=0.01)) and row["until"] > 1.01 * right:
            wrong.append(f"{name}: view {view} of class {label} escapes at {found}, not at {right:g}")
    return wrong


def headline(results: dict[str, Any]) -> str:
    rows = compared(results).values()
    missing = len(FLOWS) - len(results)
    worst = f"times differ by at most {max(row['largest'] for row in rows):.1e} from those at rtol = 1e-4" if rows else "only references are measured"
    return f"In {quantity(len(rows), 'flow')} with {sum(row['escapes'] for row in rows)} escapes, {worst}" + (
        f" ({missing} more flows of the study are not measured)" if missing else ""
    )


def passage(results: dict[str, Any]) -> str:
    heads = ["flow", "t", "escapes", "steps", "gradients", "largest difference of a time", "median", "out of order"]
    against = compared(results)
    rows = [
        [name, f"{row['until']:.4g}", sum(one is not None for views in row["times"] for one in views), row["steps"], row["gradients"]]
        + ([f"{against[name]['largest']:.1e}", f"{against[name]['median']:.1e}", against[name]["misplaced"]] if name in against else ["", "", ""])
        for name, row in results.items()
    ]
    return "Differences are relative, against the flow at rtol = 1e-4.\n\n" + table(heads, rows)
