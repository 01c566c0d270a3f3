"""From which side the paper bounds the constants of its proofs, as they are measured (`mvsim.papers.midpoint_mixup`)."""

from __future__ import annotations

from typing import NamedTuple

ABOVE, BELOW = "above", "below"


class Bound(NamedTuple):
    """From which side a measured constant is bounded, empty if the paper does not speak of it; and what says so."""

    side: str
    source: str


BOUNDS: dict[str, Bound] = {
    "Claim B.1 (class sizes)": Bound(BELOW, "|N_y| = Theta(N / k); the least is measured"),
    "Claim B.1 (largest correlation)": Bound(ABOVE, "max <w_{s,r}, v_{y,l}>(0) = O(log k / sqrt d)"),
    "Claim B.1 (own correlation)": Bound(BELOW, "max_r <w_{y,r}, v_{y,l}>(0) = Omega(1 / sqrt d)"),
    "Claim B.2": Bound(ABOVE, "1 - phi_y = O(1 / k^(a-1)) for a > 1"),
    "Corollary B.3": Bound(ABOVE, "phi_s = O(1 / k^max(a, 1))"),
    "Claim B.4 (off-diagonal)": Bound(ABOVE, "max <w_{y,r}, v_{s,l}>(T_A) = O(log k / sqrt d)"),
    "Claim B.4 (T_A)": Bound(ABOVE, "T_A = O(poly(k))"),
    "Claim B.5": Bound(ABOVE, "the largest output is O of the least one (proof; the text has Omega, which is trivial)"),
    "Claim B.6 (reached)": Bound(BELOW, "every class has a T_y = O(poly(k))"),
    "Claim B.6 (afterwards)": Bound(BELOW, "min g_y = Omega(log k) for t >= T_y"),
    "Claim B.7 (outputs)": Bound(ABOVE, "g_y = O(log k)"),
    "Claim B.7 (off-diagonal)": Bound(ABOVE, "max <w_{y,r}, v_{s,l}> = O(log k / sqrt d)"),
    "Corollary B.9": Bound(ABOVE, "the other exponentials add up to k + o(1)"),
    "Claim B.10 (separation)": Bound(ABOVE, "a view is ahead with probability 1 - O(1 / log k); the exceptions are measured"),
    "Claim B.10 (winner)": Bound(BELOW, "in all separated classes; the fraction is measured"),
    "Claim B.10 (winner, mixing)": Bound("", "the claim is about ERM"),
    "Claim B.12 (winner)": Bound(ABOVE, "C_t = 1 - Theta(1 / k); the distance from 1 is measured"),
    "Claim B.12 (loser)": Bound(ABOVE, "C_t <= 1 + Theta(1 / k)"),
    "Claim B.13": Bound(ABOVE, "the loser stays within polylog(k) of its start"),
    "Claim B.14 (positive correlations)": Bound(BELOW, "Omega(k) of the correlations are positive"),
    "Claim B.15": Bound(BELOW, "what it supposes is to be so on all mixed points of two classes; the part is measured"),
    "Corollary B.16": Bound(BELOW, "1 - 2 phi_u = Theta(1); the least is measured"),
    "Claim B.17 (T_A)": Bound(ABOVE, "T_A = O(poly(k))"),
    "Claim B.17 (off-diagonal)": Bound(ABOVE, "<w_{y,r}, v_{s,l}>(T_A) = O(max <w_{y,r}, v_{y,l}>(T_A) / k)"),
    "Corollary B.18 (off-diagonal)": Bound(ABOVE, "the same at all t >= T_A"),
    "Claim B.19": Bound(ABOVE, "max g_y = Theta(min g_y); their ratio is measured"),
    "Claim B.20": Bound(BELOW, "min g_y = Omega(log k) for t >= T_y"),
    "Claim B.21": Bound(ABOVE, "Psi is at most its form, up to a small term"),
    "Claim B.24": Bound(BELOW, "the gradient is at least Theta(tau / (rho^(alpha-1) k^2))"),
    "Claim B.25": Bound(ABOVE, "the gradient falls by at most 1 % in a step"),
    "Claim B.27": Bound(ABOVE, "max C_{y,1} = O(log k)"),
    "Claim B.28 (final)": Bound(BELOW, "C_{y,l} = Omega(log k)"),
    "Claim B.28 (time)": Bound(ABOVE, "in O(poly(k)) steps; the power of k is measured"),
    "Calculation A.7 (other features)": Bound(ABOVE, "at most Theta(P delta4^alpha max <w, v>^(alpha-1) / rho^(alpha-1))"),
    "Theorem 4.6 (what could undo it)": Bound(BELOW, "it stays true for all t = O(poly(k)); the power of k is measured"),
    "Theorem 4.7 (what could undo it)": Bound(BELOW, "it stays true for all t = O(poly(k)); the power of k is measured"),
}
"""By the names of the verdicts, in the order of the paper."""


def goes_against(name: str, low: float, high: float, least: float) -> bool:
    """Whether the interval [low, high] of an exponent of k goes against the bound of a constant, all of it by more than ``least``."""
    side = BOUNDS[name].side
    return (side == ABOVE and low > least) or (side == BELOW and high < -least)
