"""Own correlations grow faster than off-diagonal ones: Claims B.4 (ERM), B.17 and B.18 (mixing).

T_A is the first record at which the largest own correlation of a class is at least A = rho / (delta2 - delta1), the end of the polynomial part.
"""

from __future__ import annotations

import numpy as np

from mvsim.judging.verdict import Verdict, constant, not_applicable
from mvsim.multi_view.diagnostics import off_diagonal_correlations
from mvsim.papers.midpoint_mixup.claims.base import first_records, largest, noise_then, resolved_to, signs, since
from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence


def off_diagonal_at_escape(evidence: Evidence) -> Verdict:
    """Claim B.4: max_{r,s,l} <w_{y,r}, v_{s,l}>(T_A) = O(log k / sqrt d): the largest over the classes."""
    name, statement = "Claim B.4 (off-diagonal)", "max_{s != y} <w_{y,r}, v_{s,l}>(T_A) sqrt(d) / log k is bounded"
    scaled = _at_escape(evidence, evidence.off_diagonal_max) * evidence.parameters.d**0.5 / evidence.log_k
    start = float(evidence.off_diagonal_max[0].max()) * evidence.parameters.d**0.5 / evidence.log_k
    return constant(name, statement, largest(scaled), detail=f"{_reached(evidence)}; {start:.3g} at t = 0")


def escape_time_scale(evidence: Evidence) -> Verdict:
    """Claims B.4 and B.17: T_A = O(poly(k)). Measured: the largest T_A over the time predicted from the initial state.

    The proofs integrate c' = K (c / rho)^(alpha - 1) from c(0) with K within a constant of S_{y,l} ((B.6), (B.21)), so a time of the order of
    T = (rho / K) (rho / c(0))^(alpha - 2) / (alpha - 2) is what they give (`mvsim.runs.recording.entries.predicted_escape_times`, which ends at the
    threshold of B_{y,l} and has alpha <= 2 as well); T_A / T is free of units.
    """
    name, statement = "Claim B.4 (T_A)", "T_A over the time that the tensor power method predicts is bounded"
    if evidence.mixes:
        name = "Claim B.17 (T_A)"
    reached = first_records(_leaders(evidence) >= evidence.poly_end)
    times = np.append(evidence.times, np.nan)[reached]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = times / evidence.predicted_entry_time.min(axis=1)
    last = largest(times)
    as_power = "" if last is None or last <= 0.0 else f"; the last T_A = {last:.4g} = k^{np.log(last) / evidence.log_k:.3g}"
    return constant(name, statement, largest(np.where(np.isfinite(ratio), ratio, np.nan)), detail=_reached(evidence) + as_power)


def lag_at_escape(evidence: Evidence) -> Verdict:
    """Claim B.17: <w_{y,r}, v_{s,l}>(T_A) = O(max_l' <w_{y,r}, v_{y,l'}>(T_A) / k) for every neuron.

    Measured: the largest k times the ratio, each side the largest over r and l. The proof gives no constant, so there is no bound. The detail has the
    ratio neuron by neuron, as the text has it, at the first saved state from T_A on, over the neurons with a positive own correlation.
    """
    name, statement = "Claim B.17 (off-diagonal)", "k max_{s != y} <w_{y,r}, v_{s,l}> / max <w_{y,r}, v_{y,l}> at T_A is bounded"
    lag = evidence.parameters.k * evidence.off_diagonal_max / _leaders(evidence)
    detail = f"{_reached(evidence)}; {lag[0].max():.3g} at t = 0; {_by_neuron(evidence)}"
    return constant(name, statement, largest(_at_escape(evidence, lag)), detail=detail)


def _by_neuron(evidence: Evidence) -> str:
    ratios, without = [], 0
    for y, escape in enumerate(_escapes(evidence)):
        later = [snapshot for snapshot in evidence.snapshots if snapshot.time >= escape]
        if not later:
            continue
        c = later[0].c[y]
        own, off = c[:, y].max(axis=1), np.delete(c, y, axis=1).max(axis=(1, 2), initial=-np.inf)
        ratios += (evidence.parameters.k * off[own > 0.0] / own[own > 0.0]).tolist()
        without += int((own <= 0.0).sum())
    if not ratios:
        return "no saved state with neurons to compare"
    return f"of single neurons median {np.median(ratios):.3g}, largest {max(ratios):.3g}, {without} without a positive own correlation"


def positive_to_escape(evidence: Evidence) -> Verdict:
    """Claim B.17: off-diagonal correlations that are positive at the start fall by no more than polylog(k) up to T_A; so they are positive there."""
    return _positivity(evidence, "Claim B.17 (positivity)", "up to T_A of its class", _escapes(evidence))


def still_positive(evidence: Evidence) -> Verdict:
    """Corollary B.18: <w_{y,r}, v_{s,l}>(0) > 0 implies <w_{y,r}, v_{s,l}>(t) > 0, s != y, at all later times."""
    return _positivity(evidence, "Corollary B.18 (positivity)", "at all t", np.full(evidence.parameters.k, np.inf))


def _positivity(evidence: Evidence, name: str, when: str, until: np.ndarray) -> Verdict:
    """Count the correlations that are positive at the start and negative beyond the error of the run at a saved state, up to times ``until`` (k,).

    One that is below 0 within that error has no sign: it does not count as positive, and leaves the statement open. One that is above 0, as it was at
    the start, counts as positive, however little that is.
    """
    statement = f"<w_(y,r), v_(s,l)>(0) > 0 implies <w_(y,r), v_(s,l)>(t) > 0 {when}, s != y"
    start = off_diagonal_correlations(evidence.snapshots[0].c)
    positive = start > 0.0
    if not positive.any():
        return not_applicable(name, statement, "none is positive at the start", 1.0)
    turned, unclear, least, broken = np.zeros_like(positive), np.zeros_like(positive), 1.0, None
    for snapshot in evidence.snapshots:
        counted = positive & (snapshot.time <= until)[:, None, None, None]
        now = off_diagonal_correlations(snapshot.c)
        error = resolved_to(evidence) * np.abs(snapshot.c).max(axis=(2, 3))[:, :, None, None]
        wrong = counted & (now < -error)
        broken = snapshot.time if broken is None and wrong.any() else broken
        least = min(least, float((now[counted] / start[counted]).min(initial=1.0)))
        turned |= wrong
        unclear |= counted & (now <= 0.0) & ~wrong
    n, of, open_ones = int(turned.sum()), int(positive.sum()), int((unclear & ~turned).sum())
    neurons = np.any(turned, axis=(2, 3))
    detail = f"{int(neurons.sum())} neurons of {int(neurons.any(axis=1).sum())} classes; least ratio to the start {least:.3g}; at the saved states"
    detail += f"; measured: the fraction that stays positive{noise_then(evidence, broken)}"
    measured = constant(name, statement, 1.0 - (n + open_ones) / of, 1.0, above=True, detail=detail, violated_at=broken)
    return signs((n, of), "off-diagonal correlations", measured, open_ones)


def lag_after_escape(evidence: Evidence) -> Verdict:
    """Corollary B.18: the same ratio as in Claim B.17 at all t >= T_A; without a bound, as there."""
    name, statement = "Corollary B.18 (off-diagonal)", "k max_{s != y} <w_{y,r}, v_{s,l}> / max <w_{y,r}, v_{y,l}> is bounded at all t >= T_A"
    leaders = _leaders(evidence)
    lag = np.where(since(leaders >= evidence.poly_end), evidence.parameters.k * evidence.off_diagonal_max / leaders, np.nan)
    end = largest(lag[-1])
    return constant(name, statement, largest(lag), detail=f"{_reached(evidence)}" + ("" if end is None else f"; {end:.3g} at the end"))


def _leaders(evidence: Evidence) -> np.ndarray:
    """Return (T, k): max_{r,l} <w_{y,r}, v_{y,l}>."""
    return evidence.max_correlation.max(axis=2)


def _escapes(evidence: Evidence) -> np.ndarray:
    """Return (k,): T_A of each class, infinite if it has none."""
    return np.append(evidence.times, np.inf)[first_records(_leaders(evidence) >= evidence.poly_end)]


def _at_escape(evidence: Evidence, values: np.ndarray) -> np.ndarray:
    """Return (k,): values (T, k) at T_A, NaN for classes without one."""
    reached = first_records(_leaders(evidence) >= evidence.poly_end)
    return np.vstack([values, np.full(values.shape[1], np.nan)])[reached, np.arange(values.shape[1])]


def _reached(evidence: Evidence) -> str:
    count = int((_leaders(evidence) >= evidence.poly_end).any(axis=0).sum())
    return f"{count} of {evidence.parameters.k} classes have reached A"
