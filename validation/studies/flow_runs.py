"""The flow to the settled state at full size and at the literal d = k^20: how long it takes, how many steps, and what is learned.

Compilation is excluded by a small run before. The literal runs are repeated at rtol / 10, to show that the result does not depend on it.
Other flows have studies of their own: midpoint at k = 50 (`main_job`), both methods at k = 10 (`readme_figure`), ERM at d = k^20 (`flow_literal`).
Fails if a run does not settle, misses its target, or learns other features at rtol / 10.
"""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

import numpy as np
from lib.agreement import Number, run_name
from lib.study import TRAINING
from lib.tables import met, table

import mvsim
from mvsim.recording.feature_test import count_classes

TITLE = "Flows to the settled state"
SOURCES = TRAINING


def _literal(k: int, **options: Any) -> dict[str, Any]:
    return {"parameters": mvsim.Parameters.literal(k=k), **options}


RUNS: dict[str, dict[str, Any]] = {
    "k=50 erm": {"parameters": mvsim.Parameters(k=50), "method": "erm", "target": 60},
    "k=6 literal midpoint": _literal(6, method="midpoint", target=None),
    "k=6 literal midpoint, rtol/10": _literal(6, method="midpoint", target=None, rtol=1e-4),
    "k=10 literal midpoint": _literal(10, method="midpoint", target=600),
    "k=10 literal midpoint, rtol/10": _literal(10, method="midpoint", target=None, rtol=1e-4),
}


def follow(parameters: mvsim.Parameters, method: str, target: float | None, rtol: float | None = None) -> dict[str, Any]:
    """Return what became of a run."""
    mvsim.simulate(parameters.replace(k=3, m=2, N=6, P=9, d=10), method, t_end=10.0, n_test=2)  # compiles
    start = time.perf_counter()
    run = mvsim.simulate(parameters, method, rtol=rtol)
    seconds = time.perf_counter() - start
    last = run.dataset.isel(time=-1)
    escaped = run.dataset["escape_time"].to_numpy()
    order = [[int(i) for i in place] for place in np.argwhere(np.isfinite(escaped))[np.argsort(escaped[np.isfinite(escaped)], kind="stable")]]
    return {
        "parameters": parameters.model_dump(mode="json"),
        "method": method,
        "rtol": run.provenance["integrator"]["rtol"],
        "seconds": seconds,
        "target_seconds": target,
        "met": None if target is None else seconds <= target,
        "settled": run.settled,
        "time": float(last["time"]),
        "steps": int(last["step"]),
        "evaluations": int(run.dataset["final_evaluations"]),
        "training_accuracy": float(last["training_accuracy"]),
        "classes": count_classes(last["feature_learned"].to_numpy()),
        "learned": (last["feature_learned"].to_numpy() >= 1.0).astype(int).tolist(),
        "largest_correlation": float(last["max_correlation"].max()),
        "escapes": len(order),
        "escape_order": order,
        "first_escape": float(np.nanmin(escaped)),
        "last_escape": float(np.nanmax(escaped)),
        "summary": run.summary,
    }


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the study."""
    parser.add_argument("--only", nargs="+", choices=list(RUNS), default=list(RUNS), metavar="NAME", help=f"runs to repeat, of {', '.join(RUNS)}")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Follow one flow after another."""

    def followed(name: str) -> dict[str, Any]:
        row = {**follow(**RUNS[name]), "load": os.getloadavg()[0]}
        print(
            f"{name:32} {row['seconds']:6.1f} s, {row['steps']} steps, {row['evaluations']} gradients, {row['classes']}, "
            f"settled {row['settled']}, t = {row['time']:.3g}",
            flush=True,
        )
        return row

    return options.file.measure_parts(options.only, followed)


def repeated(results: dict[str, Any]) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Return the runs that were repeated at rtol / 10, each with its repetition."""
    return {name: (row, results[f"{name}, rtol/10"]) for name, row in results.items() if f"{name}, rtol/10" in results}


def judge(results: dict[str, Any]) -> list[str]:
    """Return which runs do not settle, miss their target or learn other features at rtol / 10."""
    wrong = [f"{name} has not settled" for name, row in results.items() if not row["settled"]]
    wrong += [
        f"{name} takes {row['seconds']:.0f} s, the target is {row['target_seconds']:g} s" for name, row in results.items() if row["met"] is False
    ]
    return wrong + [
        f"{name} learns other features at rtol / 10" for name, (row, finer) in repeated(results).items() if row["learned"] != finer["learned"]
    ]


def passage(results: dict[str, Any]) -> str:
    """Put what became of the flows into a table."""
    lines = []
    for name, row in results.items():
        target = "" if row["target_seconds"] is None else f"{row['target_seconds']:g}: {met(row['met'])}"
        learned = [row["classes"][key] for key in ("both", "one", "none")]
        lines.append(
            [
                name,
                *learned,
                "yes" if row["settled"] else "no",
                row["steps"],
                row["evaluations"],
                f"{row['time']:.2g}",
                f"{row['seconds']:.3g}",
                target,
            ]
        )
    pairs = repeated(results).values()
    alike = sum(row["learned"] == finer["learned"] for row, finer in pairs)
    first = sum(_first_escapes(row) == _first_escapes(finer) for row, finer in pairs)
    heads = ["run", "both", "one", "none", "settled", "steps", "gradients", "t", "seconds", "target"]
    return (
        "Followed to the settled state; the main job, the runs of the picture and ERM at d = k^20 have passages of their own:\n\n"
        + table(heads, lines)
        + f"\nOf {len(pairs)} runs repeated at rtol / 10, {alike} learn the same features, and in {first} the views escape in the same order.\n"
    )


def _first_escapes(row: dict[str, Any]) -> list[tuple[int, int]]:
    """Return the views (class, view) of a run in the order in which their first neurons escaped."""
    return list(dict.fromkeys((y, view) for y, _, view in row["escape_order"]))


def numbers(results: dict[str, Any]) -> list[Number]:
    """Return what the table says of the runs."""
    stated = []
    for row in results.values():
        run = run_name(row["parameters"], row["method"], rtol=row["rtol"])
        quantities = {"steps": row["steps"], "gradients": row["evaluations"], **row["classes"]}
        stated += [Number(run, quantity, value) for quantity, value in quantities.items()]
    return stated
