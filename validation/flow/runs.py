"""The flow to the settled state at full size and at the literal d = k^20: how long it takes, how many steps, and what is learned.

    python validation/flow/runs.py [NAME ...]        # writes validation/results/flow_runs.json, adding to what is there

Compilation is excluded by a small run before. The literal runs are repeated at rtol / 10, to show that the result does not depend on it.
Midpoint at k = 50 is the main job (`validation/main_job.py`).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import mvsim
from mvsim.recording.feature_test import count_classes

RESULTS = Path(__file__).resolve().parents[1] / "results"
FILE = RESULTS / "flow_runs.json"


def _literal(k: int, **options: Any) -> dict[str, Any]:
    return {"parameters": mvsim.Parameters.literal(k=k), **options}


RUNS: dict[str, dict[str, Any]] = {
    "k=10 erm": {"parameters": mvsim.Parameters(k=10, d=20_000), "method": "erm", "target": 5},
    "k=10 midpoint": {"parameters": mvsim.Parameters(k=10, d=20_000), "method": "midpoint", "target": 60},
    "k=50 erm": {"parameters": mvsim.Parameters(k=50), "method": "erm", "target": 60},
    "k=6 literal erm": _literal(6, method="erm", target=None),
    "k=6 literal erm, rtol/10": _literal(6, method="erm", target=None, rtol=1e-4),
    "k=6 literal midpoint": _literal(6, method="midpoint", target=None),
    "k=6 literal midpoint, rtol/10": _literal(6, method="midpoint", target=None, rtol=1e-4),
    "k=10 literal erm": _literal(10, method="erm", target=600),
    "k=10 literal erm, rtol/10": _literal(10, method="erm", target=None, rtol=1e-4),
    "k=10 literal midpoint": _literal(10, method="midpoint", target=600),
    "k=10 literal midpoint, rtol/10": _literal(10, method="midpoint", target=None, rtol=1e-4),
}


def measure(parameters: mvsim.Parameters, method: str, target: float | None, rtol: float | None = None) -> dict[str, Any]:
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


def main() -> int:
    """Run what is named (everything by default), print, write, and return the exit code."""
    parser = argparse.ArgumentParser(description="Follow flows to the settled state.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(RUNS)}")
    names = parser.parse_args().names or list(RUNS)
    RESULTS.mkdir(exist_ok=True)
    found = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    for name in names:
        found[name] = {**measure(**RUNS[name]), "load": os.getloadavg()[0]}
        row = found[name]
        print(
            f"{name:32} {row['seconds']:6.1f} s, {row['steps']} steps, {row['evaluations']} gradients, {row['classes']}, "
            f"settled {row['settled']}, t = {row['time']:.3g}",
            flush=True,
        )
        FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
