"""What it costs that runs of Midpoint Mixup go on once everything is learned, what happens meanwhile, and whether a certificate could end them.

A run has settled when nothing has changed while t grew by a factor (`mvsim.runs.recording.settling`): sqrt(10) by default, once every view of every
class is learned and every training point is right. The runs are those of `paths`: Theorem 4.7 with all defaults. Of each is told which part of its
steps comes after everything was learned for the first time, and at how many of the records after that something was lost again.

A certificate would say without waiting that what is learned stays. The one that holds for every gradient flow is its energy: in the time T after a
state with loss J the weights move by at most

    integral |w'| dt <= sqrt(T integral |w'|^2 dt) <= sqrt(T (J - J_inf)),    J_inf = (1 - sum_y n_y^2 / N^2) ln 2,

where J_inf is the mean entropy of the soft labels, below which no cross-entropy of them falls, with n_y of the N points in class y. A view is not
learned once its neurons have lost their correlations with it, a motion by D = (sum_r max(c[y, r, y, l], 0)^2)^(1/2). So the certificate says nothing
beyond T = D^2 / (J - J_inf), for the view with the least D; told is T over the t that the run has reached, at its end.

Fails if a run has not settled.
"""

from __future__ import annotations

import argparse
import math
from statistics import median
from typing import Any

import numpy as np
from lib.outcomes import unfinished
from lib.runs import add_runs_option, followed_side_by_side, runs_of_present_code
from lib.study import TRAINING
from lib.tables import table

import mvsim
from mvsim.multi_view.diagnostics import own_correlations
from mvsim.papers.midpoint_mixup.over_runs import followed_run
from mvsim.runs.recording.fresh_draws import is_learned
from mvsim.runs.recording.settling import Settling

TITLE = "What waiting for the settled state costs"
SOURCES = (*TRAINING, "archive", "verification.verify")

THEOREM, SEEDS = "4.7", 30

PARTS = {f"k={k}": k for k in (6, 10)}


def waited(run: mvsim.Run) -> dict[str, Any]:
    """Return what a run waited for, and what it could have been told by its energy."""
    records = {name: run.dataset[name].values for name in ("time", "step", "training_accuracy", "softmax_gap", "feature_learned")}
    complete = [_complete({name: values[: n + 1] for name, values in records.items()}) for n in range(len(records["step"]))]
    row: dict[str, Any] = {"settled": run.settled, "steps": int(records["step"][-1])}
    if any(complete):
        first = complete.index(True)
        row |= {
            "complete": int(records["step"][first]),
            "records": len(complete) - first - 1,
            "lost_again": complete[first:].count(False),
            "certified": certified(run) / float(records["time"][-1]),
        }
    return row


def _complete(records: dict[str, np.ndarray]) -> bool:
    """Whether every view is learned at the last of some records, and every class trained."""
    return bool(is_learned(records["feature_learned"][-1]).all()) and Settling(records).since() is not None


def certified(run: mvsim.Run) -> float:
    """Return T of the energy certificate at the end of a run."""
    own = np.maximum(own_correlations(run.final_correlations), 0.0)
    least = (own**2).sum(axis=1).min()
    labels = mvsim.sample_dataset(run.parameters, run.seed).labels
    share = np.bincount(labels) / len(labels)
    return float(least) / (float(run.dataset["loss"][-1]) - (1.0 - float(share @ share)) * math.log(2.0))


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the study."""
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS), metavar="NAME", help="runs to look at")
    add_runs_option(parser)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Look at the runs of each part."""
    folder = runs_of_present_code(options.runs)

    def part(name: str) -> dict[str, Any]:
        p = mvsim.Parameters(k=PARTS[name])
        followed_side_by_side(THEOREM, p, SEEDS, folder)
        made = [followed_run(THEOREM, p, seed, folder, threads=1) for seed in range(SEEDS)]
        return {"seeds": SEEDS, "runs": {str(seed): waited(run) for seed, run in enumerate(made) if isinstance(run, mvsim.Run)}}

    return options.file.measure_parts(options.only, part)


def judge(results: dict[str, Any]) -> list[str]:
    """Return the runs that are missing or have not settled."""
    return unfinished(results)


def headline(results: dict[str, Any]) -> str:
    """Say what the wait costs and what it finds."""
    runs = [run for row in results.values() for run in row["runs"].values() if "complete" in run]
    costs = " and ".join(f"{median(_after(row)):.0%} (k = {name.removeprefix('k=')})" for name, row in results.items() if _after(row))
    lost = sum(run["lost_again"] > 0 for run in runs)
    return f"Midpoint Mixup takes {costs} of its steps after everything is learned; in {lost} of {len(runs)} runs something is lost again meanwhile"


def _after(row: dict[str, Any]) -> list[float]:
    """Return the parts of the steps that come after everything was learned."""
    return [1.0 - run["complete"] / run["steps"] for run in row["runs"].values() if "complete" in run]


def passage(results: dict[str, Any]) -> str:
    """Put each part into a row."""
    rows = []
    for name, row in results.items():
        runs = [run for run in row["runs"].values() if "complete" in run]
        after = sorted(_after(row))
        rows.append(
            [
                name,
                f"{len(runs)} of {row['seeds']}",
                f"{after[0]:.0%}, {median(after):.0%}, {after[-1]:.0%}",
                f"{sum(run['lost_again'] for run in runs):,} of {sum(run['records'] for run in runs):,}",
                f"{max(run['certified'] for run in runs):.1g}",
            ]
        )
    return (
        "Runs of Midpoint Mixup with all defaults go on once every view is learned and every training point right, until t has grown by sqrt(10).\n\n"
        "- Steps after: the part of the steps that come after this was so for the first time, the least, the middle and the most.\n"
        "- Lost again: the records after it at which it is not so.\n"
        "- Certified: the longest time for which the energy of the flow can promise that no view is lost, over the t at the end. Above 1 it could "
        "take the place of the wait.\n\n" + table(["runs", "with everything learned", "steps after", "lost again", "certified, at most"], rows)
    )
