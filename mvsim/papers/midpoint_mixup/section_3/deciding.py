"""Decisions about numbers that are 0 or not, where round-off or sampling leaves a little."""

from __future__ import annotations

from mvsim.judging.verdict import Status, Verdict, margin_above, margin_below


def positive(part: str, statement: str, measured: float, least: float, detail: str) -> Verdict:
    """Decide measured > 0; up to ``least`` it counts as 0. NaN fails."""
    status: Status = "holds" if measured > least else "fails"
    return Verdict(part, status, statement, measured, 0.0, margin_above(measured, 0.0), f"{detail}; up to {least:g} counts as 0")


def vanishing(part: str, statement: str, measured: float, least: float, detail: str) -> Verdict:
    """Decide measured = 0 for a number that is not negative but for round-off; up to ``least`` it counts as 0. NaN fails."""
    status: Status = "holds" if abs(measured) <= least else "fails"
    return Verdict(part, status, statement, measured, 0.0, margin_below(abs(measured), 0.0), f"{detail}; up to {least:g} counts as 0")
