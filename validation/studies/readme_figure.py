"""Train the same network with ERM and with Midpoint Mixup and draw both side by side: the picture of the README.

The claim (Theorems 4.6 and 4.7, as measured at one k): with training accuracy 1 in both, ERM ends with exactly one feature learned in most
classes and Midpoint Mixup with both features learned in all of them. Control: each run fails the claim about the other.

The picture is figures/erm-and-midpoint.png. Runs are kept in a folder and continued from there if the study is stopped and started again.
"""

from __future__ import annotations

import argparse
from typing import Any

from lib.faults import TargetMissed
from lib.runs import add_runs_option, runs_of_present_code
from lib.tables import met, table

import mvsim
from mvsim.cli.progress import progress_on
from mvsim.pictures import run_figure
from mvsim.pictures.labels import METHOD_NAMES
from mvsim.pictures.panels import correlations, learned_classes, total_correlations
from mvsim.runs.recording.fresh_draws import count_classes

TITLE = "The runs of the picture"

MOST = 0.5
"""More than this share of the classes counts as most."""

TARGET_SECONDS = {"erm": 5.0, "midpoint": 60.0}
"""For the runs at k = 10, d = 20000."""


def trained(method: str, parameters: mvsim.Parameters, options: argparse.Namespace) -> mvsim.Run:
    """Return the finished run of a method, from its file as far as it is there."""
    end = "settled" if options.t_end is None else f"t{options.t_end:g}"
    out = runs_of_present_code(options.runs) / f"readme-{method}-k{parameters.k}-d{parameters.d}-{end}-seed{options.seed}.nc"
    with progress_on() as progress:
        return mvsim.simulate(
            parameters,
            method=method,
            seed=options.seed,
            t_end=options.t_end,
            out=out,
            resume=True,
            progress=progress,
        )


def outcome(run: mvsim.Run) -> dict[str, Any]:
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


def erm_claim(run: dict[str, Any], k: int) -> bool:
    """Whether a run did what Theorem 4.6 says of ERM."""
    return run["training_accuracy"] == 1 and run["classes"]["one"] > MOST * k


def midpoint_claim(run: dict[str, Any], k: int) -> bool:
    """Whether a run did what Theorem 4.7 says of Midpoint Mixup."""
    return run["training_accuracy"] == 1 and run["classes"]["both"] == k


def claims(runs: dict[str, dict[str, Any]], k: int) -> dict[str, bool]:
    """Return whether both runs did what the theorems say, and neither what the other theorem says."""
    return {
        "erm": erm_claim(runs["erm"], k),
        "midpoint": midpoint_claim(runs["midpoint"], k),
        "controls": not erm_claim(runs["midpoint"], k) and not midpoint_claim(runs["erm"], k),
    }


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--k", type=int, default=10, help="classes")
    parser.add_argument("--d", type=int, help="dimension; by default that of Parameters(k)")
    parser.add_argument("--N", type=int, help="training points; by default those of Parameters(k)")
    parser.add_argument("--t-end", type=float, help="time to stop at; by default when the run has settled")
    parser.add_argument("--seed", type=int, default=0)
    add_runs_option(parser)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    given = {name: value for name in ("k", "d", "N") if (value := getattr(options, name)) is not None}
    parameters = mvsim.Parameters(**given)
    runs = {method: trained(method, parameters, options) for method in ("erm", "midpoint")}
    options.figures.save("erm-and-midpoint", run_figure(list(runs.values()), panels=(correlations, learned_classes, total_correlations)))
    outcomes = {method: outcome(run) for method, run in runs.items()}
    what_holds = claims(outcomes, parameters.k)
    return {
        "ok": all(what_holds.values()),
        "claims": what_holds,
        "command": options.command,
        "parameters": parameters.model_dump(mode="json"),
        "runs": outcomes,
    }


def judge(results: dict[str, Any]) -> list[str]:
    what_holds = claims(results["runs"], results["parameters"]["k"])
    seconds = {method: (run["wall_seconds"], TARGET_SECONDS[method]) for method, run in results["runs"].items()}
    late = [TargetMissed(f"{METHOD_NAMES[method]}: {took:.0f} s; target {most:g} s") for method, (took, most) in seconds.items() if took > most]
    return [f"the claim {name} does not hold" for name, holds in what_holds.items() if not holds] + late


def headline(results: dict[str, Any]) -> str:
    k = results["parameters"]["k"]
    said = [
        f"{METHOD_NAMES[method]} learns {words} in {results['runs'][method]['classes'][name]} of {k} classes"
        f" ({results['runs'][method]['wall_seconds']:.0f} s)"
        for method, name, words in (("erm", "one", "exactly one feature"), ("midpoint", "both", "both features"))
        if method in results["runs"]
    ]
    return ", ".join(said)


def passage(results: dict[str, Any]) -> str:
    rows = []
    for method, run in results["runs"].items():
        target = f"{TARGET_SECONDS[method]:g}: {met(run['wall_seconds'] <= TARGET_SECONDS[method])}"
        learned = [run["classes"][name] for name in ("both", "one", "none")]
        rows.append([method, *learned, f"{run['training_accuracy']:g}", run["steps"], run["evaluations"], f"{run['wall_seconds']:.0f}", target])
    heads = ["method", "both features learned", "exactly one", "none", "training accuracy", "steps", "gradients", "seconds", "target"]
    return "All other parameters have their defaults:\n\n" + table(heads, rows)


def quotes(results: dict[str, Any]) -> list[str]:
    return [line.strip() for line in results["runs"]["erm"]["summary"].splitlines()]
