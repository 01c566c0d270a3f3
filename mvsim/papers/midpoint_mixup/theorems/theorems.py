"""Theorems 4.6 and 4.7 on one run.

Each has two parts, training accuracy and features. The theorems speak of all later times, so a part is decided only once what it is about has not
changed while time grew by a factor:

| what the verdict rests on | time must grow by |
|---|---|
| what has been learned, training accuracy 1 | `mvsim.papers.midpoint_mixup.evidence.persistence.FACTOR` |
| the same, once every view is learned | its root, or less with a certificate of the run (`mvsim.runs.recording.settling`) |
| what is missing: Theorem 4.7 fails, Theorem 4.6 holds | `mvsim.papers.midpoint_mixup.evidence.persistence.PATIENCE`: it may still come |
| the same, Theorem 4.6, and no second feature is predicted in enough classes before that | `FACTOR` |

Before that it is inconclusive. Under Midpoint Mixup nothing is predicted (`mvsim.papers.midpoint_mixup.theorems.permanence` has what is under ERM).
What is said is about the run and up to its end.

They speak of all later times, from some time on, which is read as that from which training accuracy is 1. A theorem fails at once where since then so
many classes have lost a learned view that the others are too few. That a lost view comes back is not waited for, a convention: in none of 60 runs
of Midpoint Mixup (study flow_waiting, revision a52b6aa) was one lost for a while.

A view is learned if it suffices wherever that was looked at, as Definition 4.5 has it, and not learned otherwise. One that has escaped and suffices
on a part of D is on its way or stuck: it is not enough for Theorem 4.7, and leaves its class open for Theorem 4.6. A dormant view, on which all
neurons of the class are in the polynomial part, may suffice on a part of D as well: where noise tells the class, or where all outputs are 0 but a
tiny one. That is said, and the view counts as not learned.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mvsim.judging.verdict import Verdict
from mvsim.papers.midpoint_mixup.theorems.definition import Learned
from mvsim.papers.midpoint_mixup.theorems.features import Classes, features, trained_since, training_accuracy
from mvsim.runs.run import Run

ONE_FEATURE = 0.9
"""What 1 - o(1) means at one k: all but one class in ten. The theorem leaves it open; with k = 10 nothing finer could be told."""


def theorem_4_6(run: Run, learned: Learned, stays: float = -np.inf) -> list[Verdict]:
    """Theorem 4.6 (ERM): training accuracy 1, and exactly one feature learned in (1 - o(1)) k classes, for all later t.

    ``stays`` is ln of the time up to which no second feature is predicted in so many classes.
    """
    count, partly, lost = learned.by_definition.sum(axis=1), learned.partly, learned.lost_since(trained_since(run, learned))
    classes = Classes(
        right=(count == 1) & ~partly.any(axis=1),
        open=(count < 2) & (partly & ~lost).any(axis=1),
        lost=np.asarray(lost.any(axis=1)),
        bound=ONE_FEATURE,
        features=1,
        outcome="ERM learned exactly one feature",
        stays=stays,
    )
    statement = f"exactly one feature is learned in (1 - o(1)) k classes, from some t on; {ONE_FEATURE:g} stands for 1 - o(1), a convention"
    return [training_accuracy("4.6", run, learned), features("4.6", statement, run, learned, classes)]


def theorem_4_7(run: Run, learned: Learned, stays: float = -np.inf) -> list[Verdict]:
    """Theorem 4.7 (Midpoint Mixup): training accuracy 1, and both features of every class learned, for all later t; nothing is predicted."""
    both, lost = learned.by_definition.sum(axis=1) == 2, learned.lost_since(trained_since(run, learned))
    classes = Classes(both, np.zeros_like(both), np.asarray(lost.any(axis=1)), bound=1.0, features=2, outcome="Midpoint Mixup learned both features")
    statement = "both features of every class are learned, from some t on"
    return [training_accuracy("4.7", run, learned), features("4.7", statement, run, learned, classes)]


class Theorem(NamedTuple):
    """A theorem about one training loss: the loss it speaks of and the function that judges a run."""

    method: str
    judge: Callable[[Run, Learned, float], list[Verdict]]


THEOREMS: dict[str, Theorem] = {"4.6": Theorem("erm", theorem_4_6), "4.7": Theorem("midpoint", theorem_4_7)}
"""By number."""
