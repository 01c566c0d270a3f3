"""Propositions A.1 to A.5 on true maxima of Gaussians, and on draws that violate them."""

import math

import numpy as np
import pytest

import mvsim
from mvsim.papers.midpoint_mixup.calculations import gaussian_maxima as maxima_module
from mvsim.papers.midpoint_mixup.calculations.gaussian_maxima import (
    anti_concentration,
    drawn_maxima,
    expectation,
    expected_maximum,
    explicit_anti_concentration,
    gaussian_maxima,
    lower_quantile,
    tail,
)

SIGMA = 0.25


@pytest.mark.parametrize("m", [1, 2, 3, 10, 100])
def test_they_hold(m):
    """At m = 1 both sides of A.1 are 0, which quadrature tells and draws could not; nothing is divided by 0."""
    p = mvsim.Parameters(k=3, m=m, d=16)
    verdicts = gaussian_maxima(p)
    assert [verdict.status for verdict in verdicts] == ["established"] * 2 + ["measured" if m > 2 else "not applicable"] + ["established"] * 2
    assert (verdicts[2].measured is None) == (m <= 2)
    assert [verdict.name[-3:] for verdict in verdicts] == ["A.1", "A.2", "A.3", "A.4", "A.5"]
    assert verdicts == gaussian_maxima(p)
    assert verdicts != gaussian_maxima(p, seed=1)
    assert verdicts[0].measured == pytest.approx(expected_maximum(m), abs=0.03)


def test_draws_are_maxima_of_independent_gaussians():
    draws = drawn_maxima(7, SIGMA, draws=20_000) / SIGMA
    for x in (0.0, 1.0, 2.0):
        below = (0.5 * (1.0 + math.erf(x / math.sqrt(2.0)))) ** 7
        assert (draws <= x).mean() == pytest.approx(below, abs=4.0 * math.sqrt(below * (1.0 - below) / 20_000))


def test_expected_maxima_that_are_known():
    for m, value in ((1, 0.0), (2, 1 / math.sqrt(math.pi)), (3, 1.5 / math.sqrt(math.pi))):
        assert expected_maximum(m) == pytest.approx(value, abs=1e-9), m


@pytest.mark.parametrize("m", [2, 50])
def test_larger_draws_violate_the_upper_bounds(m):
    draws = drawn_maxima(m, SIGMA)
    for check in (expectation, tail):
        assert check(draws, m, SIGMA).status == "established"
        assert check(4.0 * draws, m, SIGMA).status == "contradicted"


def test_what_cannot_be_told_is_consistent():
    m = 20
    bound = SIGMA * math.sqrt(2.0 * math.log(m))
    draws = bound + SIGMA * np.random.default_rng(0).standard_normal(20_000)
    assert expectation(draws - draws.mean() + bound, m, SIGMA).status == "consistent"
    few = drawn_maxima(m, SIGMA, draws=20)
    assert tail(few, m, SIGMA).status == "consistent"


def test_the_intervals_of_all_tails_hold_together():
    """Of a thousand draws so many lie between the first two t; each of the six intervals leaves out a sixth of a fortieth on each side."""
    n, m = 1000, 20
    start, p = math.sqrt(2.0 * math.log(m)), math.exp(-0.5 * maxima_module.TAILS[0] ** 2)
    below = [0.0]  # P(X < x) for x successes of n with probability p
    for x in range(n + 1):
        below.append(below[-1] + math.comb(n, x) * p**x * (1.0 - p) ** (n - x))
    too_many = next(x for x in range(n + 1) if 1.0 - below[x] < 0.025 / 6)
    few = max(x for x in range(n + 1) if below[x + 1] < 0.025 / 6)
    assert 0 < few < p * n < too_many < n

    def status(count):
        return tail(SIGMA * np.repeat([0.0, start + 0.75], [n - count, count]), m, SIGMA).status

    assert [status(count) for count in (few, few + 1, too_many - 1, too_many)] == ["established", "consistent", "consistent", "contradicted"]


@pytest.mark.parametrize("check", [anti_concentration, explicit_anti_concentration])
def test_concentrated_draws_violate_anti_concentration(check):
    draws = drawn_maxima(50, SIGMA)
    assert check(draws, 50, SIGMA).status == "established"
    assert check(0.01 * draws, 50, SIGMA).status == "contradicted"
    assert check(0.1 * draws, 50, SIGMA).measured > 5.0 * check(draws, 50, SIGMA).measured


def test_anti_concentration_by_hand():
    """Half of the draws at 0 and half at sigma: an interval of any width below sigma / 2 holds half of them."""
    draws = SIGMA * np.repeat([0.0, 1.0], 500)
    least = maxima_module.WIDTHS[0]
    assert anti_concentration(draws, 2, SIGMA).measured == pytest.approx(0.5 / (4.0 * least * (1.0 + 1.0 / math.sqrt(math.pi))), rel=1e-9)
    assert explicit_anti_concentration(draws, 2, SIGMA).measured == pytest.approx(
        0.5 / (4.0 * least * (1.0 + math.sqrt(2.0 * math.log(2.0)))), rel=1e-9
    )


def test_the_constant_of_the_lower_quantile():
    draws = np.linspace(0.0, 1.0, 1001)
    found = [delta / math.sqrt(math.log(30 / math.log(1.0 / delta))) / SIGMA for delta in maxima_module.DELTAS]
    assert lower_quantile(draws, 30, SIGMA).measured == pytest.approx(min(found), rel=1e-9)
    assert lower_quantile(2.0 * draws, 30, SIGMA).measured == pytest.approx(2.0 * min(found), rel=1e-9)
