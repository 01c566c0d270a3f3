"""The clock of a run of the gradient flow: the time that dormant correlations take to grow ties it to the parameters of the run.

The first growth does so at the start, and the growth between saved states later.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from mvsim.judging.verdict import Verdict, at_most, not_applicable
from mvsim.multi_view.diagnostics import own_correlations
from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence, Snapshot

EARLY = 0.05
"""Part of the way to its escape, in time, by which the first growth is measured."""

CLOCK = 1.1
"""Factor within which the first growth takes the recorded time."""

GROWN, STEADY, LATER_CLOCK = 0.02, 1.25, 1.5
"""Least part of its growth that a dormant correlation has behind it between two saved states, factor within which its K is the same at both, and
factor within which the time between them is what its growth takes."""

FEW = 1
"""Escapes of views between two saved states up to which they are compared: K changes as other views escape, with two to three times and back."""

FARTHEST = 100.0
"""Factor by which time may grow between two saved states that are compared: over 500, K was the same at both ends and 5.6 times lower in between."""


def first_growth(evidence: Evidence) -> Verdict:
    """Compare the clock of the run with the growth of the fastest correlation, whose speed at the start is that of the gradient.

    An own correlation that grows as c' = K c^(alpha - 1) with constant K takes, from c(0) to x c(0), the time

        t = (c(0) / c'(0)) (1 - x^-(alpha - 2)) / (alpha - 2)          (ln x in place of the fraction for alpha = 2).

    Compared is, for the correlation with the largest c'(0) / c(0), the record by which a part of its growth, nearest to `EARLY`, is over; c'(0) is
    minus the gradient at the first saved state. The two times agree up to what changes K meanwhile: within a factor of `CLOCK`.
    """
    name, statement = "Gradient flow (first growth)", "recorded time over that of the first growth at the speed of the gradient, or its inverse"
    power = evidence.parameters.alpha - 2.0
    start, speed = evidence.own[0], -own_correlations(evidence.gradient(evidence.snapshots[0]))
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = np.where(start > 0.0, speed / start, -np.inf)
        fastest = np.unravel_index(int(np.argmax(rates)), rates.shape)
        grown = np.log(np.array([own[fastest] for own in evidence.own]) / start[fastest])
        over = grown if power == 0.0 else -np.expm1(-power * grown) / power
    early = np.flatnonzero((over > 0.0) & (over * max(abs(power), 1.0) < 8.0 * EARLY))
    if not rates[fastest] > 0.0 or not len(early):
        return not_applicable(name, statement, "no record lies in the first growth of a correlation")
    record = int(early[np.argmin(np.abs(over[early] * max(abs(power), 1.0) - EARLY))])
    ratio = float(evidence.times[record] * rates[fastest] / over[record])
    detail = f"{ratio:.4g} at t = {evidence.times[record]:.4g}"
    return at_most(name, statement, max(ratio, 1.0 / ratio) if ratio > 0.0 else float("inf"), CLOCK, detail)


def growth_between(evidence: Evidence) -> Verdict:
    """Compare the clock of the run with the growth of dormant correlations from one saved state to the next.

    With K = c' / c^(alpha - 1) at both states, c' from the gradients there, the growth from c to C takes a time between those that it takes with
    either K constant, (c / c') (1 - (c / C)^(alpha - 2)) / (alpha - 2), if K is monotone. A clock that has been cut or stretched in between is wrong
    for every neuron, while a single K can rise and fall as another view escapes. So of each stretch the least factor counts by which the recorded
    time lies outside these two, over own correlations that are dormant at both states, have `GROWN` of their growth behind them and the same K
    within a factor of `STEADY`. Stretches without any, in which time grows by more than `FARTHEST`, or in which more than `FEW` views escape, are not
    looked at; the detail counts the others.
    """
    name = "Gradient flow (growth between saved states)"
    statement = "recorded time between two saved states over that of the growth of dormant correlations, or its inverse: the largest factor"
    snapshots = evidence.snapshots
    factors = [(clock_factor(evidence, start, end), end.time) for start, end in pairwise(snapshots)]
    known = [(factor, time) for factor, time in factors if factor is not None]
    if not known:
        return not_applicable(name, statement, f"no dormant correlation grows enough between two of {len(snapshots)} saved states")
    worst, time = max(known)
    beyond = [time for factor, time in known if not factor <= LATER_CLOCK]
    detail = f"{len(known)} of {len(factors)} stretches between saved states; largest in the one that ends at t = {time:.4g}"
    return at_most(name, statement, worst, LATER_CLOCK, detail, min(beyond) if beyond else None)


def clock_factor(evidence: Evidence, start: Snapshot, end: Snapshot) -> float | None:
    """Return the factor of `growth_between` for one stretch, 1 or more; None if no correlation tells it."""
    power, dormant = evidence.parameters.alpha - 2.0, 0.5 * evidence.objective.escapes_at
    before, after = own_correlations(start.c), own_correlations(end.c)
    speeds = [-own_correlations(evidence.gradient(snapshot)) for snapshot in (start, end)]
    growing = (before > 0.0) & (after > before) & (after < dormant) & (speeds[0] > 0.0) & (speeds[1] > 0.0)
    between = int(((evidence.entry_time > start.time) & (evidence.entry_time <= end.time)).sum())
    if not growing.any() or not power > 0.0 or end.time > FARTHEST * start.time > 0.0 or between > FEW:
        return None
    c, C = before[growing], after[growing]
    over = -np.expm1(-power * np.log(C / c)) / power
    rates = np.stack([speeds[0][growing] / c, speeds[1][growing] / C * (c / C) ** power])
    usable = (over * power >= GROWN) & (rates.max(axis=0) <= STEADY * rates.min(axis=0))
    if not usable.any():
        return None
    with np.errstate(divide="ignore"):
        times = (end.time - start.time) * rates[:, usable] / over[usable]
        return float(np.maximum(np.maximum(times.min(axis=0), 1.0 / times.max(axis=0)), 1.0).min())


OF_CLOCK: tuple[Callable[[Evidence], Verdict], ...] = (first_growth, growth_between)
