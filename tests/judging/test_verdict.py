"""Verdicts, intervals and what lasts."""

import math
import re

import numpy as np
import pytest
from binomial import binomial_tail

from mvsim.judging.answer_text import asked_for, conclusion
from mvsim.judging.number_text import beyond_text, is_beyond, side_text
from mvsim.judging.probability import fraction_at_least, further_needed
from mvsim.judging.verdict import Verdict, at_most, constant, exit_code, margin_above, margin_below
from mvsim.numerics.intervals import clopper_pearson
from mvsim.papers.midpoint_mixup.evidence.persistence import lasts, unchanged_since
from mvsim.papers.midpoint_mixup.paper import PAPER


@pytest.mark.parametrize(("x", "n"), [(1, 10), (5, 10), (19, 20), (43, 50)])
def test_clopper_pearson_solves_its_equations(x, n):
    low, high = clopper_pearson(x, n)
    assert binomial_tail(n, x, low) == pytest.approx(0.025, rel=1e-9)
    assert 1 - binomial_tail(n, x + 1, high) == pytest.approx(0.025, rel=1e-9)


def test_clopper_pearson_at_the_ends():
    assert clopper_pearson(200, 200) == (pytest.approx(0.025 ** (1 / 200)), 1.0)
    assert clopper_pearson(0, 3)[0] == 0.0


@pytest.mark.parametrize(
    ("x", "n", "status"),
    [
        (10, 10, "consistent"),
        (19, 20, "consistent"),
        (9, 10, "inconclusive"),
        (100, 100, "established"),
        (30, 100, "contradicted"),
        (0, 3, "contradicted"),
    ],
)
def test_a_fraction_is_decided_by_its_interval(x, n, status):
    verdict = fraction_at_least("name", "statement", x, n, 0.95)
    assert (verdict.status, verdict.measured, verdict.bound) == (status, x / n, 0.95)
    assert (verdict.margin >= 0) == (x >= 0.95 * n)
    assert ("would establish it" in verdict.detail) == (status == "consistent")


@pytest.mark.parametrize(("n", "bound"), [(20, 0.9), (36, 0.9), (60, 0.75), (183, 0.98)])
def test_an_interval_leaves_out_a_fortieth_on_each_side(n, bound):
    """Established if so many successes or more have probability 0.025 at most where the bound is true, contradicted if so few or fewer have."""
    found = [fraction_at_least("name", "statement", x, n, bound).status for x in range(n + 1)]
    expected = [
        "contradicted" if 1.0 - binomial_tail(n, x + 1, bound) < 0.025
        else "established" if binomial_tail(n, x, bound) <= 0.025
        else "consistent" if x / n >= bound else "inconclusive"
        for x in range(n + 1)
    ]  # fmt: skip
    assert found == expected
    assert {"contradicted", "inconclusive", "consistent"} <= set(found)


@pytest.mark.parametrize(("x", "n", "bound"), [(0, 0, 0.9), (1, 1, 0.98), (19, 20, 0.9), (200, 200, 0.9)])
def test_the_number_that_would_establish_it_is_the_least(x, n, bound):
    found = further_needed(x, n, bound) if n else 1 + further_needed(1, 1, bound)
    assert binomial_tail(n + found, x + found, bound) <= 0.025 * (1 + 1e-9)
    assert not found or binomial_tail(n + found - 1, x + found - 1, bound) > 0.025


def test_at_ten_classes_it_takes_as_many_clean_runs_as_the_help_and_the_pages_say():
    assert 1 + further_needed(1, 1, 1 - 1 / 10) == 36


def test_what_cannot_be_established_with_a_sensible_number_is_not_promised():
    assert further_needed(0, 1, 1 - 1e-9) is None
    assert "more than 100000 further" in fraction_at_least("name", "statement", 1, 1, 1 - 1e-9).detail


def test_where_fewer_runs_hold_than_should_nothing_speaks_for_a_theorem():
    verdict = fraction_at_least("name", "statement", 0, 1, 1 - 1 / 10)
    assert verdict.status == "inconclusive"
    assert verdict.detail.endswith("; 1 further run in which it fails would contradict it")
    assert [fraction_at_least("name", "statement", 0, n, 1 - 1 / 10).status for n in (1, 2)] == ["inconclusive", "contradicted"]
    some = fraction_at_least("name", "statement", 15, 20, 1 - 1 / 10)
    assert some.status == "inconclusive"
    further = int(re.search(r"(\d+) further runs? in which it fails would contradict it", some.detail)[1])
    assert [fraction_at_least("name", "statement", 15, 20 + n, 1 - 1 / 10).status for n in (further - 1, further)] == ["inconclusive", "contradicted"]


def test_one_run_of_one_is_consistent_and_never_established():
    verdict = fraction_at_least("name", "statement", 1, 1, 1 - 1 / 50)
    assert verdict.status == "consistent"
    assert "182 further runs without a failure" in verdict.detail  # (1 - 1/50)^183 is the first power below 0.025


ALL = [
    Verdict("of a theorem", "holds", "s", kind="theorem", number="4.6"),
    Verdict("of a claim", "contradicted", "s", kind="step", number="B.26"),
    Verdict("of a calculation", "holds", "s", kind="step", number="A.10"),
    Verdict("of a file", "fails", "s", kind="evidence"),
]
"""What they are called tells nothing."""


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({}, [0, 3]),
        ({"strict": True}, [0, 1, 2, 3]),
        ({"statements": ["theorem-4.6", "corollary-B.26"]}, [0, 1, 3]),
        ({"statements": ["A.10"]}, [2, 3]),
    ],
)
def test_what_is_asked_for_counts_and_what_it_rests_on(asked, expected):
    named = [PAPER.statement(name) for name in asked.get("statements", ())]
    assert asked_for(ALL, **{**asked, "statements": named}) == [ALL[i] for i in expected]


def test_what_is_said_at_one_k_keeps_its_name():
    verdict = Verdict("Claim B.4 (T_A)", "measured", "s", number="B.4").at("k", 10)
    assert (verdict.name, verdict.check, verdict.number) == ("Claim B.4 (T_A), k = 10", "Claim B.4 (T_A)", "B.4")


def test_margins_are_relative_and_signed():
    assert margin_below(1.0, 4.0) == 0.75
    assert margin_below(5.0, 4.0) == -0.25
    assert margin_above(5.0, 4.0) == 0.25
    assert math.copysign(1.0, margin_above(4.0, 4.0)) == 1.0


def test_nan_does_not_hold():
    assert at_most("name", "statement", float("nan"), 1.0).status == "fails"


@pytest.mark.parametrize(
    ("statuses", "code"),
    [
        ([], 0),
        (["holds", "measured"], 0),
        (["established", "consistent", "not applicable"], 0),
        (["holds", "inconclusive"], 3),
        (["inconclusive", "fails"], 1),
        (["measured", "contradicted", "holds"], 1),
    ],
)
def test_exit_codes(statuses, code):
    assert exit_code(Verdict("name", status, "statement") for status in statuses) == code


def test_json_has_no_numbers_that_json_lacks():
    found = constant("name", "statement", math.inf, bound=math.nan).as_dict()
    assert (found["measured"], found["bound"], found["status"]) == ("inf", "nan", "measured")


def test_what_is_not_measured_is_not_applicable():
    assert constant("name", "statement", None, 2.0, detail="nothing").status == "not applicable"
    assert constant("name", "statement", 0.0).status == "measured"


def test_what_lasts_has_not_changed_for_a_decade():
    times = np.array([0.0, 1.0, 2.0, 5.0, 20.0])
    assert unchanged_since(times, np.array([1, 1, 0, 1, 1])) == 5.0
    assert not lasts(times, np.array([1, 1, 0, 1, 1]))
    assert lasts(times, np.array([0, 0, 1, 1, 1]))
    assert lasts(times, np.ones(5))
    assert not lasts(times[:4], np.ones(4))  # since the first step, which counts as the least time
    assert not lasts(times[:1], np.ones(1))
    assert not lasts(times, np.array([[1, 1], [1, 1], [1, 1], [1, 0], [1, 1]]))


def test_what_is_concluded_without_a_theorem_is_about_the_runs():
    evidence, theorem = (Verdict("Replay", "holds", "", kind=kind) for kind in ("evidence", "theorem"))
    assert conclusion(0, [evidence]).startswith("no theorem was judged")
    assert conclusion(0, [evidence, theorem]) == "what was asked for holds in what was judged"
    assert conclusion(0, []) == "nothing was decided"


@pytest.mark.parametrize(
    ("measured", "bound", "above", "said"),
    [
        (31.0, 18.0, False, "31 > 18"),
        (-0.5, 0.0, True, "-0.5 < 0"),
        (0.9901, 0.99, False, "0.9901 > 0.99"),
        (0.1, 0.2, False, None),
        (18.0, 18.0, False, None),
        (0.5, 0.5, True, None),
    ],
)
def test_numbers_beyond_the_constant_of_a_proof_say_on_which_side(measured, bound, above, said):
    verdict = constant("Claim B.19", "", measured, bound, above)
    assert is_beyond(verdict) == (said is not None)
    assert said is None or side_text(verdict) == said
    assert said is None or ("wrong sign" in beyond_text(verdict)) == (bound == 0.0)
