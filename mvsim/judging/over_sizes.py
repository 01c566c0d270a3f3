"""How a statement goes with the size: the rate at which it fails, and the exponents of what is measured."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from mvsim.judging.number_text import runs_text
from mvsim.judging.over_seeds import Judgement, common_regime, names_of
from mvsim.judging.verdict import Gathering, Verdict, constant
from mvsim.numerics.intervals import CONFIDENCE, clopper_pearson

WITH_ORDER: frozenset[Gathering] = frozenset({"constant", "least"})
"""What is gathered so has an order in the size."""

RESAMPLES = 2000
"""Of the bootstrap over runs."""


def over_sizes(name: str, judgements: Mapping[int, Sequence[Judgement]], lost: Mapping[int, int] | None = None, path: str = "") -> list[Verdict]:
    """Report how the failure of a theorem goes with k: 1 - O(1/k) says that k times the fraction of runs in which it fails stays bounded."""
    rows, worst = [], 0.0
    for k, of_size in sorted(judgements.items()):
        statuses = [{v.status for v in judgement.verdicts if v.kind == "theorem"} for judgement in of_size]
        failing = sum("fails" in of_run for of_run in statuses)
        undecided = sum("fails" not in of_run and "inconclusive" in of_run for of_run in statuses) + (lost or {}).get(k, 0)
        n = len(of_size) + (lost or {}).get(k, 0)
        low, high = clopper_pearson(failing, n)[0], clopper_pearson(failing + undecided, n)[1]
        worst = max(worst, k * (failing + undecided) / n)
        open_ones = f", {undecided} undecided, counted as failing" if undecided else ""
        rows.append(f"{k * (failing + undecided) / n:.3g} at k = {k} [{k * low:.2g}, {k * high:.2g}] ({failing} of {runs_text(n)} fail{open_ones})")
    everywhere = [judgement for of_size in judgements.values() for judgement in of_size]
    statement = "k times the fraction of runs in which it does not hold, which 1 - O(1/k) keeps bounded: the largest"
    details = [f"with 95% intervals {', '.join(rows)}", *(["two k are no trend"] if len(rows) == 2 else []), *([path] if path else [])]
    trend = constant(f"{name} (trend in k)", statement, worst, detail="; ".join(details))
    verdicts = [replace(trend, kind="theorem").about(everywhere[0].verdicts[0].number, name)]
    by_k = {k: measured_constants(of_size) for k, of_size in sorted(judgements.items())}
    with_order = {v.name: v.number for judgement in everywhere for v in judgement.verdicts if v.status == "measured" and v.gathered in WITH_ORDER}
    for part in names_of(everywhere):
        values = {k: constants[part] for k, constants in by_k.items() if part in constants}
        if len(values) > 1 and part in with_order:
            verdicts.append(replace(exponent_verdict(part, values, path), number=with_order[part]))
    label = common_regime(everywhere)
    return [replace(verdict, regime=label) for verdict in verdicts]


def measured_constants(judgements: Sequence[Judgement], decided: bool = False) -> dict[str, list[float]]:
    """Return the constants that were measured, by name: one value for each run that has one; it may be infinite.

    With ``decided`` also the numbers by which something was decided.
    """
    constants: dict[str, list[float]] = {}
    for verdict in (verdict for judgement in judgements for verdict in judgement.verdicts if decided or verdict.status == "measured"):
        if verdict.measured is not None and not math.isnan(verdict.measured):
            constants.setdefault(verdict.name, []).append(verdict.measured)
    return constants


def exponent_of(values: Mapping[int, Sequence[float]], resamples: int = RESAMPLES) -> tuple[float, float, float]:
    """Return the slope of the logarithm of the median over log k, by least squares, with its interval from a bootstrap over the runs at each k."""
    rng, x = np.random.default_rng(0), np.log(list(values))  # the same answer every time
    x = x - x.mean()
    logs = [np.log(of_k) for of_k in values.values()]
    drawn = np.stack([np.median(rng.choice(of_k, (resamples, len(of_k))), axis=1) for of_k in logs])
    slopes = x @ drawn / (x @ x)
    low, high = np.quantile(slopes, [(1.0 - CONFIDENCE) / 2.0, (1.0 + CONFIDENCE) / 2.0])
    return float(x @ np.array([np.median(of_k) for of_k in logs]) / (x @ x)), float(low), float(high)


def exponent_verdict(part: str, values: Mapping[int, Sequence[float]], path: str = "", of: str = "the measured constant", size: str = "k") -> Verdict:
    """Report the exponent of the size in what was measured; none if it is infinite, "never", or not above 0 in some run: a power never is."""
    name, statement = f"{part} (trend in {size})", f"exponent of {size} in {of}"
    end = f"; {path}" if path else ""
    for what, is_so in (("infinite", math.isinf), ("0 or less", lambda value: value <= 0.0)):
        counts = {k: sum(map(is_so, of_k)) for k, of_k in values.items() if any(map(is_so, of_k))}
        if counts:
            where = ", ".join(f"in {count} of {runs_text(len(values[k]))} at {size} = {k}" for k, count in counts.items())
            return constant(name, statement, None, detail=f"it is {what} {where}{end}")
    exponent, low, high = exponent_of(values)
    medians = ", ".join(f"{np.median(of_k):.4g} at {size} = {k} ({runs_text(len(of_k))})" for k, of_k in values.items())
    few = f"; two {size} fix a line, whatever the law" if len(values) == 2 else ""
    alone = f"; one run at a {size} has no spread" if min(map(len, values.values())) == 1 else ""
    return constant(name, statement, exponent, detail=f"95% interval [{low:.3g}, {high:.3g}] over seeds{alone}{few}; medians {medians}{end}")
