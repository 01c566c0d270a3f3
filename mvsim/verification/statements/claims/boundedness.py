"""Correlations with own features only grow, stay of order log k, and end there for both views: Claims B.26 to B.28 (mixing)."""

from __future__ import annotations

import numpy as np

from mvsim.diagnostics import own_correlations
from mvsim.verification.evidence.evidence import Evidence
from mvsim.verification.statements.claims.base import exceeding, first_time, signs
from mvsim.verification.verdict import Verdict, constant

ROUNDING = 1e-12
"""Part of the largest gradient correlation below which the sign of another one is rounding."""


def monotone(evidence: Evidence) -> Verdict:
    """Corollary B.26: <-grad_{w_{y,r}} J, v_{y,l}> >= 0 for all y, r, l and t, so own correlations never fall.

    The display is lost in the texts that were at hand; the sign is inferred from Claim B.25 and from what the proof of B.27 uses. It is looked at
    at all saved states: one gradient correlation below 0, by more than `ROUNDING`, contradicts it. Measured: the largest fall of an own correlation
    between any two records below its largest value so far, over its largest size so far. The detail has the same of neurons that have entered
    B_{y,l}, and how many of the negative ones are of neurons with c <= 0, on which the own feature does not act.
    """
    own, states = evidence.own, evidence.snapshots
    fall = np.maximum.accumulate(own, axis=0) - own
    size = np.maximum.accumulate(np.abs(own), axis=0)
    worst = np.where(size > 0.0, fall / np.where(size > 0.0, size, 1.0), 0.0).max(axis=0)  # (k, m, V)
    entered = own.max(axis=0) >= evidence.threshold
    pulls = np.stack([-own_correlations(evidence.gradient(state)) for state in states])
    negative = pulls < -ROUNDING * np.abs(pulls).max(axis=(1, 2, 3), keepdims=True)
    above = negative & np.stack([own_correlations(state.c) > 0.0 for state in states])
    ever, times = negative.any(axis=0), np.array([state.time for state in states])
    detail = f"in {int(ever.any(axis=(1, 2)).sum())} classes at some of {len(states)} saved states; "
    detail += f"{int(above.any(axis=0).sum())} of the correlations are above 0 there"
    detail += f"; of those that enter B_(y,l) {int((ever & entered).sum())} of {int(entered.sum())}"
    detail += f", whose correlations fall by {worst[entered].max(initial=0.0):.3g} at most"
    detail += f"; at the end {int(negative[-1].sum())} gradient correlations are negative"
    detail += "; measured: the largest relative fall of an own correlation"
    statement = "<-grad J, v_{y,l}> >= 0 (the sign is inferred, the display is lost)"
    broken = exceeding(times, negative.astype(np.float64), 0.5)
    measured = constant("Claim B.26", statement, float(worst.max()), detail=detail, violated_at=broken)
    return signs((int(ever.sum()), ever.size), "own correlations", measured)


def bounded_total(evidence: Evidence) -> Verdict:
    """Claim B.27: max_y C_{y,1} = O(log k) at all t = O(poly(k)): the largest C_{y,l} / log k."""
    values = evidence.total / evidence.log_k
    detail = f"{values[-1].max():.4g} at the end"
    return constant("Claim B.27", "C_{y,l} / log k is bounded at all t", float(values.max()), detail=detail)


def both_views(evidence: Evidence) -> Verdict:
    """Claim B.28: both C_{y,1} and C_{y,2} become Omega(log k): the least final C_{y,l} / log k, next to 1 / (C_P delta2).

    If both views of a class have C_{y,l} = log k / (C_P delta2), its linear part gives on every point
    g_y(x_i) = beta_i C_{y,1} + (C_P delta2 - beta_i) C_{y,2} = log k: that is where 1 - phi_y begins to fall (Claim B.2).
    """
    p = evidence.parameters
    bound, values = 1.0 / (p.C_P * p.delta2), evidence.total[-1] / evidence.log_k
    detail = f"{int((values >= bound).sum())} of {values.size} views beyond it; largest {values.max():.4g}"
    return constant("Claim B.28 (final)", "C_{y,l} / log k is bounded from below at the end", float(values.min()), bound, above=True, detail=detail)


def both_views_time(evidence: Evidence) -> Verdict:
    """Claim B.28: it takes O(poly(k)) steps: the power of k that is the first time from which on every C_{y,l} is at least log k / (C_P delta2)."""
    p = evidence.parameters
    enough = np.all(evidence.total >= evidence.log_k / (p.C_P * p.delta2), axis=(1, 2))
    from_then_on = np.logical_and.accumulate(enough[::-1])[::-1]
    start = first_time(evidence.times, from_then_on)
    name, statement = "Claim B.28 (time)", "log_k of the time from which on every C_{y,l} >= log k / (C_P delta2)"
    if start is None or start <= 0.0:
        return constant(name, statement, None, detail="not at the end of the run" if start is None else "from the start")
    return constant(name, statement, float(np.log(start) / evidence.log_k), detail=f"t = {start:.4g}")
