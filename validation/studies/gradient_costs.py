"""What one loss and gradient of Midpoint Mixup by a few neurons costs, beside the sum by moments that would be taken if there were no code for few.

Both are functions of the same neurons beside the same resting ones, on one thread, and take turns; the least time counts. OPENBLAS_CORETYPE and
OPENBLAS_L2_SIZE must be unset: with them matrix products are of another machine.

Fails if loss or gradient of the two differ by more than 1e-12, if a gradient one part in a million off passes, or if one of these variables is set.
A sum over few neurons that is slower than the one by moments is a missed target.
"""

from __future__ import annotations

import argparse
import os
from typing import Any

import numpy as np
from lib import states
from lib.faults import TargetMissed
from lib.tables import table
from lib.timing import Candidate, fastest

import mvsim
from mvsim.multi_view.kernels.sums import NeuronSum, ignoring_absent

TITLE = "Cost of a gradient by a few neurons"

EVALUATIONS = {
    "two neurons of each class": (1.0, 2),
    "one neuron of each class": (1.0, 1),
    "one neuron of every fifth class": (0.2, 1),
    "two neurons of one class": (0.0, 2),
    "one neuron of one class": (0.0, 1),
}
"""Of each: share of the classes that have neurons (one at least), and neurons of each of these."""

VARIABLES = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
SECONDS, BOUND = 4.0, 1e-12


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--k", type=int, default=50, help="number of classes (default %(default)s)")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    p = mvsim.Parameters(k=options.k)
    objective, c = mvsim.objective("midpoint", p, mvsim.sample_dataset(p, 0), backend="numba", threads=1), states.escaped(p)
    rows = [{"evaluation": name, **_row(objective, c, *which)} for name, which in EVALUATIONS.items()]
    return {"parameters": {"k": p.k, "m": p.m, "N": p.N, "G": p.G}, "set": [name for name in VARIABLES if name in os.environ], "rows": rows}


def _row(objective: mvsim.Objective, c: np.ndarray, share: float, count: int) -> dict[str, Any]:
    p = objective.parameters
    neurons = np.full((p.k, count), -1)
    c = c.reshape(p.k, p.m, -1)
    largest = np.argsort(-c.max(axis=2), axis=1, stable=True)[:, :count]
    having = slice(max(1, round(share * p.k)))
    neurons[having] = largest[having]
    before, now = _sums(objective, c, neurons)
    moving = np.where(neurons[:, :, None] >= 0, np.take_along_axis(c, neurons[:, :, None], axis=1), 0.0)
    (loss, gradient), (expected_loss, expected) = now(moving), before(moving)
    largest_error = np.abs(expected).max()
    seconds = fastest({"before": Candidate(lambda: before(moving)), "now": Candidate(lambda: now(moving))}, SECONDS)
    return {
        "errors": {"loss": abs(loss / expected_loss - 1.0), "gradient": float(np.abs(gradient - expected).max() / largest_error)},
        "control": float(np.abs(now((1 + 1e-6) * moving)[1] - expected).max() / largest_error),
        "seconds": seconds,
        "ratio": seconds["before"] / seconds["now"],
    }


def _sums(objective: mvsim.Objective, c: np.ndarray, neurons: np.ndarray) -> tuple[NeuronSum, NeuronSum]:
    """Return the sum by moments and the one over few neurons, beside the same resting neurons."""
    ((_, points),) = objective.points
    sums = objective.kernel.sum_of(points, objective.pointwise)
    now = sums.of_neurons(c, neurons)
    return ignoring_absent(sums.in_one_call.beside(sums._values_of_others, neurons.shape[1]), neurons), now


def judge(results: dict[str, Any]) -> list[str]:
    faults = [f"{name} is set" for name in results["set"]]
    for row in results["rows"]:
        errors = ", ".join(f"{name} {error:.1e}" for name, error in row["errors"].items())
        if not max(row["errors"].values()) <= BOUND < row["control"]:
            faults.append(f"{row['evaluation']}: errors {errors}, control {row['control']:.1e}")
        if row["ratio"] < 1.0:
            faults.append(TargetMissed(f"{row['evaluation']}: {1 / row['ratio']:.2g} times the time of the sum by moments; target: less"))
    return faults


def headline(results: dict[str, Any]) -> str:
    ratios = [row["ratio"] for row in results["rows"]]
    return f"Few neurons at k = {results['parameters']['k']}: {min(ratios):.2g} to {max(ratios):.2g} times as fast as by moments"


def passage(results: dict[str, Any]) -> str:
    rows = [
        (row["evaluation"], *(f"{1e3 * row['seconds'][name]:.3g} ms" for name in ("before", "now")), f"{row['ratio']:.2g}") for row in results["rows"]
    ]
    fields = ", ".join(f"{name} = {value}" for name, value in results["parameters"].items())
    error = max(max(row["errors"].values()) for row in results["rows"])
    return f"{fields}; the largest difference of the two is {error:.1e} of the largest entry.\n\n" + table(
        ["one loss and gradient, one thread", "before: by moments", "now: neuron by neuron", "ratio"], rows
    )
