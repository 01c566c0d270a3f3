"""Numbers of verdicts as text: measured numbers, margins, times, counts."""

from __future__ import annotations

import math

from mvsim.judging.verdict import Verdict

BEYOND = "no contradiction, the paper leaves the constant open"
"""Of a number that is measured beyond its bound, of which the proof fixes only the order."""

OF_SIGN = "wrong sign, undecided since its error is not estimated"
"""Of one that the paper has above 0, or below: there the bound is 0, and no constant mends it."""


def number_text(value: float | None) -> str:
    """Return a measured number, or a bound, for a table."""
    return "" if value is None else f"{value:.4g}"


def margin_text(verdict: Verdict) -> str:
    """Return how far inside the bound what was measured lies, in per cent of the bound; as a number where the bound is 0."""
    if verdict.margin is None:
        return ""
    percent = 100.0 * verdict.margin
    if verdict.bound == 0.0:
        return f"{verdict.margin:+.2g}"
    return f"{percent:+.0f}%" if abs(percent) >= 0.5 or percent == 0.0 else f"{percent:+.1g}%"


def short_margin(verdict: Verdict) -> str:
    """Return the margin where it says something: not at 0, from 100 % on, and beside a bound of 0."""
    if verdict.margin is None or not verdict.bound or not 0.005 <= abs(verdict.margin) < 0.995:
        return ""
    return margin_text(verdict)


def is_beyond(verdict: Verdict) -> bool:
    """Whether a verdict only measures and lies beyond the constant of a proof: it is neither contradicted nor confirmed."""
    return verdict.status == "measured" and verdict.margin is not None and verdict.margin < 0.0


def beyond_text(verdict: Verdict) -> str:
    """Say of a number that `is_beyond` why nothing is contradicted."""
    return BEYOND if verdict.bound else OF_SIGN


def status_text(verdict: Verdict) -> str:
    """Return the status in words."""
    return "measured, beyond the bound" if is_beyond(verdict) else verdict.status


def side_text(verdict: Verdict) -> str:
    """Return a number that lies beyond the constant of a proof, and the constant: "31 > 1"; of several runs that of the worst, beside the median."""
    value = verdict.measured if verdict.worst is None else verdict.worst
    if value is None or verdict.bound is None:
        return ""
    beyond, bound = distinguished(value, verdict.bound)
    median = "" if verdict.worst is None else f" in the worst run (median {number_text(verdict.measured)})"
    return f"{beyond} {'>' if value > verdict.bound else '<'} {bound}{median}"


def distinguished(a: float, b: float) -> tuple[str, str]:
    """Return two numbers with three digits, or with as many as tell them apart."""
    texts = ((f"{a:.{digits}g}", f"{b:.{digits}g}") for digits in (3, 5, 8, 12, 17))
    return next((pair for pair in texts if pair[0] != pair[1]), (f"{a:.3g}", f"{b:.3g}"))


def runs_text(count: int) -> str:
    """Return a number of runs: "1 run", "5 runs"."""
    return "1 run" if count == 1 else f"{count} runs"


def times_text(count: int) -> str:
    """Return how often something was: "once", "2 times"."""
    return "once" if count == 1 else f"{count} times"


def fold_text(factor: float) -> str:
    """Return by how much something grows: "3.16-fold", "10,000-fold"."""
    return f"{factor:,.0f}-fold" if factor >= 100.0 else f"{factor:.3g}-fold"


def time_text(time: float, k: int) -> str:
    """Return a time, beyond 1 with the power of k that it is: "t = 1e+06 = k^6"."""
    return f"t = {time:.4g}" + (f" = k^{math.log(time) / math.log(k):.3g}" if time > 1.0 else "")
