"""The view that is ahead leaves the other behind: Lemma B.11, Claims B.12 and B.13 (ERM).

"Winner" and "loser" are the views that are ahead and behind at the start (`mvsim.papers.midpoint_mixup.claims.initialisation.separation`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from mvsim.judging.verdict import Verdict, at_most, constant, not_applicable
from mvsim.numerics.logarithms import exponential
from mvsim.papers.midpoint_mixup.claims.base import exceeding, first_records, signs
from mvsim.papers.midpoint_mixup.claims.initialisation import separation
from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence
from mvsim.runs.recording.entries import predicted_escape_times

SLACK = 0.05
"""Part by which an escape may be earlier or later than its bracket: noise in points of other classes, and errors of the run of some ten rtol."""

STEP = 1e-5
"""Step eta of the sequences of Lemma B.11, in units of x(0)^(2-q)."""

DOUBLING, STEEPEST = 2.0, 64.0
"""The A of Lemma B.11 over x(0), at most `DOUBLING` and so that the relative growth in one step is at most `STEEPEST` times that of the first."""

STEP_ERROR = 1e-3
"""Relative error of order eta allowed in Lemma B.11: 100 eta."""

ALLOWED = 2.0
"""Factor beyond Lemma B.11 that Claim B.13 is compared with: the lemma ends at A, and a loser goes on until the softmax saturates. Ours."""

LEAST_GROWTH, LEAST_TIME = 1.01, 1e-12
"""Growth of a correlation, and of the time relative to itself, over which a rate is measured: over less, round-off and the tolerance would be."""


def loser_growth(ratio: np.ndarray, alpha: float, stage: np.ndarray | float = np.inf) -> np.ndarray:
    """Return y(t) / y(0) at the time at which x(t) = stage x(0), for sequences that grow as in Lemma B.11 in the limit eta -> 0.

    With x' = C x^(q-1) and y' = S C y^(q-1), whatever C(t) > 0 is, y^(2-q) - y(0)^(2-q) = S (x^(2-q) - x(0)^(2-q)), so with
    the ratio a = x(0) / (S^(1/(q-2)) y(0)) > 1

        y / y(0) = (1 - a^(2-q) (1 - (x / x(0))^(2-q)))^(-1/(q-2)),

    which stays below its limit (1 - a^(2-q))^(-1/(q-2)) for x -> infinity.
    """
    power = alpha - 2.0
    return (1.0 - ratio**-power * (1.0 - np.asarray(stage) ** -power)) ** (-1.0 / power)


def iterated_growth(log_strength: np.ndarray, lead: np.ndarray, alpha: float, step: float = STEP) -> tuple[np.ndarray, np.ndarray]:
    """Iterate x += eta x^(q-1), y += eta S y^(q-1) from x = 1, y = 1 / lead until x >= A (`DOUBLING`, `STEEPEST`), in units of the starts.

    From log S and x(0) / y(0), (n,), with q = alpha and eta = step; returns x / x(0) and y / y(0) at that time, (n,) each.
    """
    x, y, A = np.ones_like(lead), np.ones_like(lead), min(DOUBLING, STEEPEST ** (1.0 / (alpha - 2.0)))
    strength = np.exp(log_strength - (alpha - 2.0) * np.log(lead))  # less than 1 if x is ahead
    while (x < A).any():  # x does not depend on S or y: all classes arrive together
        x, y = x + step * x ** (alpha - 1.0), y + step * strength * y ** (alpha - 1.0)
    return x, y


def tensor_power(evidence: Evidence) -> Verdict:
    """Lemma B.11: while x grows to A, y grows by no more than a factor that its lead at the start decides.

    The sequences x_{t+1} = x_t + eta x_t^(q-1), y_{t+1} = y_t + eta S y_t^(q-1) are iterated with q = alpha and the S = S_l / S_w and
    y_0 / x_0 = Lambda_l(0) / Lambda_w(0) of every separated class. Measured: the largest relative difference from `loser_growth`, which is O(eta).
    """
    name = "Lemma B.11 (closed form)"
    statement = "the closed form for the growth of the loser, used in B.13, solves the recursion of the lemma up to O(eta)"
    separations, log_S, leaders = separation(evidence), evidence.log_signal_strength, evidence.max_correlation[0]
    chosen = np.flatnonzero(separations.separated(evidence.parameters.k) & np.isfinite(separations.ratio))
    if not len(chosen):
        return not_applicable(name, statement, "no separated class", STEP_ERROR)
    w, alpha = separations.winner[chosen], evidence.parameters.alpha
    stage, growth = iterated_growth(log_S[chosen, 1 - w] - log_S[chosen, w], leaders[chosen, w] / leaders[chosen, 1 - w], alpha)
    error = np.abs(growth / loser_growth(separations.ratio[chosen], alpha, stage) - 1.0)
    most = loser_growth(separations.ratio[chosen], alpha).max()
    detail = f"{len(chosen)} classes, eta = {STEP:g}; the closed form lets a loser grow {most:.3g}-fold at most"
    return at_most(name, statement, float(error.max()), STEP_ERROR, detail, otherwise="contradicted")


def escape_times(evidence: Evidence) -> Verdict:
    """Lemma B.11 on the run: the time T_A lies between those of the lemma with the largest and the least C_t that occurred on the way.

    With C_- <= C_t <= C_+ the recursion x' = C_t S (x / rho)^(q-1) takes x from x(0) to A in a time between T / C_+ and T / C_-,

        T = (rho / S) ((rho / x(0))^(q-2) - (rho / A)^(q-2)) / (q - 2).

    C_t is the mean of 1 - phi_y over the points of the class, which is recorded. Compared is the fastest of the correlations of each class, and
    the interval between the records in which A was reached, widened by `SLACK` for noise and the tolerance of the run.
    """
    name = "Lemma B.11 (escape times)"
    statement = "T_A lies within the bracket of the lemma for the C_t that occurred: fraction of classes in which it does"
    p, leaders = evidence.parameters, evidence.max_correlation.max(axis=2)
    reached = first_records(leaders >= evidence.poly_end)
    alone = predicted_escape_times(evidence.own[0], evidence.log_signal_strength, p.rho, p.alpha, evidence.poly_end).min(axis=(1, 2))
    gap, inside, factors = evidence.softmax_gap, [], []
    for y in np.flatnonzero((reached < len(evidence.times)) & (reached > 0) & np.isfinite(alone)):
        on_the_way = gap[: reached[y], y]
        before, after = evidence.times[reached[y] - 1], evidence.times[reached[y]]
        least, most = alone[y] / on_the_way.max() / (1.0 + SLACK), alone[y] / max(on_the_way.min(), 1e-300) * (1.0 + SLACK)
        inside.append(bool(after >= least and before <= most))
        factors.append(after / alone[y] * on_the_way.max())
    if not inside:
        return not_applicable(name, statement, "no class reached A between two records", 1.0)
    wrong = len(inside) - sum(inside)
    detail = f"T_A over T / C_+ from {min(factors):.4g} to {max(factors):.4g}"
    measured = constant(name, statement, 1.0 - wrong / len(inside), 1.0, above=True, detail=detail)
    return replace(signs((wrong, len(inside)), "classes", measured), gathered="everywhere")


class Rates(NamedTuple):
    """Growth of single neurons in units of what Claim B.12 predicts, one entry for each stretch of time; all (n,)."""

    time: np.ndarray  # end of the stretch
    C: np.ndarray  # the mean of C_t over it


def winner_rate(evidence: Evidence) -> Verdict:
    """Claim B.12: the winner's best neuron r* has c_{t+1} = c_t + eta C_t S_w (c_t / rho)^(alpha-1) with C_t >= 1 - Theta(1 / k), while c < A.

    In the limit eta -> 0, c^(2-alpha) falls at the rate (alpha-2) S_w C_t / rho^(alpha-1), so C_t is measured between records. (B.13) has
    1 - phi_y = 1 - Theta(1/k) for C_t, and noise takes away less than that. Measured: the largest k |1 - C_t|. The proof gives no constant, so
    there is no bound.
    """
    return _rate(evidence, "Claim B.12 (winner)", "k |1 - C_t| is bounded for the winner's best neuron while it is below A", True)


def loser_rate(evidence: Evidence) -> Verdict:
    """Claim B.12: the loser's best neuron has c_{t+1} <= c_t + eta C'_t S_l (c_t / rho)^(alpha-1), C'_t <= 1 + Theta(1 / k), up to the winner's T_A.

    Measured: the largest k (C'_t - 1), which is negative when it grows more slowly than allowed. There is no bound, as above.
    """
    return _rate(evidence, "Claim B.12 (loser)", "k (C_t - 1) is bounded from above for the loser's best neuron while the winner is below A", False)


def loser_for_ever(evidence: Evidence) -> Verdict:
    """Claim B.13: max_r <w_{y,r}, v_{y,l}>(t) of the loser stays within polylog(k) of max_r <w_{y,r}, v_{y,l}>(0), at all t.

    Measured: the largest growth Lambda(t) / Lambda(0) over the limit of the closed form of Lemma B.11 for that class, over the separated classes.
    """
    name, statement = "Claim B.13", "growth of the loser over what Lemma B.11 allows it, in separated classes at all t"
    separations = separation(evidence)
    chosen = np.flatnonzero(separations.separated(evidence.parameters.k) & np.isfinite(separations.ratio))
    if not len(chosen):
        return constant(name, statement, None, ALLOWED, detail="no separated class")
    values = evidence.max_correlation[:, chosen, 1 - separations.winner[chosen]]
    growth = values / values[0]
    ratio = growth / loser_growth(separations.ratio[chosen], evidence.parameters.alpha)
    within = int((ratio.max(axis=0) <= ALLOWED).sum())
    detail = f"{within} of {len(chosen)} separated classes within the bound; largest growth {growth.max():.4g}"
    return constant(name, statement, float(ratio.max()), ALLOWED, detail=detail, violated_at=exceeding(evidence.times, ratio, ALLOWED))


def neuron_rates(evidence: Evidence, y: int, view: int, until: int) -> Rates:
    """Return C_t of the neuron of class y that is best correlated with a view at the start, over the records before ``until``.

    Stretches are as short as they can be while the correlation grows by `LEAST_GROWTH` and the time by `LEAST_TIME`.
    """
    p = evidence.parameters
    c = evidence.own[:until, y, evidence.own[0, y, :, view].argmax(), view]
    ends = [0] if len(c) and c[0] > 0.0 else []
    for t in range(1, len(c)):
        if ends and c[t] >= LEAST_GROWTH * c[ends[-1]] and evidence.times[t] * (1.0 - LEAST_TIME) > evidence.times[ends[-1]]:
            ends.append(t)
    power, times = p.alpha - 2.0, evidence.times[ends]
    # In units of rho: (c / rho)^(2-alpha) falls at the rate (alpha-2) S C / rho. At large alpha both may leave the range of doubles.
    scaled = -power * np.log(c[ends] / p.rho)
    log_fall = scaled[:-1] + np.log(-np.expm1(np.diff(scaled)))
    log_rate = np.log(power / p.rho) + evidence.log_signal_strength[y, view]
    return Rates(times[1:], exponential(log_fall - log_rate - np.log(np.diff(times))))


def _rate(evidence: Evidence, name: str, statement: str, of_winner: bool) -> Verdict:
    k, separations = evidence.parameters.k, separation(evidence)
    values = []
    for y in np.flatnonzero(separations.separated(k)):
        w = int(separations.winner[y])
        until = int(first_records(evidence.max_correlation[:, y, w, None] >= evidence.poly_end)[0])
        C = neuron_rates(evidence, int(y), w if of_winner else 1 - w, until).C
        values.append(k * (np.abs(1.0 - C) if of_winner else C - 1.0))
    stretches = np.concatenate(values) if values else np.zeros(0)
    if not len(stretches):
        return constant(name, statement, None, detail=f"no separated class, or none that grows by {LEAST_GROWTH:g} between records")
    detail = f"{len(stretches)} stretches of {len(values)} classes; median {np.median(stretches):.3g}"
    return constant(name, statement, float(stretches.max()), detail=detail)
