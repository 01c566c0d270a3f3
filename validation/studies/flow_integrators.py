"""mvsim's own time-stepper beside CVODE, which it has replaced: gradients, steps and processor time to the settled state, in one process.

CVODE is the second integrator (``--integrator cvode``): it has the same variables and the same arrow-shaped preconditioner (mvsim's own stepper
forms whole Hessians beside it), and starts anew at every segment. Both follow the same runs with all tolerances at their defaults, one after the
other, with one thread. Kernels are compiled before. The first and the last run have the N = max(200, 10 k) and P = k^2 that were the defaults when
CVODE was the only integrator. A run that takes longer than ``--limit`` seconds is interrupted, and counts as far as it has come.

Fails if one of mvsim's own runs does not settle or learns fewer features than that of CVODE, or if it takes more gradients than CVODE does to the
settled state.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from lib.faults import TargetMissed
from lib.limited import interrupted_after
from lib.regimes import with_r0
from lib.tables import table

import mvsim
from mvsim.base.errors import Interrupted, StalledError
from mvsim.runs.recording.fresh_draws import count_classes

TITLE = "mvsim's time-stepper beside CVODE"

OURS, OTHER = "flow", "cvode"


class Asked(NamedTuple):
    """A run, and what it should take at most: gradients and seconds of processor time; None for no target."""

    parameters: mvsim.Parameters
    method: str = "midpoint"
    gradients: int | None = None
    seconds: float | None = None


RUNS: dict[str, Asked] = {
    "k=10, N=200, P=100": Asked(mvsim.Parameters(k=10, d=20000, N=200, P=100), gradients=4500, seconds=12.0),
    "k=10, P=6400": Asked(mvsim.Parameters(k=10, d=20000, P=6400), gradients=10_000),
    "k=10, d=k^20, ERM": Asked(mvsim.Parameters.literal(k=10), "erm", seconds=30.0),
    "k=10, d=k^20": Asked(mvsim.Parameters.literal(k=10), seconds=60.0),
    "k=50, r0=0.3, P=2500": Asked(with_r0(50, 0.3, P=2500), seconds=180.0),
}
"""Midpoint Mixup where ERM is not named."""


def follow(asked: Asked, integrator: str, limit: float) -> dict[str, Any]:
    """Return what a run takes with an integrator that is given so many seconds."""
    with tempfile.TemporaryDirectory() as folder:
        out, start, stopped = Path(folder) / "run.nc", time.process_time(), ""
        try:
            with interrupted_after(limit):
                mvsim.simulate(asked.parameters, method=asked.method, integrator=integrator, threads=1, out=out)
        except Interrupted:
            stopped = "interrupted"
        except StalledError:
            stopped = "stalled"
        seconds = time.process_time() - start
        run = mvsim.open_run(out)
        run.dataset.load()
    last = run.dataset.isel(time=-1)
    return {
        "seconds": seconds,
        "stopped": stopped,
        "settled": bool(run.settled),
        "steps": int(run.dataset["final_step"]),
        "gradients": int(run.dataset["final_evaluations"]),
        "time": float(run.dataset["final_time"]),
        "training_accuracy": float(last["training_accuracy"]),
        "classes": count_classes(last["feature_learned"].to_numpy()),
    }


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the study."""
    parser.add_argument("--only", nargs="+", choices=list(RUNS), default=list(RUNS), metavar="NAME", help=f"runs, of {'; '.join(RUNS)}")
    parser.add_argument("--limit", type=float, default=3600.0, help="seconds after which a run is interrupted")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Follow each run with both integrators."""

    def both(name: str) -> dict[str, Any]:
        asked, row = RUNS[name], {}
        for integrator in (OURS, OTHER):
            follow(asked._replace(parameters=mvsim.Parameters(k=3, N=30)), integrator, options.limit)  # compiles
            row[integrator] = follow(asked, integrator, options.limit)
            print(f"{name}, {integrator}: {row[integrator]}", flush=True)
        return row

    return options.file.measure_parts(options.only, both)


def judge(results: dict[str, Any]) -> list[str]:
    """Return what is wrong with mvsim's own runs, and the targets that are missed."""
    wrong = []
    for name, row in results.items():
        ours, other = row[OURS], row[OTHER]
        if not ours["settled"]:
            wrong.append(f"{name} has not settled")
        if features(ours) < features(other):
            wrong.append(f"{name}: {features(ours)} features, {features(other)} by CVODE")
        if ours["settled"] and other["settled"] and ours["gradients"] > other["gradients"]:
            wrong.append(f"{name}: {ours['gradients']} gradients, {other['gradients']} by CVODE")
    return wrong + [
        TargetMissed(f"{name}: {took}; target {target}") for name in results for took, target, is_met in targets(name, results) if not is_met
    ]


def features(row: dict[str, Any]) -> int:
    """Return how many features a run has learned."""
    return 2 * int(row["classes"]["both"]) + int(row["classes"]["one"])


def targets(name: str, results: dict[str, Any]) -> list[tuple[str, str, bool]]:
    """Return of each target of a run what it took, what it should take at most, and whether that is met."""
    asked, ours = RUNS[name], results[name][OURS]
    found = []
    if asked.gradients is not None:
        found.append((f"{ours['gradients']} gradients", f"{asked.gradients} gradients", ours["settled"] and ours["gradients"] <= asked.gradients))
    if asked.seconds is not None:
        found.append((f"{ours['seconds']:.0f} s", f"{asked.seconds:.0f} s", ours["settled"] and ours["seconds"] <= asked.seconds))
    return found


def ratios(results: dict[str, Any], what: str) -> list[float]:
    """Return CVODE's gradients or seconds over those of mvsim, of the runs that settle with both."""
    return [row[OTHER][what] / row[OURS][what] for row in results.values() if row[OURS]["settled"] and row[OTHER]["settled"]]


def headline(results: dict[str, Any]) -> str:
    """Say how many times as much CVODE takes."""
    gradients, seconds = ratios(results, "gradients"), ratios(results, "seconds")
    if not gradients:
        return "No run settles with both integrators"
    measured = f"; {len(results)} of {len(RUNS)} runs are measured" if len(results) < len(RUNS) else ""
    which = f", in {len(gradients)} runs that settle with both{measured}"
    return (
        f"To the settled state CVODE takes {min(gradients):.2g} to {max(gradients):.2g} times the gradients of mvsim's own time-stepper, and "
        f"{min(seconds):.2g} to {max(seconds):.2g} times its processor time{which}"
    )


def passage(results: dict[str, Any]) -> str:
    """Put what both take into a table."""
    rows = []
    for name, row in results.items():
        goals = ", ".join(target if is_met else f"**{target}**" for _, target, is_met in targets(name, results))
        for integrator in (OURS, OTHER):
            one = row[integrator]
            ends = "yes" if one["settled"] else one["stopped"] or "no"
            learned = "/".join(str(one["classes"][how]) for how in ("both", "one", "none"))
            cells = [one["steps"], one["gradients"], f"{one['seconds']:.3g}", f"{one['time']:.2g}"]
            rows.append([name, integrator, learned, ends, *cells, goals if integrator == OURS else ""])
    heads = ["run", "integrator", "both/one/none", "settled", "steps", "gradients", "s of processor time", "t", "targets"]
    return (
        "Runs of Midpoint Mixup unless ERM is named, seed 0, rtol 1e-3, one thread, one after the other; targets in bold are missed. Both use the "
        "same rtol, variables and arrow-shaped preconditioner; errors are not compared. mvsim's stepper also forms the whole Hessian of the escaped "
        "neurons where equations go on failing, and counts an evaluation of few neurons as one gradient. CVODE starts again at every segment; "
        "mvsim's stepper keeps its order, its step and its history.\n\n" + table(heads, rows)
    )
