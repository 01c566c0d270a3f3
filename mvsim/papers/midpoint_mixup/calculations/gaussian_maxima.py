"""Propositions A.1 to A.4 and Corollary A.5 on the largest of m Gaussians, by Monte Carlo with intervals.

X_1, ..., X_m are independent N(0, sigma^2): own correlations at the start, with sigma = 1 / sqrt(d). ``maxima`` are draws of max_i X_i.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from mvsim.judging.verdict import Status, Verdict, constant, margin_below
from mvsim.multi_view.parameters import Parameters
from mvsim.numerics.intervals import CONFIDENCE, clopper_pearson
from mvsim.numerics.random_streams import stream
from mvsim.papers.midpoint_mixup.steps import Step, by_name

DRAWS = 20_000

TAILS = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0)
"""t / sigma of Proposition A.2."""

DELTAS = (0.1, 0.03, 0.01)
"""delta of Proposition A.3."""

WIDTHS = (0.01, 0.03, 0.1, 0.3)
"""epsilon / sigma of Proposition A.4 and Corollary A.5."""

CENTRES = 41
"""Values of x there, from the least to the largest draw."""


def gaussian_maxima(parameters: Parameters, seed: int = 0, draws: int = DRAWS) -> list[Verdict]:
    """Check all five for the m and d of the parameters."""
    m, sigma = parameters.m, parameters.d**-0.5
    maxima = drawn_maxima(m, sigma, seed, draws)
    return [replace(step.verdict(maxima, m, sigma), of_parameters=True) for step in GAUSSIAN_MAXIMA.values()]


def drawn_maxima(m: int, sigma: float, seed: int = 0, draws: int = DRAWS) -> np.ndarray:
    """Return (draws,) independent draws of max_i X_i."""
    rng = stream(seed, "initial correlations", 1)  # number 0 is the start of the run of that seed
    largest = np.full(draws, -np.inf)
    for _ in range(m):  # never m times draws numbers at once
        np.maximum(largest, rng.standard_normal(draws), out=largest)
    return sigma * largest


def expected_maximum(m: int) -> float:
    """Return a_m = E max_i X_i / sigma, by quadrature of z times the density m f(z) F(z)^(m-1)."""
    from scipy.integrate import quad
    from scipy.special import log_ndtr

    def weighted_density(z: float) -> float:
        return z * math.exp(math.log(m) - 0.5 * z**2 - 0.5 * math.log(2.0 * math.pi) + (m - 1) * float(log_ndtr(z)))

    return float(quad(weighted_density, -12.0, 12.0 + math.sqrt(2.0 * math.log(m)), limit=400, points=[0.0])[0])


def expectation(maxima: np.ndarray, m: int, sigma: float) -> Verdict:
    """A.1: E max_i X_i <= sigma sqrt(2 log m)."""
    from scipy.special import ndtri

    bound = math.sqrt(2.0 * math.log(m))
    mean, half = float(maxima.mean()) / sigma, float(ndtri(0.5 + CONFIDENCE / 2.0)) * float(maxima.std(ddof=1)) / sigma / math.sqrt(len(maxima))
    detail = f"95% interval [{mean - half:.4g}, {mean + half:.4g}], by quadrature {expected_maximum(m):.6g}; m = {m}"
    if m == 1:  # an equality, 0 <= 0, which no number of draws can tell
        mean = low = high = round(expected_maximum(1), 12)
    else:
        low, high = mean - half, mean + half
    return _between("Proposition A.1", "E[max_i X_i] / sigma <= sqrt(2 log m)", mean, bound, low, high, detail)


def tail(maxima: np.ndarray, m: int, sigma: float) -> Verdict:
    """A.2: P(max_i X_i >= t + sigma sqrt(2 log m)) <= exp(-t^2 / (2 sigma^2)): the largest ratio of the two sides over several t."""
    start, draws = math.sqrt(2.0 * math.log(m)), len(maxima)
    ratios = []
    for t in TAILS:
        count = int((maxima / sigma >= t + start).sum())
        low, high = clopper_pearson(count, draws, _shared(len(TAILS)))
        ratios.append(np.array([count / draws, low, high]) * math.exp(t**2 / 2.0))
    measured, low, high = np.max(ratios, axis=0)
    detail = f"interval [{low:.3g}, {high:.3g}], 95% for all t / sigma in {TAILS} together; m = {m}"
    return _between("Proposition A.2", "P(max_i X_i >= t + sigma sqrt(2 log m)) exp(t^2 / (2 sigma^2)) <= 1", measured, 1.0, low, high, detail)


def lower_quantile(maxima: np.ndarray, m: int, sigma: float) -> Verdict:
    """A.3: P(max_i X_i > Theta(sigma sqrt(log(m / log(1 / delta))))) = 1 - Theta(delta): the least constant over several delta.

    The constant at delta is the delta-quantile of the maximum over sigma sqrt(log(m / log(1 / delta))); it needs m > log(1 / delta).
    """
    constants = []
    for delta in DELTAS:
        argument = m / math.log(1.0 / delta)
        if argument > 1.0:
            constants.append((float(np.quantile(maxima, delta)) / sigma / math.sqrt(math.log(argument)), delta))
    name = "Proposition A.3"
    statement = "the delta-quantile of max_i X_i / (sigma sqrt(log(m / log(1 / delta)))) is bounded from below, by a positive constant"
    if not constants:
        return constant(name, statement, None, above=True, detail=f"m = {m} is less than log(1 / delta) for all delta")
    least, delta_of_least = min(constants)
    few = f"; all {m} are negative with probability 2^-{m}, which is not below delta, so that a negative one says nothing" if least < 0.0 else ""
    return constant(name, statement, least, 0.0, above=True, detail=f"at delta = {delta_of_least:g}, of {len(constants)}; m = {m}{few}")


def anti_concentration(maxima: np.ndarray, m: int, sigma: float) -> Verdict:
    """A.4: sup_x P(|max_i X_i - x| <= epsilon) <= 4 epsilon (1 + a_m) / sigma, a_m = E max_i X_i / sigma: the largest ratio of the two sides."""
    return _concentration("Proposition A.4", "4 epsilon (1 + a_m) / sigma", 4.0 * (1.0 + expected_maximum(m)), maxima, m, sigma)


def explicit_anti_concentration(maxima: np.ndarray, m: int, sigma: float) -> Verdict:
    """A.5: the same with sqrt(2 log m) in the place of a_m."""
    return _concentration("Corollary A.5", "4 epsilon (1 + sqrt(2 log m)) / sigma", 4.0 * (1.0 + math.sqrt(2.0 * math.log(m))), maxima, m, sigma)


GAUSSIAN_MAXIMA = by_name(
    Step("proposition", "A.1", expectation),
    Step("proposition", "A.2", tail),
    Step("proposition", "A.3", lower_quantile),
    Step("proposition", "A.4", anti_concentration),
    Step("corollary", "A.5", explicit_anti_concentration),
)
"""By the name of the verdict."""


def _concentration(name: str, bound: str, factor: float, maxima: np.ndarray, m: int, sigma: float) -> Verdict:
    scaled = np.sort(maxima) / sigma
    worst = np.full(3, -np.inf)
    for width in WIDTHS:
        centres = np.linspace(scaled[0], scaled[-1], CENTRES)
        counts = np.searchsorted(scaled, centres + width, "right") - np.searchsorted(scaled, centres - width, "left")
        count = int(counts.max())  # the interval grows with the count, and the other side does not depend on x
        low, high = clopper_pearson(count, len(scaled), _shared(CENTRES * len(WIDTHS)))
        worst = np.maximum(worst, np.array([count / len(scaled), low, high]) / (factor * width))
    detail = f"interval [{worst[1]:.3g}, {worst[2]:.3g}], 95% for all {CENTRES} x and epsilon / sigma in {WIDTHS} together; m = {m}"
    return _between(name, f"P(|max_i X_i - x| <= epsilon) / ({bound}) <= 1, on a grid of x and epsilon", worst[0], 1.0, worst[1], worst[2], detail)


def _between(name: str, statement: str, measured: float, bound: float, low: float, high: float, detail: str) -> Verdict:
    """Decide a quantity with the interval [low, high]: established if all of it is within the bound, contradicted if none is, consistent else."""
    status: Status = "established" if high <= bound else "contradicted" if low > bound else "consistent"
    margin = float(margin_below(measured, bound))
    return Verdict(name, status, statement, float(measured), bound, margin, detail, gathered="everywhere")


def _shared(intervals: int) -> float:
    return 1.0 - (1.0 - CONFIDENCE) / intervals
