"""Correlations with own features only grow, stay of order log k, and end there for both views: Claims B.26 to B.28 (mixing)."""

from __future__ import annotations

import numpy as np

from mvsim.judging.verdict import Verdict, constant, not_applicable
from mvsim.multi_view.diagnostics import own_correlations
from mvsim.papers.midpoint_mixup.claims.base import exceeding, first_time, noise_then, signs, since
from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence

FALL, OF_ROUNDING = 10.0, 1e-9
"""Relative fall of an own correlation that is more than its error: of a flow in units of its tolerance, to which each step resolves it, and of
gradient descent."""

ROUNDING = 1e-12
"""Part of the largest gradient correlation below which the sign of another one is rounding."""


def monotone(evidence: Evidence) -> Verdict:
    """Corollary B.26: <-grad_{w_{y,r}} J, v_{y,l}> >= 0, so that the own correlations of neurons in B_{y,l} never fall.

    The texts that were at hand do not have the formula; the sign is inferred from Claim B.25, and that it is about B_{y,l} from the proof of B.27. A
    correlation that has entered B_{y,l} and falls later by more than `FALL` tolerances, between any two records, contradicts it. Measured: the
    largest of these falls,

        max_t 1 - c(t) / max_{t_B <= s <= t} c(s),      t_B the first record in B_{y,l}.

    The sign of the gradient itself, at the saved states, is in the detail, of these neurons and of all: it decides nothing, since at a state where
    nothing moves it is the error of the run, and on neurons with c <= 0 the own feature does not act.
    """
    name, statement = "Corollary B.26", "own correlations in B_{y,l} never fall (our reading: formula missing)"
    own, states, allowed = evidence.own, evidence.snapshots, FALL * evidence.rtol or OF_ROUNDING
    inside = since(own >= evidence.threshold)  # (T, k, m, V)
    entered = inside[-1]
    if not entered.any():
        return not_applicable(name, statement, "no neuron enters B_(y,l)", allowed)
    highest = np.maximum.accumulate(np.where(inside, own, -np.inf), axis=0)
    with np.errstate(invalid="ignore"):
        fall = np.where(inside, 1.0 - own / highest, 0.0)
    falls = np.asarray((fall > allowed).any(axis=0))
    pulls = np.stack([-own_correlations(evidence.gradient(state)) for state in states])
    negative = (pulls < -ROUNDING * np.abs(pulls).max(axis=(1, 2, 3), keepdims=True)).any(axis=0)
    detail = (
        f"in B_(y,l), in {int(falls.any(axis=(1, 2)).sum())} classes; the gradient is negative, at some of {len(states)} saved states, along "
        f"{int((negative & entered).sum())} of them and {int(negative.sum())} of all {negative.size}; measured: the largest relative fall"
    )
    broken = exceeding(evidence.times, fall, allowed)
    measured = constant(name, statement, float(fall.max()), allowed, detail=detail + noise_then(evidence, broken), violated_at=broken)
    return signs((int(falls.sum()), int(entered.sum())), "own correlations", measured)


def bounded_total(evidence: Evidence) -> Verdict:
    """Claim B.27: max_y C_{y,1} = O(log k) at all t = O(poly(k)): the largest C_{y,l} / log k."""
    values = evidence.total / evidence.log_k
    detail = f"{values[-1].max():.4g} at the end"
    return constant("Claim B.27", "C_{y,l} / log k is bounded at all t", float(values.max()), detail=detail)


def both_views(evidence: Evidence) -> Verdict:
    """Claim B.28: both C_{y,1} and C_{y,2} become Omega(log k): the least final C_{y,l} / log k, next to 1 / (C_P delta2).

    If both views of a class have C_{y,l} = log k / (C_P delta2), its linear part gives on every point
    g_y(x_i) = beta_i C_{y,1} + (C_P delta2 - beta_i) C_{y,2} = log k: that is where 1 - phi_y begins to fall (Claim B.2). A run that has not settled
    and in which some C_{y,l} is less does not tell what they become.
    """
    p = evidence.parameters
    bound, values = 1.0 / (p.C_P * p.delta2), evidence.total[-1] / evidence.log_k
    name, statement = "Claim B.28 (final)", "C_{y,l} / log k is bounded from below at the end"
    detail = f"{int((values >= bound).sum())} of {values.size} views beyond it; largest {values.max():.4g}"
    if values.min() < bound and not evidence.run.settled:
        return not_applicable(name, statement, f"the run has not settled: so far {detail}", bound)
    return constant(name, statement, float(values.min()), bound, above=True, detail=detail)


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
