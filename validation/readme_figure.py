"""Train the same network with ERM and with Midpoint Mixup and draw both side by side: the picture of the README.

The claim (Theorems 4.6 and 4.7, as measured at one k): with training accuracy 1 in both, ERM ends with exactly one feature learned in most
classes and Midpoint Mixup with both features learned in all of them. Control: each run fails the claim about the other.

    python validation/readme_figure.py        # writes figures/erm-and-midpoint.png and validation/results/readme_figure.json

Runs are kept under validation/results/ and continued from there if the script is stopped and started again; exits 1 if the claim fails.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from pathlib import Path

import mvsim
from mvsim.cli.progress import progress_on
from mvsim.plotting import run_figure, save_figure
from mvsim.plotting.panels import correlations, learned_classes, total_correlations
from mvsim.recording.feature_test import count_classes

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
PICTURE = HERE.parent / "figures" / "erm-and-midpoint.png"

MOST = 0.5
"""More than this share of the classes counts as most."""


def trained(method: str, parameters: mvsim.Parameters, arguments: argparse.Namespace) -> mvsim.Run:
    """Return the finished run of a method, from its file as far as it is there."""
    end = "settled" if arguments.t_end is None else f"t{arguments.t_end:g}"
    out = RESULTS / f"readme-{method}-k{parameters.k}-d{parameters.d}-{end}-seed{arguments.seed}.nc"
    with progress_on() as progress:
        return mvsim.simulate(
            parameters,
            method=method,
            seed=arguments.seed,
            t_end=arguments.t_end,
            out=out,
            resume=True,
            progress=progress,
        )


def outcome(run: mvsim.Run) -> dict[str, object]:
    """Return the numbers that the README quotes about a run."""
    last = run.dataset.isel(time=-1)
    return {
        "classes": count_classes(last["feature_learned"].to_numpy()),
        "training_accuracy": float(last["training_accuracy"]),
        "time": float(last["time"]),
        "steps": int(last["step"]),
        "evaluations": int(run.dataset["final_evaluations"]),
        "settled": run.settled,
        "wall_seconds": round(run.provenance["wall_seconds"], 1),
        "summary": run.summary,
    }


def erm_claim(found: dict, k: int) -> bool:
    """Whether a run did what Theorem 4.6 says of ERM."""
    return found["training_accuracy"] == 1 and found["classes"]["one"] > MOST * k


def midpoint_claim(found: dict, k: int) -> bool:
    """Whether a run did what Theorem 4.7 says of Midpoint Mixup."""
    return found["training_accuracy"] == 1 and found["classes"]["both"] == k


def main() -> int:
    """Run, draw, write, and return the exit code."""
    parser = argparse.ArgumentParser(description="Make the picture of the README.")
    parser.add_argument("--k", type=int, default=10, help="classes")
    parser.add_argument("--d", type=int, help="dimension; by default that of Parameters(k)")
    parser.add_argument("--N", type=int, help="training points; by default those of Parameters(k)")
    parser.add_argument("--t-end", type=float, help="time to stop at; by default when the run has settled")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    given = {name: value for name in ("k", "d", "N") if (value := getattr(arguments, name)) is not None}
    parameters = mvsim.Parameters(**given)

    RESULTS.mkdir(exist_ok=True)
    runs = {method: trained(method, parameters, arguments) for method in ("erm", "midpoint")}
    found = {method: outcome(run) for method, run in runs.items()}
    claims = {
        "erm": erm_claim(found["erm"], parameters.k),
        "midpoint": midpoint_claim(found["midpoint"], parameters.k),
        "controls": not erm_claim(found["midpoint"], parameters.k) and not midpoint_claim(found["erm"], parameters.k),
    }
    ok = all(claims.values())

    save_figure(run_figure(list(runs.values()), panels=(correlations, learned_classes, total_correlations)), PICTURE, force=True)
    command = shlex.join(["python", "validation/readme_figure.py", *sys.argv[1:]])
    PICTURE.with_suffix(".txt").write_text(f"{PICTURE.name} is made by: {command}\n", encoding="utf-8")
    result = {"ok": ok, "claims": claims, "command": command, "parameters": parameters.model_dump(mode="json"), "runs": found}
    (RESULTS / "readme_figure.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")

    for run in runs.values():
        print(run.summary)
    print(f"ERM one feature in most classes, midpoint both in all: {'holds' if ok else f'FAILS {claims}'}")
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
