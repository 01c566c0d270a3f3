"""Outputs of the own class reach log k and stay of that order: Claims B.5 to B.8 (ERM), B.19 and B.20 (mixing)."""

from __future__ import annotations

import numpy as np

from mvsim.judging.number_text import times_text
from mvsim.judging.verdict import Status, Verdict, constant, margin_above
from mvsim.multi_view.diagnostics import correct
from mvsim.papers.midpoint_mixup.claims.base import exceeding, first_records, largest, least, since
from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence, Snapshot
from mvsim.papers.midpoint_mixup.evidence.persistence import FACTOR, lasting_times, too_short, training_status
from mvsim.runs.recording.fresh_draws import is_learned
from mvsim.runs.recording.settling import growth_to_settle


def spread(evidence: Evidence) -> Verdict:
    """Claim B.5: max_{i in N_y} g_y(x_i) = O(min_{i in N_y} g_y(x_i)) while the largest is at least log k and off-diagonals are small.

    The proof compares coefficients, beta_{j,p} >= delta1 beta_{i,p} / (delta2 - delta1), so its constant is (delta2 - delta1) / delta1. In the
    linear regime an activation is beta c - (1 - 1/alpha) rho, and the comparison leaves the second term out: at one k the ratio may exceed
    the constant while outputs are not yet large beside rho.
    """
    p = evidence.parameters
    bound = (p.delta2 - p.delta1) / p.delta1
    ratio = np.where(evidence.own_output_max >= evidence.log_k, _ratio(evidence.own_output_max, evidence.own_output_min), np.nan)
    statement = "max g_y(x_i) / min g_y(x_i) over N_y is bounded while max g_y(x_i) >= log k"
    detail = f"off-diagonal correlations up to {_off_diagonal(evidence).max():.3g} log k / sqrt d"
    return constant("Claim B.5", statement, largest(ratio), bound, detail=detail, violated_at=exceeding(evidence.times, ratio, bound))


def reached(evidence: Evidence) -> Verdict:
    """Claim B.6: for every class max_{i in N_y} g_y(x_i) >= log k from some T_y = O(poly(k)) on: the fraction of classes that have a T_y.

    The detail has the last T_y as a power of k and the largest off-diagonal correlation at T_y, which the claim has of order log k / sqrt d.
    """
    first_reached = first_records(evidence.own_output_max >= evidence.log_k)
    has = (first_reached < len(evidence.times)) & (evidence.class_sizes > 0)
    measured = float(has.sum() / max((evidence.class_sizes > 0).sum(), 1))
    detail = "in none"
    if has.any():
        T_y, off = evidence.times[first_reached[has]], _off_diagonal(evidence)[first_reached[has], np.flatnonzero(has)]
        power = np.log(max(T_y.max(), 1e-300)) / evidence.log_k
        detail = f"last T_y = {T_y.max():.4g} = k^{power:.3g}; off-diagonal correlations up to {off.max():.3g} log k / sqrt d there"
    statement = "every class has a T_y at which max g_y(x_i) over N_y reaches log k: the fraction of classes"
    return constant("Claim B.6 (reached)", statement, measured, 1.0, above=True, detail=detail)


def stays_large(evidence: Evidence) -> Verdict:
    """Claim B.6: min_{i in N_y} g_y(x_i) = Omega(log k) for all t >= T_y: the least over log k."""
    values = np.where(since(evidence.own_output_max >= evidence.log_k), evidence.own_output_min, np.nan) / evidence.log_k
    end = least(values[-1])
    detail = "no class has reached log k" if end is None else f"{end:.3g} at the end"
    statement = "min g_y(x_i) / log k over N_y is bounded from below at t >= T_y"
    return constant("Claim B.6 (afterwards)", statement, least(values), above=True, detail=detail)


def stays_bounded(evidence: Evidence) -> Verdict:
    """Claim B.7: g_y(x_i) = O(log k) for i in N_y at all t = O(poly(k)): the largest g_y(x_i) / log k."""
    values = evidence.own_output_max / evidence.log_k
    detail = f"{np.nanmax(values[-1]):.4g} at the end"
    return constant("Claim B.7 (outputs)", "g_y(x_i) / log k is bounded for i in N_y, at all t", largest(values), detail=detail)


def off_diagonal_stays_small(evidence: Evidence) -> Verdict:
    """Claim B.7: max_{r, s != y, l} <w_{y,r}, v_{s,l}> = O(log k / sqrt d) at all t = O(poly(k))."""
    values = _off_diagonal(evidence)
    detail = f"{values[0].max():.3g} at t = 0, {values[-1].max():.3g} at the end"
    statement = "max_{s != y} <w_{y,r}, v_{s,l}> sqrt(d) / log k is bounded at all t"
    return constant("Claim B.7 (off-diagonal)", statement, float(values.max()), detail=detail)


def training_accuracy(evidence: Evidence) -> Verdict:
    """Corollary B.8: argmax_s g_s(x_i) = y_i for every training point from some time on, without interruption.

    Decided as `mvsim.papers.midpoint_mixup.evidence.persistence.training_status` has it; at the saved states and at the end the accuracy is computed
    again.
    """
    times, accuracy, states = evidence.times, evidence.training_accuracy.copy(), 0
    steps = evidence.run.dataset["step"].to_numpy()
    for snapshot in evidence.snapshots:
        records = np.flatnonzero(steps == snapshot.step)
        if len(records):
            accuracy[records] = correct(evidence.outputs(snapshot), evidence.data.labels).mean()
            states += 1
    right, last = accuracy == 1.0, float(accuracy[-1])
    growth = growth_to_settle(FACTOR, is_learned(evidence.run.dataset["feature_learned"].to_numpy()[-1]))
    outcome = training_status(lasting_times(evidence.run), accuracy, growth)
    status: Status = "contradicted" if outcome == "fails" else outcome
    from_when = int(np.flatnonzero(~right)[-1]) + 1 if not right.all() else 0
    lost = int((right[:-1] & ~right[1:]).sum())
    detail = f"1 from t = {times[from_when]:.4g} to {times[-1]:.4g}" if right[-1] else f"{last:.4g} at t = {times[-1]:.4g}"
    detail += f"; computed again at {states} saved states"
    detail += f"; reached and lost {times_text(lost)} before" if lost else ""
    detail += f"; {too_short(last, growth)}" if status == "inconclusive" else ""
    statement = "argmax_s g_s(x_i) = y_i for all training points from some t on"
    return Verdict("Corollary B.8", status, statement, last, 1.0, margin_above(last, 1.0), detail)


def mixed_spread(evidence: Evidence) -> Verdict:
    """Claim B.19: max g_y(z_ij) = Theta(min g_y(z_ij)) over i in N_y and all j, while the largest is at least log k.

    The constant is twice that of Claim B.5, because features of y add up over both points where j is in N_y, and as there
    the second term of linear activations is left out, which counts right after an escape.
    """
    p = evidence.parameters
    bound, times, ratios = 2.0 * (p.delta2 - p.delta1) / p.delta1, [], []
    for snapshot in evidence.late_snapshots:
        low, high = _mixed_range(evidence, snapshot, crossed_only=False)
        times.append(snapshot.time)
        ratios.append(np.where(high >= evidence.log_k, _ratio(high, low), np.nan))
    values = np.array(ratios)
    statement = "max g_y(z_ij) / min g_y(z_ij) over i in N_y and all j is bounded while max g_y(z_ij) >= log k"
    detail = f"{int((~np.isnan(values)).sum())} cases, each a class at one of {len(times)} saved states{evidence.which_pairs}"
    return constant("Claim B.19", statement, largest(values), bound, detail=detail, violated_at=exceeding(np.array(times), values, bound))


def mixed_outputs(evidence: Evidence) -> Verdict:
    """Claim B.20: min g_y(z_ij) = Omega(log k) over i in N_y and j not in N_y, once the largest has reached log(k - 1): the least over log k."""
    reach, extremes = np.log(max(evidence.parameters.k - 1, 1)), []
    for snapshot in evidence.late_snapshots:
        low, high = _mixed_range(evidence, snapshot, crossed_only=True)
        extremes.append(np.stack([low, high], axis=1))
    ranges = np.array(extremes)
    has_reached = since(ranges[:, :, 1] >= reach)
    statement = "min g_y(z_ij) / log k over i in N_y, j not in N_y is bounded from below once the largest has reached log(k - 1)"
    values = np.where(has_reached, ranges[:, :, 0], np.nan) / evidence.log_k
    at_end = f"{int(has_reached[-1].sum())} of {evidence.parameters.k} classes have reached it at the end"
    detail = f"{at_end}; {len(extremes)} saved states{evidence.which_pairs}"
    return constant("Claim B.20", statement, least(values), above=True, detail=detail)


def _mixed_range(evidence: Evidence, snapshot: Snapshot, crossed_only: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and largest g_y(z_ij) of each class y with i in N_y, (k,) each, NaN for a class without such points."""
    z = evidence.mixed_points(snapshot)
    chosen = z.crossed if crossed_only else slice(None)
    low, high = np.full(evidence.parameters.k, np.nan), np.full(evidence.parameters.k, np.nan)
    np.fmin.at(low, z.y[chosen], z.own[chosen])
    np.fmax.at(high, z.y[chosen], z.own[chosen])
    return low, high


def _off_diagonal(evidence: Evidence) -> np.ndarray:
    """Return (T, k): the largest off-diagonal correlations in units of log k / sqrt d."""
    return evidence.off_diagonal_max * evidence.parameters.d**0.5 / evidence.log_k


def _ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Return above / below, infinite where the denominator is 0 (outputs are never negative)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return above / below
