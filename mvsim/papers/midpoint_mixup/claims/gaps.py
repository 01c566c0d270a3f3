"""Midpoints correct the gap between the views of a class: Claims B.21 to B.25.

View 1 of the proofs is here the view with the larger C_{y,l} of its class, ``lead``; Delta_y = C_{y,1} - C_{y,2}. The sum of the coefficients of the
leading view in x_i is beta_i, and those of the other view add up to C_P delta2 - beta_i.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mvsim.judging.verdict import Verdict, constant, not_applicable
from mvsim.multi_view.diagnostics import active_neurons, own_correlations
from mvsim.numerics.logarithms import exponential, logarithm
from mvsim.papers.midpoint_mixup.claims.base import exceeding, signs
from mvsim.papers.midpoint_mixup.claims.softmax import QUIET
from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence, Snapshot
from mvsim.papers.midpoint_mixup.evidence.mixed_points import MixedPoints

MOST_CLASSES = 8
"""Classes at most, at each saved state, whose pairs are evaluated one by one."""

LEAST_MEASURE = 0.01
"""Probability of the set U of Claim B.22."""

SHORT = 1e-3
"""The step of Claim B.25, in units of the least time on which the gradient changes."""

LEVEL = 0.001
"""Probability with which a mean over training points that is 0 is taken for one with a sign, by the t distribution of its standard errors: of each
mean where it is to be negative; of all of them together where one that is positive contradicts."""


class Gaps(NamedTuple):
    """What Claim B.22 supposes, class by class, at one saved state."""

    lead: np.ndarray  # (k,) the view with the larger C_{y,l}
    Delta: np.ndarray  # (k,)
    # (k, k) [y, s] probability that (beta_y, beta_s) lie in the set of (B.33), from the training points; 0 for s = y and classes without points
    measure: np.ndarray

    def supposed(self, log_k: float) -> np.ndarray:
        """(k, k) bool [y, s]: Delta_y >= log k and the set U has probability 0.01."""
        return (self.Delta >= log_k)[:, None] & (self.measure >= LEAST_MEASURE)


def gaps(evidence: Evidence, snapshot: Snapshot) -> Gaps:
    """Return the gaps and the measure of the set of (B.33).

    U is the set of (a, b), a = beta_y - C_P delta2 / 2 >= 0 and b = beta_s - C_P delta2 / 2, with

        b Delta_s - C_P delta2 D_{y,s} / 2 <= a Delta_y,    D_{y,s} = (C_{y,1} + C_{y,2}) - (C_{s,1} + C_{s,2}):

    class y has then the larger output on midpoints of the two. Coordinates in (B.33) are centred already, as (B.38) and (B.39) use it; read
    literally, C_P delta2 / 2 would be taken off twice.
    """
    p, labels = evidence.parameters, evidence.data.labels
    C = evidence.total_at(snapshot)
    lead, Delta, both = C.argmax(axis=1), np.abs(C[:, 0] - C[:, 1]), C.sum(axis=1)
    centred = leading_coefficients(evidence, lead).sum(axis=1) - 0.5 * p.C_P * p.delta2
    counts, measure = evidence.class_sizes, np.zeros((p.k, p.k))
    for y in np.flatnonzero(counts):
        a = centred[labels == y][:, None]
        inside = (a >= 0.0) & (centred * Delta[labels] - 0.5 * p.C_P * p.delta2 * (both[y] - both[labels]) <= a * Delta[y])
        measure[y] = np.bincount(labels, weights=inside.sum(axis=0), minlength=p.k) / np.maximum(counts * counts[y], 1)
        measure[y, y] = 0.0
    return Gaps(lead, Delta, measure)


def leading_coefficients(evidence: Evidence, lead: np.ndarray) -> np.ndarray:
    """Return (N, C_P): the coefficients of the leading view of its class in the patches of every point."""
    by_view = []
    for view in (0, 1):
        coefficients = evidence.data.own_coefficients(view)
        # Data without structure list a coefficient for every patch, mostly zeros.
        patches = np.argsort(coefficients == 0.0, axis=1, kind="stable")[:, : evidence.parameters.C_P]
        by_view.append(np.take_along_axis(coefficients, patches, axis=1))
    return np.where((lead[evidence.data.labels] == 0)[:, None], by_view[0], by_view[1])


def linear_difference(evidence: Evidence) -> Verdict:
    """Claim B.21: what moves the two views of a class apart in the linear regime.

    For r1 in B_{y,1}, r2 in B_{y,2}

        Psi = <-grad_{w_{y,r1}} J, v_{y,1}> - <-grad_{w_{y,r2}} J, v_{y,2}>
            <= (1/N^2) sum_{i in N_y, j not in N_y} A_1(z_ij) (beta_i - C_P delta2 / 2)
             + (2/N^2) sum_{i, j in N_y}            A_2(z_ij) (beta_i - C_P delta2 / 2) + O(P delta4^alpha (log k)^(alpha-1)),

    which is (B.32) with a 2 that it lacks: both points of a pair of one class bring its features. Without noise the two sides are equal.
    Measured: the largest Psi minus the two sums, over the larger of their sizes, for the largest Psi of each class; it should be small. The sums over
    training points stand for expectations, from which they differ by N^(-1/2), so the detail has it in these units, too. The paper's error term
    leaves out a factor rho^(1-alpha), and noise of j that lies on a signal of i: that is of order delta4 A_1 / k^2, not delta4^alpha. The detail has
    the constant with the factor.
    """
    name, statement = "Claim B.21", "(Psi - its expectation form) / max(|Psi|, |form|) is small, for r1 in B_{y,1}, r2 in B_{y,2}: the largest"
    p = evidence.parameters
    pulls, left = [], 0
    for snapshot in evidence.late_snapshots:
        has_active = active_neurons(snapshot.c, evidence.threshold).any(axis=1)
        classes = np.flatnonzero(np.all(has_active, axis=1) & (evidence.class_sizes > 0))
        left += max(len(classes) - MOST_CLASSES, 0)
        pulls += [linear_pulls(evidence, snapshot, int(y)) for y in classes[:MOST_CLASSES]]
    if not pulls:
        return constant(name, statement, None, detail="no class has an active neuron for both views at a saved state after the first escape")
    relative = [(Psi - form) / max(abs(Psi), abs(form), 1e-300) for Psi, form in pulls]
    worst = int(np.argmax(relative))
    Psi, form = pulls[worst]
    detail = f"{_cases(len(pulls))}; {relative[worst] * evidence.data.N**0.5:.3g} N^(-1/2); Psi = {Psi:.3g} beside {form:.3g}{_left_out(left)}"
    if p.delta4 > 0.0:
        log_scale = np.log(p.P) + p.alpha * np.log(p.delta4) + (p.alpha - 1.0) * np.log(evidence.log_k / p.rho)
        detail += f"; over P delta4^alpha (log(k) / rho)^(alpha-1): {_product(Psi - form, -log_scale):.3g}"
    return constant(name, statement, relative[worst], detail=detail)


def linear_pulls(evidence: Evidence, snapshot: Snapshot, y: int) -> tuple[float, float]:
    """Return the largest Psi of a class whose views both have active neurons, and the two sums of (B.32); without noise they are equal."""
    p, lead = evidence.parameters, int(evidence.total_at(snapshot)[y].argmax())
    active = active_neurons(snapshot.c, evidence.threshold)[y]
    pull = -own_correlations(evidence.gradient(snapshot))[y]
    Psi = pull[active[:, lead], lead].max() - pull[active[:, 1 - lead], 1 - lead].min()
    centred = leading_coefficients(evidence, np.full(p.k, lead)).sum(axis=1) - 0.5 * p.C_P * p.delta2
    z, beta = _class_pairs(evidence, snapshot, y, centred)
    return float(Psi), float((np.where(z.crossed, z.balance, 2.0 * z.own_gap) * beta).sum() / evidence.data.N**2)


def gap_expectation(evidence: Evidence) -> Verdict:
    """Claim B.22: if Delta_y >= log k and (B.33) holds on a set of measure 0.01, then E[A_1(beta_s, beta_y) (beta_y - C_P delta2 / 2)] = -Theta(1).

    A_1 = 1 - 2 phi_y(g(z_ij)); the expectation is the mean over i in N_y and j in N_s, for each pair of classes y, s and each saved state that
    satisfy what is supposed. The proof also supposes that the other outputs on z_ij are O(log k / k): pairs count where these are at most `QUIET`
    log k / k. The sign is decided, at `LEVEL`: a positive mean is a violation, one without a sign within its error leaves the claim open. That the
    means are bounded away from 0 is a statement about k to infinity. Measured: the largest mean.
    """
    name, statement = "Claim B.22", "E[A_1 (beta_y - C_P delta2 / 2)] is negative where Delta_y >= log k and (B.33) holds: its largest value"
    p = evidence.parameters
    return _expectation(evidence, name, statement, lambda coefficients: (coefficients.sum(axis=1) - 0.5 * p.C_P * p.delta2)[:, None])


def patch_expectation(evidence: Evidence) -> Verdict:
    """Corollary B.23: under the same conditions E[A_1 (beta_{y,p} - delta2 / 2)] = -Theta(1) for every p: the largest over p, too."""
    name, statement = "Corollary B.23", "E[A_1 (beta_{y,p} - delta2 / 2)] is negative for every p, where B.22 applies: its largest value"
    return _expectation(evidence, name, statement, lambda coefficients: coefficients - 0.5 * evidence.parameters.delta2)


def lagging_gradient(evidence: Evidence) -> Verdict:
    """Claim B.24: if Delta_y >= log k, the lagging view of class y is pulled up although it is in the polynomial part.

    If some r1 in B_{y,1} has <-grad_{w_{y,r1}} J, v_{y,1}> >= 0 (B.44), then every r2 has, with a tau for the size of <w_{y,r2}, v_{y,2}>,
    <-grad_{w_{y,r2}} J, v_{y,2}> >= Theta(tau / (rho^(alpha-1) k^2)) (B.45). The derivative of the activation is ((beta c / 2) / rho)^(alpha-1) in
    the polynomial part and 1 beyond, so tau is read as min(<w_{y,r2}, v_{y,2}>, rho)^(alpha-1). Measured: the least constant, for the neuron r2 with
    the largest <w_{y,r2}, v_{y,2}> > 0.
    """
    name, statement = "Claim B.24", "<-grad_{w_{y,r2}} J, v_{y,2}> rho^(alpha-1) k^2 / tau is bounded from below where Delta_y >= log k"
    p = evidence.parameters
    constants, times, without = [], [], 0
    for snapshot in evidence.open_snapshots:
        own, active, state_gaps = own_correlations(snapshot.c), active_neurons(snapshot.c, evidence.threshold), gaps(evidence, snapshot)
        for y in np.flatnonzero(state_gaps.Delta >= evidence.log_k):
            pull, lead = -own_correlations(evidence.gradient(snapshot))[y], state_gaps.lead[y]
            r2 = own[y, :, 1 - lead].argmax()
            c = own[y, r2, 1 - lead]
            if c <= 0.0 or not (pull[active[y, :, lead], lead] >= 0.0).any():
                without += 1
                continue
            constants.append(_product(float(pull[r2, 1 - lead]), (p.alpha - 1.0) * np.log(p.rho / min(c, p.rho)) + 2.0 * evidence.log_k))
            times.append(snapshot.time)
    if not constants:
        return constant(name, statement, None, detail=f"no class satisfies what is supposed; {without} with Delta_y >= log k do not satisfy (B.44)")
    values = np.array(constants)
    below = exceeding(np.array(times), -values, 0.0)
    detail = f"{_cases(len(constants))}, largest {values.max():.3g}; {without} more do not satisfy (B.44)"
    return constant(name, statement, float(values.min()), 0.0, above=True, detail=detail, violated_at=below)


def slow_gradient(evidence: Evidence) -> Verdict:
    """Claim B.25: <-grad_{w_{y,r}} J, v_{y,l}> falls by at most 1 % in a step, if sum_{s != y} exp g_s(z_ij) does not fall on z_ij with i in N_y.

    Whether it holds is a matter of the step: of eta times the rate at which the correlation falls, which is to be at most 0.01. Measured: the
    largest such rate, -d ln <-grad J, v_{y,l}> / dt, over all neurons with a positive gradient correlation (above round-off), in units of lambda,
    from one Euler step at each saved state. The gradient g changes at the rate H g; lambda is the larger of the sharpness that the run recorded and
    |H g| / |g| here, and the step is `SHORT` / lambda. The detail has the same in classes of which the supposition holds.
    """
    rates, times, holds, where_supposed = [], [], 0, -np.inf
    sharpness = evidence.sharpness[np.isfinite(evidence.sharpness)]
    for snapshot in evidence.late_snapshots:
        gradient = evidence.gradient(snapshot)
        norm = float(np.linalg.norm(gradient))
        if not norm > 0.0:
            continue
        turning = float(np.linalg.norm(evidence.objective.hessian_vector_product(snapshot.c, gradient / norm)))
        rate = max(turning, float(sharpness.max(initial=0.0)))
        if not rate > 0.0:
            continue
        after = snapshot.c - SHORT / rate * gradient
        before, now = -own_correlations(gradient), -own_correlations(evidence.gradient_at(after, snapshot.step))
        counted = before > 1e-12 * np.abs(before).max()
        falls = np.where(counted, 1.0 - now / np.where(counted, before, 1.0), -np.inf) / SHORT
        # sum_{s != y} exp g_s(z_ij) is no less at ``after``, for every mixed point with i in N_y, up to round-off
        z, later = evidence.mixed_points(snapshot), evidence.mixed_points_at(after)
        lower = later.rest < z.rest - 1e-14 * np.maximum(np.abs(z.rest), 1.0)
        supposed = np.bincount(z.y, weights=lower, minlength=evidence.parameters.k) == 0.0
        rates.append(float(falls.max()))
        times.append(snapshot.time)
        holds += int(supposed.sum())
        where_supposed = max(where_supposed, float(falls[supposed].max(initial=-np.inf)))
    name = "Claim B.25"
    statement = "the largest rate at which a positive gradient correlation falls, over lambda; eta lambda times it must be <= 0.01"
    if not rates or not np.isfinite(max(rates)):
        return constant(name, statement, None, detail="no positive gradient correlation at a saved state after the first escape")
    of = len(rates) * evidence.parameters.k
    largest_supposed = f", largest there {where_supposed:.4g}" if np.isfinite(where_supposed) else ""
    detail = f"at t = {times[int(np.argmax(rates))]:.4g} of {len(rates)} saved states; the other exponentials do not fall in {holds} of {_cases(of)}"
    return constant(name, statement, max(rates), detail=f"{detail}{largest_supposed}{evidence.which_pairs}")


def _expectation(evidence: Evidence, name: str, statement: str, centred: Callable[[np.ndarray], np.ndarray]) -> Verdict:
    """Decide the sign of the mean of A_1 times ``centred`` (N, C_P) -> (N, n) coefficients, over the pairs of classes that Claim B.22 is about."""
    means, gap_only, left, loudest, loud = list[Mean](), 0, 0, 0.0, 0
    for snapshot in evidence.open_snapshots:
        state_gaps = gaps(evidence, snapshot)
        supposed = state_gaps.supposed(evidence.log_k)
        classes = np.flatnonzero(supposed.any(axis=1))
        gap_only += int((state_gaps.Delta >= evidence.log_k).sum()) - len(classes)
        left += max(len(classes) - MOST_CLASSES, 0)
        coefficients = centred(leading_coefficients(evidence, state_gaps.lead))
        for y in classes[:MOST_CLASSES]:
            z, beta = _class_pairs(evidence, snapshot, int(y), coefficients)
            products = (z.balance[:, None] * beta).reshape(evidence.class_sizes[y], evidence.data.N, -1)
            for s in np.flatnonzero(supposed[y]):
                others = float(z.rest_max[z.s == s].max()) * evidence.parameters.k / evidence.log_k
                loudest, loud = max(loudest, others), loud + (others > QUIET)
                if others <= QUIET:
                    means.append(Mean.of(products[:, evidence.data.labels == s].mean(axis=1), snapshot.time))
    if not means:
        detail = f"no class satisfies what is supposed at a saved state; Delta_y >= log k alone in {gap_only}"
        if loud:
            detail = f"other outputs are more than {QUIET:g} log k / k, up to {loudest:.3g}, in all {loud} pairs of classes that satisfy the rest"
        return not_applicable(name, statement, detail, 0.0)
    values, times = np.array([mean.values.max() for mean in means]), np.array([mean.time for mean in means])
    tests = sum(mean.values.size for mean in means)
    positive = np.array([mean.has_sign(1.0, LEVEL / tests).any() for mean in means])
    negative = np.array([mean.has_sign(-1.0, LEVEL).all() for mean in means])
    detail = (
        f"{len(means)} pairs of classes at {len(set(times))} saved states, least {values.min():.3g}, {int((values > 0.0).sum())} positive"
        f"{_left_out(left)}; {loud} more with other outputs beyond {QUIET:g} log k / k, up to {loudest:.3g}, are left out; "
        f"Delta_y >= log k alone in {gap_only}"
    )
    measured = constant(name, statement, float(values.max()), 0.0, detail=detail, violated_at=exceeding(times, positive.astype(np.float64), 0.5))
    return signs((int(positive.sum()), len(means)), "pairs of classes", measured, int((~positive & ~negative).sum()))


class Mean(NamedTuple):
    """Means over the points of a class, (n,) each, with their standard errors; how many points there are; and when."""

    values: np.ndarray
    errors: np.ndarray
    points: int
    time: float

    @staticmethod
    def of(by_point: np.ndarray, time: float) -> Mean:
        """Return the means of (points, n) values; the error of a single one is not known, and infinite."""
        points = len(by_point)
        errors = by_point.std(axis=0, ddof=1) / points**0.5 if points > 1 else np.full(by_point.shape[1], np.inf)
        return Mean(by_point.mean(axis=0), errors, points, time)

    def has_sign(self, sign: float, level: float) -> np.ndarray:
        """Return (n,): whether each has this sign, beyond what a mean of 0 comes to with probability ``level``."""
        from scipy.special import stdtrit

        beyond = -stdtrit(max(self.points - 1, 1), level)
        return np.asarray(sign * self.values > beyond * self.errors)


def _class_pairs(evidence: Evidence, snapshot: Snapshot, y: int, coefficients: np.ndarray) -> tuple[MixedPoints, np.ndarray]:
    """Return the mixed points with i in N_y, and for each of them the row of coefficients (N, ...) of its point i."""
    members = np.flatnonzero(evidence.data.labels == y)
    return evidence.pairs_of_class(snapshot, y), np.repeat(coefficients[members], evidence.data.N, axis=0)


def _product(number: float, log_factor: float) -> float:
    return float(np.sign(number) * exponential(logarithm(abs(number)) + log_factor))


def _cases(count: int) -> str:
    return f"{count} cases, each a class at a saved state"


def _left_out(count: int) -> str:
    return f"; {count} more classes not evaluated" if count else ""
