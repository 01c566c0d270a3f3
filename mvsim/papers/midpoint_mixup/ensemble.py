"""A theorem over seeds and over k: in how many runs it holds, how that goes with k, and the constants of the claims."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from mvsim.judging.status_of_interval import fraction_at_least
from mvsim.judging.verdict import STATUSES, Count, Gathering, Verdict, constant
from mvsim.judging.words import BETWEEN_REGIMES, time_text
from mvsim.numerics.intervals import CONFIDENCE, clopper_pearson
from mvsim.papers.midpoint_mixup.paths import describe_path
from mvsim.papers.midpoint_mixup.run_verdicts import Judgement
from mvsim.sweeps.intervals import clustered_interval

DECIDED = ("fails", "inconclusive", "holds")
"""Statuses of the parts of a theorem in one run, the one that decides about all of them first."""

WITH_ORDER: frozenset[Gathering] = frozenset({"constant", "least"})
"""What is gathered so has an order in k."""

RESAMPLES = 2000
"""Of the bootstrap over runs."""


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
        The probability with which the theorem, each of its parts, and what is decided on the way, holds in a run is to be at least 1 - 1/k: the
        paper has 1 - O(1/k), and the constant 1 is a convention. That is established, consistent with the runs or contradicted by them; inconclusive
        if undecided runs could change the answer. Of a theorem it is said to which times the runs were followed in which it holds: they end soon
        after they have settled, and a later second feature is not seen. Identities are to hold in every run. The fraction of classes over all runs
        and the constants of the claims are measured only.
    """
    label = _common([judgement.verdicts[0].regime for judgement in judgements])
    verdicts = _together(name, k, judgements, lost)
    together = bool(verdicts)
    for part in _names(judgements):
        of_runs = [(judgement.run, verdict) for judgement in judgements for verdict in judgement.verdicts if verdict.name == part]
        everywhere = [verdict for _, verdict in of_runs]
        mine = [verdict for verdict in everywhere if verdict.status != "not applicable"]
        if not mine:
            verdicts.append(everywhere[0].at_k(k))
        elif not (decided := [verdict for verdict in mine if verdict.status != "measured"]):
            verdicts.append(_least(k, everywhere) if mine[0].gathered == "least" else _median(k, everywhere))
        elif decided[0].gathered == "everywhere":
            verdicts.append(_everywhere(k, [(run.seed, verdict) for run, verdict in of_runs if verdict.status != "not applicable"]))
        else:
            verdicts.append(_decided(k, mine, lost, "" if together else _horizon(part, judgements, k)))
            if mine[0].kind == "theorem" and mine[0].part == "features":
                verdicts.append(_classes(k, mine, lost))
    return [replace(verdict, regime=label) for verdict in verdicts]


def over_k(name: str, judgements: Mapping[int, Sequence[Judgement]], lost: Mapping[int, int] | None = None) -> list[Verdict]:
    """Report how the failure of a theorem goes with k: 1 - O(1/k) says that k times the fraction of runs in which it fails stays bounded.

    Parameters
    ----------
    name : str
        Of the theorem.
    judgements : mapping
        From k to the judgements of its runs, none where no run came to an end; there are some at one k at least.
    lost : mapping, optional
        From k to the number of runs that could not be followed to an end.

    Returns
    -------
    list of Verdict
        The largest k times failing fraction, undecided runs counted as failing, with an interval for each k; and the exponent of k in each
        measured constant, with an interval over seeds (`exponent_of_k`). A theorem's Theta(1) shows as an exponent near 0. None of this is decided.
        The details say along which r0(k) that is: a trend on which r0 does not fall is not one that the theorems speak of.
    """
    rows, worst = [], 0.0
    for k, mine in sorted(judgements.items()):
        statuses = [{v.status for v in judgement.verdicts if v.kind == "theorem"} for judgement in mine]
        failing = sum("fails" in of_run for of_run in statuses)
        undecided = sum("fails" not in of_run and "inconclusive" in of_run for of_run in statuses) + (lost or {}).get(k, 0)
        n = len(mine) + (lost or {}).get(k, 0)
        low, high = clopper_pearson(failing, n)[0], clopper_pearson(failing + undecided, n)[1]
        worst = max(worst, k * (failing + undecided) / n)
        open_ones = f", {undecided} undecided, counted as failing" if undecided else ""
        rows.append(f"{k * (failing + undecided) / n:.3g} at k = {k} [{k * low:.2g}, {k * high:.2g}] ({failing} of {_runs(n)} fail{open_ones})")
    statement = "k times the fraction of runs in which it does not hold, which 1 - O(1/k) keeps bounded: the largest"
    path = describe_path({k: mine[0].run.parameters for k, mine in judgements.items() if mine})
    everywhere = [judgement for mine in judgements.values() for judgement in mine]
    counted = [f"with 95% intervals {', '.join(rows)}", *(["two k are no trend"] if len(rows) == 2 else [])]
    trend = constant(f"{name} (trend in k)", statement, worst, detail="; ".join([*counted, path]))
    verdicts = [replace(trend, kind="theorem", number=_number(everywhere))]
    by_k = {k: measured_constants(mine) for k, mine in sorted(judgements.items())}
    with_order = {v.name: v.number for judgement in everywhere for v in judgement.verdicts if v.status == "measured" and v.gathered in WITH_ORDER}
    for part in _names(everywhere):
        values = {k: constants[part] for k, constants in by_k.items() if part in constants}
        if len(values) > 1 and part in with_order:
            verdicts.append(replace(_exponent(part, values, path), number=with_order[part]))
    labels = _common([judgement.verdicts[0].regime for judgement in everywhere])
    return [replace(verdict, regime=labels) for verdict in verdicts]


def measured_constants(judgements: Sequence[Judgement]) -> dict[str, list[float]]:
    """Return the constants that were measured, by name: one value for each run that has one; it may be infinite."""
    found: dict[str, list[float]] = {}
    for verdict in (verdict for judgement in judgements for verdict in judgement.verdicts if verdict.status == "measured"):
        if verdict.measured is not None and not math.isnan(verdict.measured):
            found.setdefault(verdict.name, []).append(verdict.measured)
    return found


def exponent_of_k(values: Mapping[int, Sequence[float]], resamples: int = RESAMPLES) -> tuple[float, float, float]:
    """Return the slope of the logarithm of the median over log k, by least squares, with its interval from a bootstrap over the runs at each k.

    Parameters
    ----------
    values : mapping
        From k to the positive values of its runs; at least two k.
    resamples : int
        Of the bootstrap.

    Returns
    -------
    tuple of float
        Slope, and the ends of the percentile interval of `CONFIDENCE`.
    """
    rng, x = np.random.default_rng(0), np.log(list(values))  # the same answer every time
    x = x - x.mean()
    logs = [np.log(of_k) for of_k in values.values()]
    drawn = np.stack([np.median(rng.choice(of_k, (resamples, len(of_k))), axis=1) for of_k in logs])
    slopes = x @ drawn / (x @ x)
    low, high = np.quantile(slopes, [(1.0 - CONFIDENCE) / 2.0, (1.0 + CONFIDENCE) / 2.0])
    return float(x @ np.array([np.median(of_k) for of_k in logs]) / (x @ x)), float(low), float(high)


def _exponent(part: str, values: Mapping[int, Sequence[float]], path: str) -> Verdict:
    """Report the exponent of k in a measured constant; none if it is infinite, "never", or not above 0 in some run, which a power of k never is."""
    name, statement = f"{part} (trend in k)", "exponent of k in the measured constant"
    for what, is_so in (("infinite", math.isinf), ("0 or less", lambda value: value <= 0.0)):
        counts = {k: sum(map(is_so, of_k)) for k, of_k in values.items() if any(map(is_so, of_k))}
        if counts:
            where = ", ".join(f"in {count} of {_runs(len(values[k]))} at k = {k}" for k, count in counts.items())
            return constant(name, statement, None, detail=f"it is {what} {where}; {path}")
    exponent, low, high = exponent_of_k(values)
    medians = ", ".join(f"{np.median(of_k):.4g} at k = {k} ({_runs(len(of_k))})" for k, of_k in values.items())
    few = "; two k fix a line, whatever the law" if len(values) == 2 else ""
    alone = "; one run at a k has no spread" if min(map(len, values.values())) == 1 else ""
    return constant(name, statement, exponent, detail=f"95% interval [{low:.3g}, {high:.3g}] over seeds{alone}{few}; medians {medians}; {path}")


def _together(name: str, k: int, judgements: Sequence[Judgement], lost: int) -> list[Verdict]:
    """Judge all parts of a theorem together, if there are several: it holds in a run in which all of them do."""
    of_runs = [[v for v in judgement.verdicts if v.kind == "theorem" and v.status in DECIDED] for judgement in judgements]
    if min(len(parts) for parts in of_runs) < 2:
        return []
    statement = f"all of it in one run: {'; '.join(part.part for part in of_runs[0])}"
    deciding = [min(parts, key=lambda v: DECIDED.index(v.status)) for parts in of_runs]
    whole = [replace(v, name=name, part="", statement=statement) for v in deciding]
    held = [judgement for judgement, v in zip(judgements, whole, strict=True) if v.status == "holds"]
    return [_decided(k, whole, lost, _followed_to(held, k))]


def _number(judgements: Sequence[Judgement]) -> str:
    """Return the number of the theorem that they are about, which is the first of their verdicts."""
    return judgements[0].verdicts[0].number


def _names(judgements: Sequence[Judgement]) -> list[str]:
    return list(dict.fromkeys(verdict.name for judgement in judgements for verdict in judgement.verdicts))


def _common(labels: Sequence[str]) -> str:
    return BETWEEN_REGIMES.join(dict.fromkeys(labels))


def _horizon(part: str, judgements: Sequence[Judgement], k: int) -> str:
    """Say to which times the runs were followed in which the only part of a theorem holds; nothing of a step of the proof."""
    return _followed_to([j for j in judgements if any(v.name == part and v.kind == "theorem" and v.status == "holds" for v in j.verdicts)], k)


def _followed_to(held: Sequence[Judgement], k: int) -> str:
    """Say to which times runs were followed in which something holds, and in how many it is predicted to end soon."""
    if not held:
        return ""
    ends = [float(judgement.run.dataset["final_time"]) for judgement in held]
    soon = sum(any(v.soon and v.kind == "theorem" and v.status == "holds" for v in judgement.verdicts) for judgement in held)
    longest = f", the longest to {time_text(max(ends), k)}" if max(ends) > min(ends) else ""
    ending = f"; in {soon} of them a change is predicted soon after" if soon else ""
    return f"runs in which it holds were followed to {time_text(min(ends), k)}{longest}{ending}"


def _decided(k: int, verdicts: Sequence[Verdict], lost: int, horizon: str = "") -> Verdict:
    """Say of the probability with which a statement holds whether it is at least 1 - 1/k; undecided runs may turn out either way.

    The detail ends with the ``horizon``, the times to which it is known to hold.
    """
    first = verdicts[0].at_k(k)
    statement = f"with probability at least 1 - 1/k, which stands for 1 - O(1/k), a convention: {first.statement}"
    holds = sum(verdict.status == "holds" for verdict in verdicts)
    undecided = sum(verdict.status == "inconclusive" for verdict in verdicts) + lost
    n, bound = len(verdicts) + lost, 1.0 - 1.0 / k
    worst = replace(
        fraction_at_least(first.name, statement, holds, n, bound),
        kind=first.kind,
        number=first.number,
        part=first.part,
        check=first.check,
        count=Count(holds, n, "runs", undecided),
    )
    told, status = [f"holds in {worst.detail}"], worst.status
    if undecided:
        best = fraction_at_least(worst.name, statement, holds + undecided, n, bound)
        status = worst.status if worst.status == best.status else "inconclusive"
        partly = sum(verdict.partly for verdict in verdicts)
        why = f", {partly} of them because an escaped view that is not learned suffices on a part of D" if partly else ""
        told.append(f"{undecided} undecided{why}, counted as failing here")
    return replace(worst, status=status, detail="; ".join([*told, horizon] if horizon else told))


def _everywhere(k: int, verdicts: Sequence[tuple[int, Verdict]]) -> Verdict:
    """Return the worst of the verdicts on runs with these seeds: one counterexample is enough."""
    seed, worst = min(verdicts, key=lambda of_run: (STATUSES.index(of_run[1].status), _margin(of_run[1])))
    said = f"the worst of {len(verdicts)} runs, seed {seed}: "
    return replace(worst.at_k(k), detail=said + worst.detail, brief=said + worst.brief if worst.brief else "")


def _classes(k: int, verdicts: Sequence[Verdict], lost: int) -> Verdict:
    """Report the fraction of classes over all runs, each as it is at the end of its run.

    Classes of one run share a softmax: the interval is that of `mvsim.sweeps.intervals.clustered_interval`. Those of undecided runs are counted as
    they stand, because runs are undecided by what is missing: without them the fraction would be that of the runs in which nothing is.
    """
    name, statement = f"{verdicts[0].name}, classes of all runs", f"fraction of classes: {verdicts[0].statement}"
    undecided = sum(verdict.status == "inconclusive" for verdict in verdicts)
    of_runs = [round((v.measured or 0.0) * k) for v in verdicts]
    right, n = sum(of_runs), k * len(verdicts)
    _, low, high = clustered_interval(of_runs, [k] * len(verdicts))
    exceptions = (
        f"exceptions times log k: {(1 - right / n) * math.log(k):.3g}, interval [{(1 - high) * math.log(k):.3g}, {(1 - low) * math.log(k):.3g}]"
    )
    detail = f"{right} of {n}, 95% interval [{low:.3f}, {high:.3f}] over runs; {exceptions}"
    detail += f"; {k * undecided} are of {_runs(undecided)} not decided, counted as they are at the end" if undecided else ""
    detail += f"; {_runs(lost)} lost" if lost else ""
    fraction = constant(name, statement, right / n, verdicts[0].bound, above=True, detail=detail)
    return replace(fraction, number=verdicts[0].number, part=verdicts[0].part, count=Count(right, n, "classes", k * undecided)).at_k(k)


def _median(k: int, verdicts: Sequence[Verdict]) -> Verdict:
    """Report the median of a measured constant and its range over runs, with the margin and the first violation of the worst run.

    Infinite values, "never", count as what they are; runs in which nothing was measured are told.
    """
    measured = [v for v in verdicts if v.measured is not None and not math.isnan(v.measured)]
    if not measured:
        return replace(verdicts[0].at_k(k), detail=f"nothing was measured in {len(verdicts)} runs; the first: {verdicts[0].detail}")
    values = sorted(float(v.measured or 0.0) for v in measured)
    with_margin, times = [v for v in measured if v.margin is not None], [v.violated_at for v in measured if v.violated_at is not None]
    worst = min(with_margin, key=lambda v: float(v.margin or 0.0), default=None)
    left_out = f" (nothing was measured in {len(verdicts) - len(values)} others)" if len(values) < len(verdicts) else ""
    beside = "" if worst is None else "; the margin is that of the worst run"
    return replace(
        measured[0].at_k(k),
        measured=values[len(values) // 2] if len(values) % 2 else _middle(*values[len(values) // 2 - 1 : len(values) // 2 + 1]),
        worst=None if worst is None else worst.measured,
        margin=None if worst is None else worst.margin,
        detail=f"median of {len(values)} runs{left_out}, range [{values[0]:.4g}, {values[-1]:.4g}]{beside}",
        violated_at=min(times) if times else None,
    )


def _least(k: int, verdicts: Sequence[Verdict]) -> Verdict:
    """Report the least over the runs of how long a theorem stays true; where it does not hold there is no such time, and that is told."""
    measured = [v for v in verdicts if v.measured is not None and not math.isnan(v.measured)]
    without = len(verdicts) - len(measured)
    least = min(measured, key=lambda v: float(v.measured or 0.0))
    others = f"; {without} of {len(verdicts)} runs have none: {next(v.detail for v in verdicts if v not in measured)}" if without else ""
    return replace(least.at_k(k), detail=f"the least of {_runs(len(measured))}{others}; in that one {least.detail}")


def _margin(verdict: Verdict) -> float:
    return math.inf if verdict.margin is None else verdict.margin


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"


def _middle(low: float, high: float) -> float:
    """Return the mean of two values, either of which may be infinite."""
    return low if low == high else 0.5 * low + 0.5 * high
