"""Verdicts, intervals and what lasts."""

import math

import numpy as np
import pytest

from mvsim.verification.evidence.intervals import clopper_pearson, fraction_at_least
from mvsim.verification.evidence.persistence import lasts, unchanged_since
from mvsim.verification.verdict import Verdict, at_most, constant, exit_code, margin_above, margin_below


def binomial_tail(n, x, p):
    """P(X >= x) by the definition."""
    return sum(math.comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(x, n + 1))


@pytest.mark.parametrize(("x", "n"), [(1, 10), (5, 10), (19, 20), (43, 50)])
def test_clopper_pearson_solves_its_equations(x, n):
    low, high = clopper_pearson(x, n)
    assert binomial_tail(n, x, low) == pytest.approx(0.025, rel=1e-9)
    assert 1 - binomial_tail(n, x + 1, high) == pytest.approx(0.025, rel=1e-9)


def test_clopper_pearson_at_the_ends():
    assert clopper_pearson(200, 200) == (pytest.approx(0.025 ** (1 / 200)), 1.0)
    assert clopper_pearson(0, 3)[0] == 0.0


@pytest.mark.parametrize(("x", "n", "status"), [(10, 10, "holds"), (19, 20, "holds"), (9, 10, "inconclusive"), (30, 100, "fails"), (0, 3, "fails")])
def test_a_fraction_is_decided_by_its_interval(x, n, status):
    verdict = fraction_at_least("name", "statement", x, n, 0.95)
    assert (verdict.status, verdict.measured, verdict.bound) == (status, x / n, 0.95)
    assert (verdict.margin >= 0) == (status == "holds")


def test_margins_are_relative_and_signed():
    assert margin_below(1.0, 4.0) == 0.75
    assert margin_below(5.0, 4.0) == -0.25
    assert margin_above(5.0, 4.0) == 0.25
    assert math.copysign(1.0, margin_above(4.0, 4.0)) == 1.0


def test_nan_does_not_hold():
    assert at_most("name", "statement", float("nan"), 1.0).status == "fails"


@pytest.mark.parametrize(
    ("statuses", "code"),
    [([], 0), (["holds", "measured"], 0), (["holds", "inconclusive"], 3), (["inconclusive", "fails"], 1), (["measured", "fails", "holds"], 1)],
)
def test_exit_codes(statuses, code):
    assert exit_code(Verdict("name", status, "statement") for status in statuses) == code


def test_json_has_no_numbers_that_json_lacks():
    found = constant("name", "statement", math.inf, bound=math.nan).as_dict()
    assert (found["measured"], found["bound"], found["status"]) == ("inf", "nan", "measured")


def test_what_lasts_has_not_changed_for_a_decade():
    times = np.array([0.0, 1.0, 2.0, 5.0, 20.0])
    assert unchanged_since(times, np.array([1, 1, 0, 1, 1])) == 5.0
    assert not lasts(times, np.array([1, 1, 0, 1, 1]))
    assert lasts(times, np.array([0, 0, 1, 1, 1]))
    assert lasts(times, np.ones(5))
    assert not lasts(times[:4], np.ones(4))  # since the first step, which counts as the least time
    assert not lasts(times[:1], np.ones(1))
    assert not lasts(times, np.array([[1, 1], [1, 1], [1, 1], [1, 0], [1, 1]]))
