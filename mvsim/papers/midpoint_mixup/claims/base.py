"""How claims decide about signs, and how records are searched."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mvsim.judging.verdict import Status, Verdict
from mvsim.papers.midpoint_mixup.assumptions import noise
from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence

RESOLVED = 0.1
"""Part of the tolerance of a flow, over the largest correlation of a neuron, to which it resolves those that are not own ones."""

ROUND_OFF = 1e-12
"""The same of gradient descent, which makes no other errors."""


def resolved_to(evidence: Evidence) -> float:
    """Return the part of the largest correlation of a neuron below which another one of a run may have the wrong sign."""
    return RESOLVED * evidence.rtol if evidence.rtol > 0.0 else ROUND_OFF


def signs(violations: tuple[int, int], what: str, verdict: Verdict, unclear: int = 0) -> Verdict:
    """Decide a measured statement about signs, which has no hidden constant: one violation beyond the error of what was measured contradicts it."""
    violated, of = violations
    status: Status = "contradicted" if violated else "inconclusive" if unclear else "holds"
    open_ones = f", {unclear} without a sign within the error" if unclear else ""
    brief = f"violated by {violated} of {of} {what}{open_ones}"
    return replace(verdict, status=status, detail=f"{brief}; {verdict.detail}", brief=brief, gathered="probability")


def noise_then(evidence: Evidence, time: float | None) -> str:
    """Say how far noise was from what the proofs assume when something was first violated; nothing without a time."""
    if time is None:
        return ""
    record = min(int(np.searchsorted(evidence.times, time)), len(evidence.times) - 1)
    return f"; V Q delta4 max c / rho was {noise(evidence)[record]:.3g} there, assumed << 1"


def first_time(times: np.ndarray, condition: np.ndarray) -> float | None:
    """Return the first of times (T,) at which condition (T,) is true, None if it never is."""
    return float(times[condition.argmax()]) if condition.any() else None


def first_records(condition: np.ndarray) -> np.ndarray:
    """Return (k,): the first record t at which condition (T, k) is true, T if it never is."""
    return np.where(condition.any(axis=0), condition.argmax(axis=0), len(condition))


def since(condition: np.ndarray) -> np.ndarray:
    """Return (T, k) bool: condition (T, k) is or has been true."""
    return np.logical_or.accumulate(condition, axis=0)


def largest(values: np.ndarray) -> float | None:
    """Return the largest value, NaN left out, None if there is none."""
    known = values[~np.isnan(values)]
    return float(known.max()) if known.size else None


def least(values: np.ndarray) -> float | None:
    """Return the least value, NaN left out, None if there is none."""
    known = values[~np.isnan(values)]
    return float(known.min()) if known.size else None


def exceeding(times: np.ndarray, values: np.ndarray, bound: float) -> float | None:
    """Return the first of times (T,) at which any of values (T, ...) is above bound; NaN is not."""
    with np.errstate(invalid="ignore"):
        return first_time(times, np.any(values.reshape(len(times), -1) > bound, axis=1))
