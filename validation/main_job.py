"""The main job of the README, timed: ``mvsim simulate --k 50 --method midpoint`` with every default.

python validation/main_job.py        # writes validation/results/main_job.json
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import mvsim
from mvsim.verification.kept_runs import run_name

RESULTS = Path(__file__).resolve().parent / "results"


def main() -> int:
    """Run, time, write, and return the exit code of the run."""
    parser = argparse.ArgumentParser(description="Time the main job.")
    parser.add_argument("--runs", type=Path, help="folder where the run is kept, for validation/theorems.py; by default it is thrown away")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        out = (arguments.runs or Path(folder)) / run_name(mvsim.Parameters(k=50), "midpoint", 0, {})
        command = [sys.executable, "-m", "mvsim", "simulate", "--k", "50", "--method", "midpoint", "--json", "--out", str(out)]
        start = time.perf_counter()
        answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        seconds = time.perf_counter() - start
        if answer.returncode:
            return answer.returncode
        outcome = json.loads(answer.stdout)
        found = {
            "command": "mvsim simulate --k 50 --method midpoint",
            "load": os.getloadavg()[0],
            "cores": len(os.sched_getaffinity(0)),
            "seconds": seconds,
            "file_bytes": out.stat().st_size,
            **{name: outcome[name] for name in ("step", "time", "loss", "training_accuracy", "classes", "settled", "integrator", "regime")},
        }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "main_job.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
