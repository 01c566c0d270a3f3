"""The main job of the README, timed: ``mvsim simulate --k 50 --method midpoint`` with every default, and ``mvsim verify`` of its file.

python validation/main_job.py        # writes validation/results/main_job.json, and its row of flow_runs.json

Kernels are compiled before, if they have not been yet.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import mvsim
from mvsim.simulation.memory import required_bytes
from mvsim.simulation.run_cache import run_name

RESULTS = Path(__file__).resolve().parent / "results"
FILE, FLOW_RUNS = RESULTS / "main_job.json", RESULTS / "flow_runs.json"
TARGET = 600.0
"""Seconds."""


def main() -> int:
    """Run, time, write, and return the exit code of the run."""
    parser = argparse.ArgumentParser(description="Time the main job.")
    parser.add_argument("--runs", type=Path, help="folder where the run is kept, for validation/theorems.py; by default it is thrown away")
    parser.add_argument("--verify", type=Path, metavar="RUN", help="time only the verdicts on this file of an earlier call")
    arguments = parser.parse_args()
    if arguments.verify:
        return write(json.loads(FILE.read_text(encoding="utf-8")) | verified(arguments.verify))
    mvsim.simulate(mvsim.Parameters(k=3, m=2, N=6, P=9, d=10), "midpoint", t_end=10.0, n_test=2)  # compiles
    with tempfile.TemporaryDirectory() as folder:
        out = (arguments.runs or Path(folder)) / run_name(mvsim.Parameters(k=50), "midpoint", 0, {})
        found = simulated(out)
        return write(found | verified(out)) if found else 1


def simulated(out: Path) -> dict[str, Any]:
    """Return what the run took and came to; nothing if it failed."""
    command = [sys.executable, "-m", "mvsim", "simulate", "--k", "50", "--method", "midpoint", "--json", "--out", str(out)]
    start = time.perf_counter()
    answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    if answer.returncode:
        return {}
    outcome = json.loads(answer.stdout)
    return {
        "command": "mvsim simulate --k 50 --method midpoint",
        "load": os.getloadavg()[0],
        "cores": len(os.sched_getaffinity(0)),
        "seconds": seconds,
        "peak_bytes": peak,
        "predicted_bytes": required_bytes(mvsim.Parameters(k=50), mixes=True),
        "file_bytes": out.stat().st_size,
        "evaluations": int(mvsim.open_run(out).dataset["final_evaluations"]),
        **{name: outcome[name] for name in ("step", "time", "loss", "training_accuracy", "classes", "settled", "integrator", "regime")},
    }


def verified(run: Path) -> dict[str, Any]:
    """Return how long the verdicts on the run take."""
    command = [sys.executable, "-m", "mvsim", "verify", str(run)]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=False)  # compiles what is missing
    start = time.perf_counter()
    verdict = subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode
    return {"verify_seconds": time.perf_counter() - start, "verify_exit_code": verdict}


def write(found: dict[str, Any]) -> int:
    """Write the results, and the row of the table of flows."""
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    runs = json.loads(FLOW_RUNS.read_text(encoding="utf-8")) if FLOW_RUNS.exists() else {}
    row = {name: found[name] for name in ("command", "seconds", "settled", "time", "evaluations", "training_accuracy", "classes", "load")}
    runs["k=50 midpoint"] = row | {"method": "midpoint", "steps": found["step"], "target_seconds": TARGET, "met": found["seconds"] <= TARGET}
    FLOW_RUNS.write_text(json.dumps(runs, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
