"""Runs to the settled state at full size and at the literal d = k^20: how long they take, how many steps, how much memory, and what is learned.

Every run is a process of its own, as a user would start it, after a small one that compiles. One that takes longer than ``--limit`` seconds is
interrupted and saved, and what is told is how far it has come. The literal runs are repeated at rtol / 10, to show that the result does not depend
on it. Runs have --rtol 1e-3, which selects the flow; those with "default" in their names leave the choice to auto. Other runs have studies of their
own: midpoint at k = 50 (`main_job`, `main_job_escapes`), both methods at k = 10, d = 20000 (`readme_figure`), ERM at d = k^20 (`flow_literal`), and
runs that miss their targets, by several integrators (`integrator_designs`). Fails if a run has not settled, misses its target, or learns other
features at rtol / 10.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from lib.faults import TargetMissed
from lib.regimes import with_r0
from lib.tables import table

import mvsim
from mvsim.base.echo import quantity
from mvsim.runs.recording.fresh_draws import count_classes

TITLE = "Runs to the settled state"

GIB = 2**30


class Asked(NamedTuple):
    """A run, and what it should take at most: seconds, gradients, bytes of memory; None for no target. Without rtol it has every default."""

    parameters: mvsim.Parameters
    method: str
    seconds: float | None = None
    gradients: int | None = None
    memory: int | None = None
    rtol: float | None = 1e-3
    integrator: str = "auto"

    def command(self, out: Path) -> list[str]:
        """Return the command line."""
        fields = self.parameters.model_dump(mode="json", exclude_unset=True)
        words = [word for name, value in fields.items() for word in (f"--{name}", value if isinstance(value, str) else json.dumps(value))]
        rtol = [] if self.rtol is None else ["--rtol", f"{self.rtol:g}"]
        return ["simulate", "--method", self.method, *words, *rtol, "--integrator", self.integrator, "--out", str(out)]


def _literal(k: int, method: str, seconds: float | None = None, rtol: float = 1e-3) -> Asked:
    return Asked(mvsim.Parameters.literal(k=k), method, seconds, rtol=rtol)


RUNS: dict[str, Asked] = {
    "k=10": Asked(mvsim.Parameters(k=10), "midpoint"),
    "k=20": Asked(mvsim.Parameters(k=20), "midpoint"),
    "k=20 erm": Asked(mvsim.Parameters(k=20), "erm"),
    "k=50 erm": Asked(mvsim.Parameters(k=50), "erm", seconds=60, memory=GIB),
    "k=50 r0=0.3": Asked(with_r0(50, 0.3), "midpoint", seconds=180, memory=GIB),
    "k=10 P=6400": Asked(mvsim.Parameters(k=10, d=20000, P=6400), "midpoint", gradients=10_000),
    "k=4 mixup": Asked(mvsim.Parameters(k=4, d=2000), "mixup", seconds=60),
    "k=6 literal midpoint": _literal(6, "midpoint"),
    "k=6 literal midpoint, rtol/10": _literal(6, "midpoint", rtol=1e-4),
    "k=10 literal erm": _literal(10, "erm", seconds=30),
    "k=10 literal midpoint": _literal(10, "midpoint", seconds=60),
    "k=10 literal midpoint, rtol/10": _literal(10, "midpoint", rtol=1e-4),
    "k=20 literal erm": _literal(20, "erm"),
    "k=20 literal midpoint": _literal(20, "midpoint"),
    "k=100 erm": Asked(mvsim.Parameters(k=100), "erm", seconds=5400),
    "k=100 midpoint": Asked(mvsim.Parameters(k=100), "midpoint", seconds=5400),
    "k=20 P=16000 default": Asked(mvsim.Parameters(k=20, P=16000), "midpoint", rtol=None),
    "k=20 N=1000 default": Asked(mvsim.Parameters(k=20, N=1000), "midpoint", rtol=None),
    "k=50 P=100000 default": Asked(mvsim.Parameters(k=50, P=100_000), "midpoint", rtol=None),
}


def follow(asked: Asked, limit: float) -> dict[str, Any]:
    """Return what became of a run that is given so many seconds."""
    small = asked._replace(parameters=asked.parameters.replace(k=3, m=2, N=6, P=9, d=10))
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run.nc"
        words = [sys.executable, "-m", "mvsim"]
        subprocess.run([*words, *small.command(out), "--t_end", "10", "--quiet"], check=True, stdout=subprocess.DEVNULL)  # compiles
        start = time.perf_counter()
        process = subprocess.Popen([*words, *asked.command(out), "--quiet", "--force"], stdout=subprocess.DEVNULL)
        try:
            process.wait(limit)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGTERM)  # SIGINT is ignored where a shell has started the study in the background
            process.wait()
        seconds = time.perf_counter() - start
        run = mvsim.open_run(out)
        run.dataset.load()
    last = run.dataset.isel(time=-1)
    escaped = run.dataset["entry_time"].to_numpy()
    order = [[int(i) for i in place] for place in np.argwhere(np.isfinite(escaped))[np.argsort(escaped[np.isfinite(escaped)], kind="stable")]]
    evaluations = int(run.dataset["final_evaluations"])
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return {
        "parameters": asked.parameters.model_dump(mode="json"),
        "method": asked.method,
        "rtol": asked.rtol,
        "integrator": run.provenance["integrator"]["name"],
        "seconds": seconds,
        "targets": {name: getattr(asked, name) for name in ("seconds", "gradients", "memory")},
        "peak_bytes_so_far": peak,
        "status": run.status,
        "settled": bool(run.settled),
        "time": float(run.dataset["final_time"]),
        "steps": int(run.dataset["final_step"]),
        "evaluations": evaluations,
        "training_accuracy": float(last["training_accuracy"]),
        "classes": count_classes(last["feature_learned"].to_numpy()),
        "learned": (last["feature_learned"].to_numpy() >= 1.0).astype(int).tolist(),
        "largest_correlation": float(last["max_correlation"].max()),
        "escapes": len(order),
        "escape_order": order,
        "summary": run.summary,
    }


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", nargs="+", choices=list(RUNS), default=list(RUNS), metavar="NAME", help=f"runs to repeat, of {', '.join(RUNS)}")
    parser.add_argument("--limit", type=float, default=5400.0, help="seconds after which a run is interrupted")


def measure(options: argparse.Namespace) -> dict[str, Any]:

    def followed(name: str) -> dict[str, Any]:
        row = {**follow(RUNS[name], options.limit), "limit": options.limit, "load": os.getloadavg()[0]}
        print(
            f"{name:32} {row['seconds']:6.1f} s, {row['steps']} steps, {row['evaluations']} gradients, {row['classes']}, "
            f"settled {row['settled']}, t = {row['time']:.3g}",
            flush=True,
        )
        return row

    return options.file.measure_parts(options.only, followed)


UNITS = {"seconds": (1, "s"), "gradients": (1, "gradients"), "memory": (2**20, "MiB")}
"""In which targets are told."""


def told(name: str, value: float) -> str:
    """Return what a run takes, or should take, with its unit."""
    size, unit = UNITS[name]
    return f"{value / size:.0f} {unit}"


def targets(row: dict[str, Any]) -> list[tuple[str, str, bool]]:
    """Return of each target of a run what it took, what it should take at most, and whether it misses that."""
    took = {"seconds": row["seconds"], "gradients": row["evaluations"], "memory": row["peak_bytes_so_far"]}
    return [
        (told(name, took[name]), told(name, target), not (row["settled"] and took[name] <= target))
        for name, target in row["targets"].items()
        if target is not None
    ]


def repeated(results: dict[str, Any]) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Return the runs that were repeated at rtol / 10, each with its repetition."""
    return {name: (row, results[f"{name}, rtol/10"]) for name, row in results.items() if f"{name}, rtol/10" in results}


def judge(results: dict[str, Any]) -> list[str]:
    wrong = [f"{name} has not settled within {row['limit']:g} s" for name, row in results.items() if not row["settled"]]
    for name, row in results.items():
        end = "" if row["settled"] else ", not settled"
        wrong += [TargetMissed(f"{name}: {took}{end}; target {target}") for took, target, is_missed in targets(row) if is_missed]
    return wrong + [
        f"{name} learns other features at rtol / 10" for name, (row, finer) in repeated(results).items() if row["learned"] != finer["learned"]
    ]


def citations(results: dict[str, Any]) -> dict[str, list[str]]:

    def took(name: str, minutes: bool = False) -> str:
        seconds = results[name]["seconds"]
        return f"{seconds / 60:.0f}" if minutes else f"{seconds:.0f} s"

    rows = [
        f"Midpoint Mixup at k = 10 and 20, `--integrator flow` | settled after {took('k=10')} and {took('k=20', True)} minutes",
        f"ERM at k = 20, 50 and 100, all defaults | settled after {took('k=20 erm')}, {took('k=50 erm')} and {took('k=100 erm', True)} minutes",
        f"the same with `--integrator flow` | not settled after {took('k=100 midpoint', True)} minutes, when "
        f"{results['k=100 midpoint']['classes']['both']} of 100 had both",
        f"Mixup (lambda uniform) at k = 4 | not settled after {took('k=4 mixup', True)} minutes",
    ]
    rows.append(f"Midpoint Mixup at k = 50 with `--P 100000`, 40 k^2 | settled after {took('k=50 P=100000 default', True)} minutes on one core")
    if row := results.get("k=20 literal midpoint"):
        learned, minutes = f"{row['classes']['both']} of {sum(row['classes'].values())} classes", took("k=20 literal midpoint", True)
        settled = f"settled after {minutes} minutes, with both features in {learned}"
        unsettled = f"not settled after {minutes} minutes, when {learned} had both features"
        rows.append(f"at k = 20 {settled if row['settled'] else unsettled}")
    return {"limits.md": rows}


def headline(results: dict[str, Any]) -> str:
    goals = [is_missed for row in results.values() for *_, is_missed in targets(row)]
    settled = sum(row["settled"] for row in results.values())
    return f"{settled} of {len(results)} runs settle within their limit of time; {sum(goals)} of {len(goals)} targets are missed"


def passage(results: dict[str, Any]) -> str:
    heads = ["run", "integrator", "both", "one", "none", "settled", "steps", "gradients", "t", "seconds", "MiB at most", "targets"]
    lines = []
    for name, row in results.items():
        lines.append(
            [
                name,
                row.get("integrator", "flow"),
                *(row["classes"][key] for key in ("both", "one", "none")),
                "yes" if row["settled"] else "no: stopped" if row["status"] == "interrupted" else "no",
                row["steps"],
                row["evaluations"],
                f"{row['time']:.2g}",
                f"{row['seconds']:.4g}",
                f"{row['peak_bytes_so_far'] / 2**20:.0f}",
                ", ".join(f"**{target}**" if is_missed else target for _, target, is_missed in targets(row)),
            ]
        )
    return (
        "Targets in bold are missed. Runs are of Midpoint Mixup unless ERM or Mixup is named; *literal* is d = k^20. Each is followed to the settled "
        "state or to the limit of time. The table counts classes by learned features: both, one, none. Memory is the most that this run or one "
        "before it took. Midpoint Mixup at k = 50, and the runs of the picture, have passages of their own:\n\n"
        + table(heads, lines)
        + f"{_repeated_passage(results)}\n"
    )


def _repeated_passage(results: dict[str, Any]) -> str:
    """Say what becomes of the runs that were repeated at rtol / 10, if there are any."""
    pairs = repeated(results).values()
    if not pairs:
        return ""
    alike = sum(row["learned"] == finer["learned"] for row, finer in pairs)
    first = sum(_first_escapes(row) == _first_escapes(finer) for row, finer in pairs)
    repeated_runs = quantity(len(pairs), "run")
    return f"\n{repeated_runs} repeated at rtol / 10: the same features are learned in {alike}, and views escape in the same order in {first}."


def _first_escapes(row: dict[str, Any]) -> list[tuple[int, int]]:
    """Return the views (class, view) of a run in the order in which their first neurons escaped."""
    return list(dict.fromkeys((y, view) for y, _, view in row["escape_order"]))
