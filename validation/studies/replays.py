"""Do honest runs hold when they are replayed? Default runs over seeds, each verified against the flow.

`mvsim verify` goes again from saved states with a tolerance ten times finer, and fails a run that is elsewhere than its file says ("Replay"). If an
honest run fails there, it was not followed as accurately as its tolerance promises. Both methods with all defaults, ten seeds each.

Fails if a replay of a run fails, or a run has not settled.
"""

from __future__ import annotations

import argparse
from typing import Any

from lib.outcomes import unfinished
from lib.runs import add_runs_option, over_seeds, runs_of_present_code
from lib.tables import table

import mvsim
from mvsim.flow.flow_integrator import RTOL
from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence
from mvsim.papers.midpoint_mixup.run_checks.replay_of_flow import LARGEST, OWN_SIZE, replayed

TITLE = "Runs replayed"

SEEDS = 10

PARTS = {f"{method} k={k}": (method, k) for method in ("erm", "midpoint") for k in (4, 6)}


def replays(run: mvsim.Run) -> dict[str, Any]:
    """Replay one run."""
    verdicts = replayed(Evidence(run))
    dormant = next(verdict for verdict in verdicts if verdict.name == "Replay (dormant)")
    return {
        "steps": int(run.dataset["final_step"]),
        "gradients": int(run.dataset["final_evaluations"]),
        "settled": run.settled,
        "difference": verdicts[0].measured,
        "dormant": dormant.measured,
        "fails": [verdict.name for verdict in verdicts if verdict.status == "fails"],
    }


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS), metavar="NAME", help="runs to make")
    add_runs_option(parser)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    folder = runs_of_present_code(options.runs)

    def part(name: str) -> dict[str, Any]:
        method, k = PARTS[name]
        made = over_seeds(folder, mvsim.Parameters(k=k), method, SEEDS)
        return {"seeds": SEEDS, "runs": {str(seed): replays(run) for seed, run in enumerate(made) if run is not None}}

    return options.file.measure_parts(options.only, part)


def judge(results: dict[str, Any]) -> list[str]:
    runs = [(f"{name}, seed {seed}", run) for name, row in results.items() for seed, run in row["runs"].items()]
    return unfinished(results) + [f"{name}: {fault} fails" for name, run in runs for fault in run["fails"]]


def headline(results: dict[str, Any]) -> str:
    runs = [run for row in results.values() for run in row["runs"].values()]
    seeds, largest = sum(row["seeds"] for row in results.values()), max((run["difference"] for run in runs), default=float("nan"))
    return f"Replays hold for {sum(not run['fails'] for run in runs)} of {seeds} default runs, with differences of at most {largest:.2g} tolerances"


def passage(results: dict[str, Any]) -> str:
    rows = []
    for name, row in results.items():
        runs = row["runs"].values()
        rows.append(
            [
                name,
                f"{sum(not run['fails'] for run in runs)} of {row['seeds']}",
                f"{max(run['difference'] for run in runs):.2g}",
                f"{max(run['dormant'] for run in runs):.1g}",
                _range(run["steps"] for run in runs),
                _range(run["gradients"] for run in runs),
            ]
        )
    return (
        f"At each k and method {SEEDS} runs with all defaults were followed again from their saved states, with a tolerance ten times finer.\n\n"
        "- Replays hold: the runs of which every replay holds.\n"
        "- Largest difference: of any record from the replay, in units of the tolerance of a step. "
        f"`mvsim verify` allows {LARGEST:g}.\n"
        f"- Dormant: the largest difference of an own correlation that has not escaped, relative to itself. `mvsim verify` allows {OWN_SIZE:g} rtol, "
        f"{OWN_SIZE * RTOL:g}.\n"
        "- Steps, gradients: what the runs took, the least, the middle and the most.\n\n"
        + table(["runs", "replays hold", "largest difference", "dormant", "steps", "gradients"], rows)
    )


def _range(values: Any) -> str:
    in_order = sorted(values)
    return f"{in_order[0]:,}, {in_order[len(in_order) // 2]:,}, {in_order[-1]:,}"
