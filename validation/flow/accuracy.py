"""How large the error of the flow is for a tolerance: at most 10 rtol, against a reference at rtol / 1000, through all escapes at k = 4.

    python validation/flow/accuracy.py        # writes validation/results/flow_accuracy.json

Exits 1 if an error is larger. Control: the same error with the reference of another seed's data is larger than any bound.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from problems import error, follow, small_problems

import mvsim

RESULTS = Path(__file__).resolve().parents[1] / "results"
TOLERANCES = (1e-3, 1e-4, 1e-5)
BOUND = 10.0


def main() -> int:
    """Measure, print, write, and return the exit code."""
    rows = []
    for problem in small_problems():
        for rtol in TOLERANCES:
            reference = follow(problem, rtol / 1000)
            start = time.perf_counter()
            state = follow(problem, rtol)
            seconds = time.perf_counter() - start
            found = error(state.c, reference.c)
            row = {"problem": problem.name, "t_end": problem.t_end, "rtol": rtol, "error": found, "error_over_rtol": found / rtol}
            row |= {"steps": state.step, "evaluations": state.evaluations, "seconds": seconds}
            row["reference_evaluations"] = reference.evaluations
            row["control"] = error(mvsim.initial_correlations(problem.parameters, 0), reference.c)
            row["ok"] = bool(found <= BOUND * rtol < row["control"])
            rows.append(row)
            print(
                f"{problem.name:9} rtol {rtol:.0e}: error {found:.1e} = {found / rtol:.2g} rtol, {state.step} steps, {state.evaluations} evaluations",
                flush=True,
            )
    ok = all(row["ok"] for row in rows)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "flow_accuracy.json").write_text(json.dumps({"ok": ok, "bound": BOUND, "rows": rows}, indent=1) + "\n", encoding="utf-8")
    print(f"every error at most {BOUND:g} rtol: {'holds' if ok else 'FAILS'}")
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
