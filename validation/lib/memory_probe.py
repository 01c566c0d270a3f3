"""Run a problem in this process and print its peak memory: meant for a process of its own.

The problem is one argument in JSON, {"parameters": {...}, "method": "...", "t_end": ...}; without a t_end it is followed until it settles.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
from pathlib import Path

import mvsim
from mvsim.multi_view.objectives import OBJECTIVES
from mvsim.runs.simulation.cost import required_bytes


def peak_bytes() -> int:
    """Return the largest resident memory of this process so far."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage would count what the parent held when it started this process
        return next(1024 * int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return largest if sys.platform == "darwin" else 1024 * largest


def main() -> int:
    """Predict, run, measure, print."""
    asked = json.loads(sys.argv[1])
    p, method = mvsim.Parameters(**asked["parameters"]), asked["method"]
    predicted = required_bytes(p, OBJECTIVES[method].mixes)
    before = peak_bytes()
    with tempfile.TemporaryDirectory() as folder:
        run = mvsim.simulate(p, method=method, t_end=asked["t_end"], out=Path(folder) / "run.nc")
    c = run.final_correlations.copy()  # and what comes later: one neuron of each class has escaped
    for y in range(p.k):
        c[y, 0, y] = 10.0
    mvsim.objective(method, p, mvsim.sample_dataset(p, 0)).curvature(c)
    print(json.dumps({"predicted": predicted, "measured": peak_bytes(), "imports": before}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
