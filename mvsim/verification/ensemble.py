"""A theorem over seeds and over k: in how many runs it holds, how that goes with k, and the constants of the claims."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from mvsim.verification.intervals import clopper_pearson, fraction_at_least
from mvsim.verification.judgement import Judgement
from mvsim.verification.verdict import Verdict, constant


def over_seeds(name: str, k: int, judgements: Sequence[Judgement], lost: int = 0) -> list[Verdict]:
    """Judge the runs of one theorem at one k.

    Parameters
    ----------
    name : str
        Of the theorem, e.g. "Theorem 4.6".
    k : int
        Number of classes.
    judgements : sequence of Judgement
        One for each run.
    lost : int
        Runs that could not be followed to an end; they count as undecided.

    Returns
    -------
    list of Verdict
        First the two parts of the theorem over runs: the fraction of runs in which it holds is to be at least 1 - 1/k, which is 1 - O(1/k) with
        constant 1. If undecided runs could change the answer, it is inconclusive. Then the fraction of classes over all runs, and what was
        measured along the trajectories, its median over runs.
    """
    n = len(judgements) + lost
    label = _common([judgement.verdicts[0].regime for judgement in judgements])
    found = []
    for part in _names(judgements):
        mine = [verdict for judgement in judgements for verdict in judgement.verdicts if verdict.name == part]
        if all(verdict.status == "measured" for verdict in mine):
            found.append(_median(part, k, mine))
        else:
            undecided = n - sum(verdict.status in ("holds", "fails") for verdict in mine)
            found.append(_decided(part, k, mine, undecided))
    for verdict in [verdict for judgement in judgements[:1] for verdict in judgement.verdicts if verdict.name == f"{name} (features)"]:
        found.insert(0, _classes(verdict, k, judgements))
    return [replace(verdict, regime=label) for verdict in found]


def over_k(name: str, judgements: Mapping[int, Sequence[Judgement]]) -> list[Verdict]:
    """Report how the failure of a theorem goes with k: 1 - O(1/k) says that k times the fraction of runs in which it fails stays bounded.

    Parameters
    ----------
    name : str
        Of the theorem.
    judgements : mapping
        From k to the judgements of its runs.

    Returns
    -------
    list of Verdict
        The largest k times failing fraction, with an interval for each k, and the exponent of k in each measured constant: the slope of its
        logarithm over log k, least squares over the medians. A theorem's Theta(1) shows as an exponent near 0. None of this is decided.
    """
    rows, worst = [], 0.0
    for k, mine in sorted(judgements.items()):
        failing = sum(any(v.status == "fails" for v in judgement.verdicts if v.name.startswith(name)) for judgement in mine)
        low, high = clopper_pearson(failing, len(mine))
        worst = max(worst, k * failing / len(mine))
        rows.append(f"k = {k}: {failing} of {len(mine)} runs fail, k times that [{k * low:.2g}, {k * high:.2g}]")
    found = [constant(f"{name} (trend in k)", "largest k times the fraction of runs in which it fails; 1 - O(1/k) keeps it bounded", worst,
                      detail="; ".join(rows))]  # fmt: skip
    if len(judgements) < 2:
        return found
    labels = _common([judgement.verdicts[0].regime for mine in judgements.values() for judgement in mine])
    for part in _names([judgement for mine in judgements.values() for judgement in mine]):
        medians = {k: _values(part, mine) for k, mine in sorted(judgements.items())}
        points = [(k, float(np.median(values))) for k, values in medians.items() if len(values)]
        if len(points) > 1 and all(value > 0.0 for _, value in points):
            exponent = float(np.polyfit(np.log([k for k, _ in points]), np.log([value for _, value in points]), 1)[0])
            detail = ", ".join(f"k = {k}: {value:.4g}" for k, value in points)
            found.append(constant(f"{part} (trend in k)", "exponent of k in the measured constant", exponent, detail=detail))
    return [replace(verdict, regime=labels) for verdict in found]


def _names(judgements: Sequence[Judgement]) -> list[str]:
    return list(dict.fromkeys(verdict.name for judgement in judgements for verdict in judgement.verdicts))


def _values(part: str, judgements: Sequence[Judgement]) -> list[float]:
    found = [v.measured for judgement in judgements for v in judgement.verdicts if v.name == part and v.status == "measured"]
    return [value for value in found if value is not None and math.isfinite(value)]


def _common(labels: Sequence[str]) -> str:
    return " / ".join(dict.fromkeys(labels))


def _decided(part: str, k: int, verdicts: Sequence[Verdict], undecided: int) -> Verdict:
    """Decide the fraction of runs in which a statement holds; undecided runs may turn out either way."""
    bound = 1.0 - 1.0 / k
    statement = f"in a fraction of runs of at least 1 - 1/k: {verdicts[0].statement}"
    holds, trials = sum(verdict.status == "holds" for verdict in verdicts), sum(verdict.status != "measured" for verdict in verdicts)
    n = max(trials, holds + undecided)
    worst = fraction_at_least(f"{part}, k = {k}", statement, holds, n, bound)
    if not undecided:
        return worst
    best = fraction_at_least(worst.name, statement, holds + undecided, n, bound)
    status = worst.status if worst.status == best.status else "inconclusive"
    return replace(worst, status=status, detail=f"{worst.detail}; {undecided} undecided")


def _classes(verdict: Verdict, k: int, judgements: Sequence[Judgement]) -> Verdict:
    """Decide the fraction of classes over all runs, as the theorem does that of one run."""
    mine = [v for judgement in judgements for v in judgement.verdicts if v.name == verdict.name]
    right = round(sum((v.measured or 0.0) * k for v in mine))
    return fraction_at_least(f"{verdict.name}, classes of all runs, k = {k}", verdict.statement, right, k * len(mine), verdict.bound or 1.0)


def _median(part: str, k: int, verdicts: Sequence[Verdict]) -> Verdict:
    """Report the median of a measured constant and its range over runs."""
    values = [v.measured for v in verdicts if v.measured is not None and math.isfinite(v.measured)]
    first = verdicts[0]
    if not values:
        return constant(f"{part}, k = {k}", first.statement, None, detail=first.detail)
    detail = f"median of {len(values)} runs, range [{min(values):.4g}, {max(values):.4g}]"
    times = [v.violated_at for v in verdicts if v.violated_at is not None]
    above = any(
        v.margin is not None and v.bound is not None and v.measured is not None and (v.measured >= v.bound) == (v.margin > 0) for v in verdicts
    )
    return constant(
        f"{part}, k = {k}", first.statement, float(np.median(values)), first.bound, above, detail, violated_at=min(times) if times else None
    )
