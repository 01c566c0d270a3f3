"""What the verdicts on several runs, or data sets, of one size say together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

import numpy as np

from mvsim.judging.number_text import runs_text, time_text
from mvsim.judging.probability import fraction_at_least
from mvsim.judging.verdict import STATUSES, Count, Verdict, constant
from mvsim.numerics.intervals import clustered_interval

DECIDED = ("fails", "inconclusive", "holds")
"""Statuses of the parts of a theorem in one run, the one that decides about all of them first."""

BETWEEN_REGIMES = " / "
"""Stands between the labels of the regimes of several runs."""


class Judgement(Protocol):
    """The verdicts on one run or data set."""

    @property
    def seed(self) -> int:
        """Of it."""

    @property
    def verdicts(self) -> list[Verdict]:
        """The theorem first."""

    @property
    def end(self) -> float | None:
        """The last time of a run."""


class OfData(NamedTuple):
    """The verdicts on one data set."""

    seed: int
    verdicts: list[Verdict]
    end: float | None = None


def over_seeds(name: str, n: int, judgements: Sequence[Judgement], lost: int = 0, size: str = "k") -> list[Verdict]:
    """Gather the verdicts on one statement at one size n: a judgement for each seed, and ``lost`` runs that could not be followed to an end.

    These count as undecided. By `Verdict.gathered`: of what is to hold with probability 1 - O(1/k) it is asked whether the probability is 1 - 1/k at
    least, a convention. That is established, consistent with the runs or contradicted by them; inconclusive if undecided runs could change the
    answer. Of a theorem it is said to which times the runs were followed in which it holds. One counterexample decides about what is to hold
    everywhere. The fraction of classes over all runs and the constants of the claims are measured only.
    """
    verdicts = _together(name, n, judgements, lost, size)
    together = bool(verdicts)
    for part in names_of(judgements):
        of_seeds = [(judgement.seed, verdict) for judgement in judgements for verdict in judgement.verdicts if verdict.name == part]
        everywhere = [verdict for _, verdict in of_seeds]
        own = [verdict for verdict in everywhere if verdict.status != "not applicable"]
        if not own:
            verdicts.append(everywhere[0].at(size, n))
        elif not (decided := [verdict for verdict in own if verdict.status != "measured"]):
            verdicts.append((_least if own[0].gathered == "least" else _median)(everywhere).at(size, n))
        elif decided[0].gathered == "everywhere":
            verdicts.append(_everywhere([(seed, verdict) for seed, verdict in of_seeds if verdict.status != "not applicable"]).at(size, n))
        else:
            verdicts.append(_decided(n, own, lost, size, "" if together else _horizon(part, judgements, n)))
            if own[0].kind == "theorem" and own[0].part == "features":
                verdicts.append(_classes(n, own, lost).at(size, n))
    label = common_regime(judgements)
    return [replace(verdict, regime=label) for verdict in verdicts]


def common_regime(judgements: Sequence[Judgement]) -> str:
    """Return the labels of the regimes of some judgements, each once."""
    return BETWEEN_REGIMES.join(dict.fromkeys(judgement.verdicts[0].regime for judgement in judgements))


def names_of(judgements: Sequence[Judgement]) -> list[str]:
    """Return the names of all verdicts, each once."""
    return list(dict.fromkeys(verdict.name for judgement in judgements for verdict in judgement.verdicts))


def _together(name: str, n: int, judgements: Sequence[Judgement], lost: int, size: str) -> list[Verdict]:
    """Judge all parts of a theorem together, if there are several: it holds in a run in which all of them do."""
    of_runs = [[v for v in one.verdicts if v.kind == "theorem" and v.gathered == "probability" and v.status in DECIDED] for one in judgements]
    if min(len(parts) for parts in of_runs) < 2:
        return []
    statement = f"all of it in one run: {'; '.join(part.part for part in of_runs[0])}"
    deciding = [min(parts, key=lambda v: DECIDED.index(v.status)) for parts in of_runs]
    whole = [replace(v, name=name, part="", statement=statement) for v in deciding]
    held = [judgement for judgement, v in zip(judgements, whole, strict=True) if v.status == "holds"]
    return [_decided(n, whole, lost, size, _followed_to(held, n))]


def _horizon(part: str, judgements: Sequence[Judgement], n: int) -> str:
    """Say to which times the runs were followed in which the only part of a theorem holds; nothing of a step of the proof."""
    return _followed_to([j for j in judgements if any(v.name == part and v.kind == "theorem" and v.status == "holds" for v in j.verdicts)], n)


def _followed_to(held: Sequence[Judgement], n: int) -> str:
    """Say to which times runs were followed in which something holds, and in how many it is predicted to end soon."""
    ends = [judgement.end for judgement in held if judgement.end is not None]
    if not ends:
        return ""
    soon = sum(any(v.soon and v.kind == "theorem" and v.status == "holds" for v in judgement.verdicts) for judgement in held)
    longest = f", the longest to {time_text(max(ends), n)}" if max(ends) > min(ends) else ""
    ending = f"; in {soon} of them a change is predicted soon after" if soon else ""
    return f"runs in which it holds were followed to {time_text(min(ends), n)}{longest}{ending}"


def _decided(n: int, verdicts: Sequence[Verdict], lost: int, size: str, horizon: str = "") -> Verdict:
    """Say of the probability with which a statement holds whether it is at least 1 - 1/k; undecided runs may turn out either way."""
    first = verdicts[0].at(size, n)
    statement = f"with probability at least 1 - 1/{size}, which stands for 1 - O(1/{size}), a convention: {first.statement}"
    holds = sum(verdict.status == "holds" for verdict in verdicts)
    undecided = sum(verdict.status == "inconclusive" for verdict in verdicts) + lost
    runs, bound = len(verdicts) + lost, 1.0 - 1.0 / n
    worst, best = (fraction_at_least(first.name, statement, successes, runs, bound) for successes in (holds, holds + undecided))
    details, status = [f"holds in {worst.detail}"], worst.status
    if undecided:
        status = worst.status if worst.status == best.status else "inconclusive"
        partly = sum(verdict.partly for verdict in verdicts)
        why = f", {partly} of them because an escaped view that is not learned suffices on a part of D" if partly else ""
        details.append(f"{undecided} undecided{why}, counted as failing here")
    return replace(
        worst,
        status=status,
        detail="; ".join([*details, horizon] if horizon else details),
        kind=first.kind,
        number=first.number,
        subject=first.subject,
        part=first.part,
        check=first.check,
        count=Count(holds, runs, "runs", undecided),
    )


def _everywhere(verdicts: Sequence[tuple[int, Verdict]]) -> Verdict:
    """Return the worst of the verdicts at these seeds: one counterexample is enough. That of one seed speaks for itself."""
    seed, worst = min(verdicts, key=lambda of_seed: (STATUSES.index(of_seed[1].status), _margin(of_seed[1])))
    if len(verdicts) == 1:
        return worst
    statuses = [verdict.status for _, verdict in verdicts]
    counted = ", ".join(f"{statuses.count(status)} {status}" for status in STATUSES if status in statuses)
    values = [verdict.measured for _, verdict in verdicts if verdict.measured is not None and math.isfinite(verdict.measured)]
    spread = f"; median {np.median(values):.4g}, range [{min(values):.4g}, {max(values):.4g}]" if values else ""
    prefix = f"the worst of {len(verdicts)} seeds is seed {seed} ({counted}{spread}): "
    return replace(worst, detail=prefix + worst.detail, brief=prefix + worst.brief if worst.brief else "")


def _classes(k: int, verdicts: Sequence[Verdict], lost: int) -> Verdict:
    """Report the fraction of classes over all runs, each as it is at the end of its run.

    Classes of one run share a softmax: the interval is that of `mvsim.numerics.intervals.clustered_interval`. Those of undecided runs are counted as
    they stand, because runs are undecided by what is missing: without them the fraction would be that of the runs in which nothing is.
    """
    first = verdicts[0]
    undecided = sum(verdict.status == "inconclusive" for verdict in verdicts)
    of_runs = [round((v.measured or 0.0) * k) for v in verdicts]
    right, n = sum(of_runs), k * len(verdicts)
    _, low, high = clustered_interval(of_runs, [k] * len(verdicts))
    exceptions, least, most = ((1.0 - fraction) * math.log(k) for fraction in (right / n, high, low))
    detail = f"{right} of {n}, 95% interval [{low:.3f}, {high:.3f}] over runs"
    detail += f"; exceptions times log k: {exceptions:.3g}, interval [{least:.3g}, {most:.3g}]"
    detail += f"; {k * undecided} are of {runs_text(undecided)} not decided, counted as they are at the end" if undecided else ""
    detail += f"; {runs_text(lost)} lost" if lost else ""
    name, statement = f"{first.name}, classes of all runs", f"fraction of classes: {first.statement}"
    fraction = constant(name, statement, right / n, first.bound, above=True, detail=detail)
    return replace(fraction, number=first.number, subject=first.subject, part=first.part, count=Count(right, n, "classes", k * undecided))


def _median(verdicts: Sequence[Verdict]) -> Verdict:
    """Report the median of a constant over seeds, infinite values as they are, its range, and the margin and first violation of the worst."""
    measured = [v for v in verdicts if v.measured is not None and not math.isnan(v.measured)]
    if not measured:
        return replace(verdicts[0], detail=f"nothing was measured at {len(verdicts)} seeds; the first: {verdicts[0].detail}")
    values = sorted(float(v.measured or 0.0) for v in measured)
    low, high = values[(len(values) - 1) // 2], values[len(values) // 2]
    worst = min((v for v in measured if v.margin is not None), key=_margin, default=None)
    left_out = f" (nothing was measured in {len(verdicts) - len(values)} others)" if len(values) < len(verdicts) else ""
    beside = "" if worst is None else "; the margin is that of the worst run"
    return replace(
        measured[0],
        measured=low if low == high else 0.5 * low + 0.5 * high,
        worst=None if worst is None else worst.measured,
        margin=None if worst is None else worst.margin,
        detail=f"median of {runs_text(len(values))}{left_out}, range [{values[0]:.4g}, {values[-1]:.4g}]{beside}",
        violated_at=min((v.violated_at for v in measured if v.violated_at is not None), default=None),
    )


def _least(verdicts: Sequence[Verdict]) -> Verdict:
    """Report the least over the runs of how long a theorem stays true; where it does not hold there is no such time, and that is told."""
    measured = [v for v in verdicts if v.measured is not None and not math.isnan(v.measured)]
    without = len(verdicts) - len(measured)
    least = min(measured, key=lambda v: float(v.measured or 0.0))
    others = f"; {without} of {len(verdicts)} runs have none: {next(v.detail for v in verdicts if v not in measured)}" if without else ""
    return replace(least, detail=f"the least of {runs_text(len(measured))}{others}; in that one {least.detail}")


def _margin(verdict: Verdict) -> float:
    return math.inf if verdict.margin is None else verdict.margin
