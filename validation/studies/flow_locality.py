"""How local the flow is: how many classes move from one gradient to the next, which bounds what a gradient along few classes could save.

The partition function of a pair is a sum over classes, and so is what is pulled back from it: N^2 k multiply-adds. If only a few classes
moved from one evaluation to the next, their terms alone would have to be formed again, N^2 for each of them. Midpoint Mixup, seed 0, is followed by
the stepper as it is, and at every evaluation, of all neurons or of those that can be stiff, the outputs on the training points are compared with
those at the evaluation before. A class has moved if one of its outputs has changed by more than a bound; a class that is left out errs by that much
in its outputs. Evaluations are those at the prediction of a step, and those of the iteration that solves its equation.

The study is a map: what it shows is reported, not judged. It fails if nothing was counted.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
from lib.flow_problems import Problem
from lib.study import FLOW
from lib.tables import table

import mvsim
from mvsim.flow import GradientFlow, State, secants, stepper
from mvsim.multi_view.objectives.resident import Resident

TITLE = "How many outputs change from one evaluation to the next"
SOURCES = FLOW

BOUNDS = (1e-2, 1e-3, 1e-4, 1e-5)
"""Changes of an output. The stepper resolves outputs to its rtol, 1e-3, over a whole step."""

FEW = 2
"""Classes: one that escapes, and the one whose noise it reads."""

PREDICTED, ITERATED = "at predictions", "within iterations"

PROBLEMS = {
    "k=6": Problem("k=6", "midpoint", mvsim.Parameters(k=6), 3e8),
    "k=10": Problem("k=10", "midpoint", mvsim.Parameters(k=10, d=20000, P=100), 6e8),
    "k=20": Problem("k=20", "midpoint", mvsim.Parameters(k=20), 1e7),
}
"""Through all escapes at k = 6 and 10, through some of them at k = 20."""


class Counted:
    """Counts, for each bound, of the classes that move from one evaluation to the next.

    Attributes
    ----------
    moved : dict
        By kind of evaluation a list of (bounds,) counts.
    kind : str
        Of the evaluations that come.
    """

    def __init__(self) -> None:
        self.moved: dict[str, list[list[int]]] = {PREDICTED: [], ITERATED: []}
        self.kind = PREDICTED
        self._outputs: np.ndarray | None = None

    def take(self, outputs: np.ndarray) -> None:
        """Compare outputs (k, N) with those before."""
        if self._outputs is not None:
            change = np.abs(outputs - self._outputs).max(axis=1)
            self.moved[self.kind].append([int((change > bound).sum()) for bound in BOUNDS])
        self._outputs = outputs


@contextmanager
def counting() -> Iterator[Counted]:
    """Count what moves in all evaluations of a loss and its gradient."""
    counted = Counted()
    whole, of_neurons, solve, next_step = (
        Resident.loss_and_gradient,
        Resident.of_neurons,
        stepper.solve_by_secants,
        secants._Iteration.next_step,
    )

    def seen_whole(self: Resident, c: np.ndarray) -> Any:
        counted.take(self.outputs(c))
        return whole(self, c)

    def seen_of_neurons(self: Resident, c: np.ndarray, neurons: np.ndarray) -> Any:
        evaluated, place = of_neurons(self, c, neurons), c.copy()

        def seen(moving: np.ndarray) -> Any:
            place[np.arange(len(place))[:, None], neurons] = moving.reshape(*neurons.shape, *place.shape[2:])
            counted.take(self.outputs(place))
            return evaluated(moving)

        return seen

    def solving(*arguments: Any) -> Any:
        counted.kind = PREDICTED
        return solve(*arguments)

    def iterating(self: Any) -> Any:
        counted.kind = ITERATED
        return next_step(self)

    with (
        patch.object(Resident, "loss_and_gradient", seen_whole),
        patch.object(Resident, "of_neurons", seen_of_neurons),
        patch.object(stepper, "solve_by_secants", solving),
        patch.object(secants._Iteration, "next_step", iterating),
    ):
        yield counted


def followed(name: str) -> dict[str, Any]:
    """Follow one flow, and return what moved."""
    asked = PROBLEMS[name]
    with counting() as counted:
        for visit in GradientFlow(asked.field(), 1e-3).trajectory(State(0, 0.0, asked.start()), asked.t_end):
            end = visit.state
    moved = {kind: np.array(counts) for kind, counts in counted.moved.items()}
    row = {
        "k": asked.parameters.k,
        "steps": end.step,
        "evaluations": end.evaluations,
        "kinds": {kind: {"number": len(counts), **_shares(counts, asked.parameters.k)} for kind, counts in moved.items()},
    }
    print(f"{name}: {row}", flush=True)
    return row


def _shares(counts: np.ndarray, k: int) -> dict[str, list[float]]:
    """Return for each bound the mean part of the classes that moved, and the part of the evaluations at which at most `FEW` did."""
    return {"mean": (counts.mean(axis=0) / k).tolist(), "few": (counts <= FEW).mean(axis=0).tolist()}


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the study."""
    parser.add_argument("--only", nargs="+", choices=list(PROBLEMS), default=list(PROBLEMS), metavar="NAME", help="flows to follow")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Follow one flow after another."""
    return options.file.measure_parts(options.only, followed)


def judge(results: dict[str, Any]) -> list[str]:
    """Return where nothing was counted."""
    return [f"{name}: no evaluation {kind}" for name, row in results.items() for kind, counted in row["kinds"].items() if not counted["number"]]


def saved(row: dict[str, Any], bound: int) -> float:
    """Return by what the number of terms would fall if classes that have not moved cost nothing."""
    kinds = row["kinds"].values()
    return sum(kind["number"] for kind in kinds) / sum(kind["number"] * kind["mean"][bound] for kind in kinds)


HEADLINE_BOUND = 1e-3
"""The rtol of the flows."""


def headline(results: dict[str, Any]) -> str:
    """Say how many fewer terms sums would have if only classes that move counted."""
    place = BOUNDS.index(HEADLINE_BOUND)
    factors = ", ".join(f"{saved(row, place):.2g} ({name.replace('=', ' = ')})" for name, row in results.items())
    return f"If classes whose outputs change by at most {HEADLINE_BOUND:g} cost nothing, sums over pairs would be shorter by factors of {factors}"


def passage(results: dict[str, Any]) -> str:
    """Put the counts into a table."""
    heads = ["flow", "evaluations", "their number", *(f"> {bound:g}" for bound in BOUNDS), *(f"at most {FEW}, > {bound:g}" for bound in BOUNDS)]
    rows = [
        [name, kind, counted["number"], *(f"{100 * mean:.0f} %" for mean in counted["mean"]), *(f"{100 * few:.0f} %" for few in counted["few"])]
        for name, row in results.items()
        for kind, counted in row["kinds"].items()
    ]
    factors = "; ".join(f"{name} " + ", ".join(f"{saved(row, i):.3g}" for i in range(len(BOUNDS))) for name, row in results.items())
    return (
        'Flows of Midpoint Mixup are followed with rtol 1e-3. Columns "> bound": the mean share of the classes of which an output changes by more '
        f'than the bound from one evaluation to the next. Columns "at most {FEW}": the share of evaluations at which at most {FEW} classes '
        "change.\n\n"
        + table(heads, rows)
        + "\nIf classes that have not moved cost nothing, neither in the partition functions nor in what is pulled back, sums over pairs would have "
        f"fewer terms by these factors, for the bounds in the same order: {factors}.\n"
    )
