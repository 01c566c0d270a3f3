"""What the study of the linear regime measures, a function for each result. All of them return what JSON can hold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import mvsim
from lib.linear.starts import time_to_halve
from mvsim.numerics.intervals import clopper_pearson
from mvsim.numerics.random_streams import stream
from mvsim.papers.midpoint_mixup.section_3 import lemma_3_2, proposition_3_3, proposition_3_4, proposition_3_5, proposition_4_4
from mvsim.papers.midpoint_mixup.section_3.orthogonal import OneClass
from mvsim.papers.midpoint_mixup.section_3.sample import ONE, Sample

BREAKS = (1e-4, 1e-3, 1e-2, 0.1, 1.0)
POINTS = (5, 10, 20, 40)
"""For each class: N over k at which the least excess of a broken direction is compared."""

UNSEEN_K, UNSEEN_N, UNSEEN_DRAWS = 5, (1, 2, 4, 8, 12, 16, 20, 24), 2000
SHAPES = tuple(float(a) for a in np.geomspace(1e-3, 1e3, 25))
ATOMS = tuple(float(lam) for lam in np.linspace(0.5, 1.0, 21))
AHEAD = (2.0, 4.0, 6.0, 8.0, 10.0, 12.0)
STRENGTHS = (1, 2, 3, 4, 6, 8, 20)
"""P over k^2."""


def linear(k: int, points: int) -> mvsim.Parameters:
    """Return a linear model with so many points for each class."""
    return mvsim.Parameters(k=k, model="linear", N=points * k)


def breaks(ks: Sequence[int], seeds: int) -> dict[str, Any]:
    """Measure the least excess of a broken direction (Lemma 3.2) for several breaks e: k -> e -> one value for each seed."""
    measured = {}
    for k in ks:
        samples = [Sample(linear(k, 10), seed) for seed in range(seeds)]
        measured[str(k)] = [
            [lemma_3_2.least_excess(lemma_3_2.excess(one, lemma_3_2.broken_direction(k, ONE, (e, 0.0)))) for one in samples] for e in BREAKS
        ]
    return {"e": BREAKS, "least": measured}


def breaks_over_points(ks: Sequence[int], seeds: int) -> dict[str, Any]:
    """Measure the least excess over the number of points for each class, for the break e of `lemma_3_2`: k -> points -> one value for each seed."""

    def least(k: int, points: int, seed: int) -> float:
        return lemma_3_2.least_excess(lemma_3_2.excess(Sample(linear(k, points), seed), lemma_3_2.broken_direction(k, ONE)))

    measured = {str(k): [[least(k, points, seed) for seed in range(seeds)] for points in POINTS] for k in ks}
    return {"e": lemma_3_2.BREAK, "points": POINTS, "least": measured}


def unseen() -> list[dict[str, float]]:
    """Count, against N, on how many data sets the loss does not show a break of class 0 far out: it is to be where class 0 has no point or all."""
    k, rows = UNSEEN_K, []
    direction = lemma_3_2.broken_direction(k, 0)
    for N in UNSEEN_N:
        parameters = mvsim.Parameters(k=k, model="linear", N=N)
        seeds = stream(N, "labels").integers(2**62, size=UNSEEN_DRAWS)
        count = sum(abs(lemma_3_2.excess(Sample(parameters, int(seed)), direction)(lemma_3_2.FAR)) <= lemma_3_2.UNSEEN for seed in seeds)
        low, high = clopper_pearson(count, UNSEEN_DRAWS, 0.999)
        rows.append({"N": N, "fraction": count / UNSEEN_DRAWS, "low": low, "high": high, "exact": (1.0 - 1.0 / k) ** N + k ** -float(N)})
    return rows


def distances(ks: Sequence[int], seeds: int) -> dict[str, Any]:
    """Measure eps_0 of Proposition 3.3 for Beta(a, a) over a, and for lambda = l or 1 - l over l: k -> law -> median over seeds."""

    def medians(k: int, laws: Sequence[Any]) -> list[float]:
        samples = [Sample(linear(k, 10), seed) for seed in range(seeds)]
        return [float(np.median([proposition_3_3.remaining(one, law).eps_0 for one in samples])) for law in laws]

    beta = [{"distribution": "beta", "args": [a, a]} for a in SHAPES]
    return {"a": SHAPES, "beta": {str(k): medians(k, beta) for k in ks}, "atoms": ATOMS, "two": {str(k): medians(k, ATOMS) for k in ks}}


def pulls_if_alike(k: int, each: int, seeds: int) -> dict[str, Any]:
    """Measure the worst pull of Midpoint Mixup while all classes are alike, with so many points for each class."""
    classes = [OneClass.of(Sample(linear(k, each), seed), ONE) for seed in range(seeds)]
    return {"k": k, "points": each, "pulls": [proposition_3_4.worst_pull_if_alike(one)[0] for one in classes]}


def gradients(ks: Sequence[int], each: int, seeds: int) -> dict[str, Any]:
    """Measure the worst pulls of Propositions 3.4 and 3.5, and those as written: k -> lists over seeds, for 3.5 C -> list."""
    rows: dict[str, Any] = {}
    for k in ks:
        row: dict[str, Any] = {name: [] for name in ("lagging", "alike", "range", "gap", "beyond", "premise", "as_written")}
        row["erm"], row["erm_as_written"] = ({str(C): [] for C in proposition_3_5.CONSTANTS} for _ in range(2))
        for seed in range(seeds):
            sample = Sample(linear(k, each), seed)
            one = OneClass.of(sample, ONE)
            premise = proposition_3_4.pull_with_premise(one)
            row["lagging"].append(proposition_3_4.lagging_pull(one))
            row["alike"].append(proposition_3_4.worst_pull_if_alike(one)[0])
            row["range"].append(proposition_3_4.largest_lagging(one))
            row["gap"].append(proposition_3_4.largest_gap(one))
            row["beyond"].append(proposition_3_4.lagging_pull(one, 0.0, proposition_3_4.BEYOND))
            row["premise"].append(None if premise is None else float(premise[1]))
            row["as_written"].append(proposition_3_4.lagging_pull(one, proposition_3_4.LARGEST, proposition_3_4.LARGEST))
            for C in proposition_3_5.CONSTANTS:
                row["erm"][str(C)].append(float(one.erm_pull(np.array([C * math.log(k), 0.0]))[1]))
                row["erm_as_written"][str(C)].append(float(one.erm_pull(np.array([0.0, -C * math.log(k)]))[1]))
        rows[str(k)] = row
    return rows


def closing(ks: Sequence[int], seeds: int) -> dict[str, Any]:
    """Measure in which time a gap of C log k halves: method -> k -> C -> one time for each seed."""
    return {
        method: {str(k): [[time_to_halve(method, linear(k, 40), seed, C) for seed in range(seeds)] for C in AHEAD] for k in ks}
        for method in ("erm", "midpoint")
    }


def certified(k: int, points: int, times: int, seed: int) -> dict[str, Any]:
    """Decide whether the construction of Proposition 4.4 with P = times k^2 can be separated on one data set."""
    p = proposition_4_4.construction(mvsim.Parameters(k=k, N=points * k), times)
    verdict = proposition_4_4.not_separable("", p, seed)
    return {"k": k, "points": points, "times": times, "strength": p.P * p.delta3 / p.delta2, "status": verdict.status}


def separability(ks: Sequence[int], seeds: int) -> dict[str, Any]:
    """Decide it over k, over the strength of the noise at the first k that is 10 or more, and over the points for each class there."""
    k = next((k for k in ks if k >= 10), ks[-1])
    return {
        "over_k": [certified(one, 20, proposition_4_4.STRONG, seed) for one in ks for seed in range(seeds)],
        "over_strength": [certified(k, 20, times, seed) for times in STRENGTHS for seed in range(seeds)],
        "over_points": [certified(k, points, proposition_4_4.STRONG, seed) for points in (4, 6, 8, 10, 14) for seed in range(seeds)],
    }
