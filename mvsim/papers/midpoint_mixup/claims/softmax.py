"""How close softmax outputs are to what the outputs of one or two classes alone would make of them: Claims B.2, B.3, B.9, B.15, B.16."""

from __future__ import annotations

import numpy as np

from mvsim.judging.verdict import Verdict, constant, not_applicable
from mvsim.multi_view import diagnostics
from mvsim.numerics.logarithms import exponential
from mvsim.papers.midpoint_mixup.claims.base import exceeding
from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence, Snapshot
from mvsim.papers.midpoint_mixup.evidence.mixed_points import MixedPoints

SMALL_EXCESS = 1.0
"""What o(1) means in Corollary B.9: one more summand. The bound is ours."""

SIGNIFICANT = 2.0
"""Factor k^|a - b| from which on a - b counts as Omega(1) in Claim B.15: one exponential is twice the other. The bound is ours."""

QUIET = 1.0
"""Constant of log k / k up to which the other outputs on a mixed point count as small, as Claims B.15, B.22 and B.23 suppose. Ours."""


def gap_when_large(evidence: Evidence) -> Verdict:
    """Claim B.2: if g_y(x_i) = a log k with a > 1 for i in N_y, then 1 - phi_y(g(x_i)) = O(1 / k^(a-1)).

    Measured: the largest (1 - phi_y) k^(a-1) over such points of the saved states. (B.3) bounds it by 1: the other k - 1 exponentials add up to
    k - 1 + o(1), and there is room for one more. What the claim supposes, own correlations of order log k and off-diagonal ones of order
    log k / sqrt d, is reported in the detail with its constants.
    """
    name, statement = "Claim B.2", "(1 - phi_y(g(x_i))) k^(a-1) is bounded where g_y(x_i) = a log k, a > 1"
    log_k, labels = evidence.log_k, evidence.data.labels
    times, products, suppositions = [], [], ""
    for snapshot in evidence.snapshots:
        g = evidence.outputs(snapshot)
        own = g[labels, np.arange(len(labels))]
        large = own > log_k
        if large.any():
            times.append(snapshot.time)
            # The gap may be too small for a double where k^(a-1) is too large for one.
            products.append(float(exponential(diagnostics.log_softmax_gap(g, labels)[large] + own[large] - log_k).max()))
            suppositions = _suppositions(evidence, snapshot)
    if not products:
        return constant(name, statement, None, 1.0, detail="g_y(x_i) > log k at no saved state")
    values = np.array(products)
    detail = f"at {len(products)} saved states; at the last {suppositions}"
    return constant(name, statement, float(values.max()), 1.0, detail=detail, violated_at=exceeding(np.array(times), values, 1.0))


def wrong_classes(evidence: Evidence) -> Verdict:
    """Corollary B.3: under the same conditions phi_s(g(x_i)) = O(1 / k^max(a, 1)) for i in N_y and s != y: the largest phi_s k^max(a, 1)."""
    log_k, labels = evidence.log_k, evidence.data.labels
    points, products = np.arange(len(labels)), []
    for snapshot in evidence.snapshots:
        g = evidence.outputs(snapshot)
        own = g[labels, points]
        total = np.logaddexp.reduce(g, axis=0)
        others = g.copy()
        others[labels, points] = -np.inf
        products.append(float(exponential(others.max(axis=0) - total + np.maximum(own, log_k)).max()))
    worst = int(np.argmax(products))
    snapshot = evidence.snapshots[worst]
    detail = f"at t = {snapshot.time:.4g} of {len(products)} saved states; there {_suppositions(evidence, snapshot)}"
    statement = "phi_s(g(x_i)) k^max(a, 1) is bounded for s != y_i, where g_{y_i}(x_i) = a log k"
    return constant("Corollary B.3", statement, products[worst], detail=detail)


def partition_function(evidence: Evidence) -> Verdict:
    """Corollary B.9: sum_{s != y} exp g_s(x_i) = k + o(1) for i in N_y. Measured: its largest distance from k - 1.

    There are k - 1 summands, each of which is 1 at g_s = 0; the k of the paper is k - 1 plus what is not o(1). At the records in between, the
    largest g_s bounds the sum by (k - 1) exp(max g_s).
    """
    labels, k = evidence.data.labels, evidence.parameters.k
    points, excesses = np.arange(len(labels)), []
    for snapshot in evidence.snapshots:
        others = evidence.outputs(snapshot).copy()
        others[labels, points] = -np.inf
        excesses.append(_above_one(others).sum(axis=0).max() + 1.0)  # the own class has contributed -1
    measured, ever = float(max(excesses)), float((k - 1) * _above_one(np.nanmax(evidence.other_output_max)))
    detail = f"at t = {evidence.snapshots[int(np.argmax(excesses))].time:.4g} of {len(excesses)} saved states; at most {ever:.3g} at any record"
    statement = "sum_{s != y} exp g_s(x_i) - (k - 1) is o(1) for i in N_y: its largest value; 1 stands for o(1), a convention"
    return constant("Corollary B.9", statement, measured, SMALL_EXCESS, detail=detail)


def _above_one(outputs: np.ndarray) -> np.ndarray:
    """Return exp(outputs) - 1, infinite where a double cannot hold it."""
    return np.where(outputs < 1.0, np.expm1(np.minimum(outputs, 1.0)), exponential(outputs) - 1.0)


def two_classes(evidence: Evidence) -> Verdict:
    """Claim B.15: on mixed points of classes y != s the sign and size of 1 - 2 phi_y follow from a = g_y / log k and b = g_s / log k.

    It supposes that all other outputs are O(log k / k). With a > 1, 1 - 2 phi_y is

        -Omega(1) if a - b = Omega(1),    +-O(1) with the sign of b - a if a - b = +-o(1),    Theta(1) otherwise.

    Given what is supposed, these cases are an identity of the softmax: with other outputs between 0 and `QUIET` log k / k, and one exponential
    `SIGNIFICANT` times the other, |1 - 2 phi_y| is 0.16 at least whatever the network. What a run can tell is how often that is supposed rightly.
    Measured: the part of the mixed points of two classes whose other outputs are at most `QUIET` log k / k. The detail has the number of points in
    each case, the least |1 - 2 phi_y| in the first and the third with the sign that goes with it, and the largest distance from (B.18) without its
    o(k).
    """
    name, of = "Claim B.15", "the part of mixed points of two classes on which all other outputs are O(log k / k)"
    statement = f"{of}, as is supposed; on these its cases are an identity"
    k, cases, sizes, distance, loud = evidence.parameters.k, np.zeros(3, dtype=int), [np.inf], 0.0, 0
    zeros = np.log(k - 2.0) if k > 2 else -np.inf
    for snapshot in evidence.late_snapshots:
        z = evidence.mixed_points(snapshot)
        quiet = _quiet(evidence, z)
        loud += int((z.crossed & ~quiet).sum())
        ahead = z.own - np.logaddexp(z.other, zeros)
        distance = max(distance, float(np.abs(z.balance + np.tanh(0.5 * ahead))[quiet].max(initial=0.0)))
        above, below = quiet & (ahead >= np.log(SIGNIFICANT)), quiet & (ahead <= -np.log(SIGNIFICANT))
        cases += [int(above.sum()), int((quiet & ~above & ~below).sum()), int(below.sum())]
        sizes += [float(-z.balance[above].max(initial=-np.inf)), float(z.balance[below].min(initial=np.inf))]
    points = int(cases.sum()) + loud
    detail = f"{cases[0]} points with g_y ahead, {cases[1]} close, {cases[2]} behind; {loud} with other outputs beyond {QUIET:g} log k / k"
    if not points:
        return not_applicable(name, statement, detail)
    least = f"; least |1 - 2 phi_y| away from close {min(sizes):.3g}" if np.isfinite(min(sizes)) else ""
    detail += f"{least}; distance from (B.18) {distance:.3g}; {_when(evidence)}"
    return constant(name, statement, int(cases.sum()) / points, above=True, detail=detail)


def third_classes(evidence: Evidence) -> Verdict:
    """Corollary B.16: under the same conditions 1 - 2 phi_u(g(z_ij)) = Theta(1) for every u that is neither y_i nor y_j: the least value."""
    name, statement = "Corollary B.16", "1 - 2 phi_u(g(z_ij)) is bounded from below by a positive constant, u neither y_i nor y_j: its least value"
    mixed = [evidence.mixed_points(snapshot) for snapshot in evidence.late_snapshots]
    quiet = [_quiet(evidence, z) for z in mixed]
    values = np.concatenate([z.others_balance[of] for z, of in zip(mixed, quiet, strict=True)])
    loud = sum(int((z.crossed & ~of).sum()) for z, of in zip(mixed, quiet, strict=True))
    detail = f"{len(values)} points; {loud} with other outputs beyond {QUIET:g} log k / k are left out"
    if not len(values) or evidence.parameters.k == 2:
        return constant(name, statement, None, detail=f"no third class, or no points that it is about: {detail}")
    return constant(name, statement, float(values.min()), 0.0, above=True, detail=f"{detail}; {_when(evidence)}")


def _quiet(evidence: Evidence, z: MixedPoints) -> np.ndarray:
    """Return (n,) bool: the mixed points of two classes on which all other outputs are at most `QUIET` log k / k."""
    return z.crossed & (z.rest_max <= QUIET * evidence.log_k / evidence.parameters.k)


def _suppositions(evidence: Evidence, snapshot: Snapshot) -> str:
    own = float(diagnostics.max_correlation(snapshot.c).max()) / evidence.log_k
    off = float(diagnostics.off_diagonal_correlations(snapshot.c).max()) * evidence.parameters.d**0.5 / evidence.log_k
    return f"own correlations up to {own:.3g} log k, off-diagonal ones up to {off:.3g} log k / sqrt d"


def _when(evidence: Evidence) -> str:
    return "at t = " + ", ".join(f"{snapshot.time:.4g}" for snapshot in evidence.late_snapshots) + evidence.which_pairs
