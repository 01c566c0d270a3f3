"""Claims B.1 and B.14: the setting in which everything else is proved, and B.10: which view is ahead at the start."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mvsim.judging.verdict import Verdict, constant, not_applicable
from mvsim.numerics.intervals import clopper_pearson
from mvsim.numerics.logarithms import exponential, logarithm
from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence

PREDICTED = 0.9
"""What "the view that is ahead wins" means here: in nine separated classes of ten. The proofs have it in all of them; the bound is ours."""


def class_sizes(evidence: Evidence) -> Verdict:
    """|N_y| = Theta(N / k) for every y: the least |N_y| k / N. The largest is in the detail."""
    p = evidence.parameters
    ratio = evidence.class_sizes * p.k / p.N
    detail = f"from {ratio.min():.3g} to {ratio.max():.3g} over the classes"
    return constant("Claim B.1 (class sizes)", "|N_y| k / N is bounded from below and above: its least value", float(ratio.min()), detail=detail)


def largest_correlation(evidence: Evidence) -> Verdict:
    """max_{s,r,y,l} <w_{s,r}, v_{y,l}>(0) = O(log k / sqrt d).

    The proof takes t = 2 sigma sqrt(2 log m) in Proposition A.2 and m = k, so its constant times log k / sqrt d is 3 sqrt(2 log k) / sqrt d.
    """
    p, log_k = evidence.parameters, evidence.log_k
    measured = float(evidence.snapshots[0].c.max()) * p.d**0.5 / log_k
    bound = 3.0 * (2.0 / log_k) ** 0.5
    statement = "max <w_{s,r}, v_{y,l}>(0) sqrt(d) / log k is bounded"
    return constant("Claim B.1 (largest correlation)", statement, measured, bound, violated_at=0.0 if measured > bound else None)


def least_leader(evidence: Evidence) -> Verdict:
    """max_r <w_{y,r}, v_{y,l}>(0) = Omega(1 / sqrt d) for every y and l: the least Lambda_{y,l}(0) sqrt d."""
    leaders = evidence.max_correlation[0] * evidence.parameters.d**0.5
    y, view = np.unravel_index(leaders.argmin(), leaders.shape)
    statement = "max_r <w_{y,r}, v_{y,l}>(0) sqrt(d) is bounded from below by a positive constant: its least value"
    return constant("Claim B.1 (own correlation)", statement, float(leaders.min()), above=True, detail=f"class {y}, view {view + 1}")


def positive_fraction(evidence: Evidence) -> Verdict:
    """<w_{y,r}, v_{s,l}>(0) > 0 for Omega(k) of the 2k features: the least fraction of them over the neurons (y, r)."""
    fractions = (evidence.snapshots[0].c > 0.0).mean(axis=(2, 3))
    statement = "a positive fraction of the initial correlations of every neuron is positive: the least fraction"
    detail = f"mean {fractions.mean():.3g}; half in expectation"
    return constant("Claim B.14 (positive correlations)", statement, float(fractions.min()), above=True, detail=detail)


class Separation(NamedTuple):
    """Which view of each class is ahead at the start, and by how much; both (k,)."""

    winner: np.ndarray
    # (S_w / S_l)^(1/(alpha-2)) Lambda_w(0) / Lambda_l(0) >= 1 for the view w ahead and the other l, infinite if l has no positive correlation (or
    # no double holds the ratio); NaN if neither has, if the class has no points, and everywhere if alpha <= 2
    ratio: np.ndarray

    def separated(self, k: int) -> np.ndarray:
        """(k,) bool: the ratio is at least 1 + 1 / log(k)^2. The claim has Theta(1 / log(k)^2); the constant 1 is ours."""
        with np.errstate(invalid="ignore"):
            return self.ratio >= 1.0 + np.log(k) ** -2.0


def separation(evidence: Evidence) -> Separation:
    """Return the ratios of Claim B.10."""
    alpha, leaders = evidence.parameters.alpha, evidence.max_correlation[0]
    if alpha <= 2.0:
        return Separation(leaders.argmax(axis=1), np.full(len(leaders), np.nan))
    scaled = evidence.log_signal_strength / (alpha - 2.0) + logarithm(leaders)
    ahead, behind = scaled.max(axis=1), scaled.min(axis=1)
    some = ahead > -np.inf
    return Separation(scaled.argmax(axis=1), np.where(some, exponential(np.where(some, ahead, 0.0) - behind), np.nan))


def separated_fraction(evidence: Evidence) -> Verdict:
    """Claim B.10: with probability 1 - O(1 / log k) one view of a class is ahead by a factor 1 + Theta(1 / log(k)^2).

    Ahead is measured by S_{y,l}^(1/(alpha-2)) Lambda_{y,l}(0). Measured: (1 - fraction of separated classes) log k.
    """
    name, statement = "Claim B.10 (separation)", "(1 - fraction of classes with a ratio >= 1 + 1 / log(k)^2) log k is bounded"
    k, separations = evidence.parameters.k, separation(evidence)
    known = ~np.isnan(separations.ratio)
    if not known.any():
        return constant(name, statement, None, detail="no class has a ratio: alpha <= 2, or no positive correlations or no points")
    apart, of = int(separations.separated(k).sum()), int(known.sum())
    low, high = clopper_pearson(of - apart, of)
    interval = f"95% interval [{low * evidence.log_k:.3g}, {high * evidence.log_k:.3g}]"
    detail = f"{apart} of {of} classes separated, {interval}; least ratio {np.nanmin(separations.ratio):.4g}"
    return constant(name, statement, (1.0 - apart / of) * evidence.log_k, detail=detail)


def winner(evidence: Evidence) -> Verdict:
    """Claim B.10, what it is for: in separated classes the view that is ahead escapes first. Measured: the fraction of classes in which it does."""
    return _winner_fraction(evidence, "Claim B.10 (winner)", PREDICTED)


def winner_when_mixing(evidence: Evidence) -> Verdict:
    """Return the same fraction for losses that mix points, of which Claim B.10 does not speak.

    Own correlations grow on midpoints in patches that hold a feature of another class, too, and its correlation may be as large at the start.
    """
    return _winner_fraction(evidence, "Claim B.10 (winner, mixing)", None)


def _winner_fraction(evidence: Evidence, name: str, bound: float | None) -> Verdict:
    statement = "fraction of separated classes whose view ahead at the start is the first to enter B_{y,l}"
    separations, (first, escaped) = separation(evidence), evidence.first_views
    ahead, counted = first == separations.winner, escaped & separations.separated(evidence.parameters.k)
    right, of = int((ahead & counted).sum()), int(counted.sum())
    of_all = f"of all classes with an escape {int((ahead & escaped).sum())} of {int(escaped.sum())}"
    if not of:
        return not_applicable(name, statement, f"no separated class has a view that escaped; {of_all}", bound)
    low, high = clopper_pearson(right, of)
    return constant(
        name,
        statement,
        right / of,
        bound,
        above=True,
        detail=f"{right} of {of}, 95% interval [{low:.3f}, {high:.3f}] if classes were independent; {of_all}",
    )
