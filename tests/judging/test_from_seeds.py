"""Statements that are judged from a setting and a seed: over seeds and sizes, with options that are the fields of their setting."""

import re

import pytest
from pydantic import Field

from mvsim.base.errors import StalledError, UsageError
from mvsim.judging.controls import control_section
from mvsim.judging.from_seeds import FromSeeds, exponents, judged_over_seeds
from mvsim.judging.statement import Control, Paper, Request, Setting, Statement
from mvsim.judging.verdict import Verdict


class Boxes(Setting):
    C: int = Field(gt=1)
    width: float = Field(1.0, gt=0.0)


def statement(judge, kind="lemma", number="0", **more):
    return Statement(kind, number, "it is so", FromSeeds(judge), Boxes, size="C", sizes=(3,), **more)


def measuring(*values):
    """Return a judge that measures one number after another, and decides by nothing."""
    return statement(lambda box, seed: [Verdict("", "holds", "s", values[seed] * box.C**-2.0)])


def test_over_seeds_the_worst_counts_and_constants_have_medians():
    def judge(box, seed):
        return [
            Verdict("", ("holds", "fails", "holds")[seed], "s", float(seed), 0.0, float(seed)),
            Verdict("c", "measured", "s", (3.0, 5.0, None)[seed]),
        ]

    judged, (decided, measured) = judged_over_seeds(statement(judge), Boxes(C=4), 3)
    assert [one.seed for one in judged] == [0, 1, 2]
    assert (decided.status, decided.name, decided.measured, decided.kind) == ("fails", "Lemma 0, C = 4", 1.0, "theorem")
    assert "the worst of 3 seeds is seed 1 (1 fails, 2 holds; median 1, range [0, 2])" in decided.detail
    assert (measured.status, measured.name, measured.measured, measured.kind) == ("measured", "Lemma 0 (c), C = 4", 4.0, "step")
    assert "median of 2 runs (nothing was measured in 1 others)" in measured.detail


def test_data_of_which_it_does_not_speak_are_left_out():
    one = statement(lambda box, seed: [Verdict("", "fails" if seed == 1 else "holds", "s")], premises=lambda box, seed: "seed 1" if seed == 1 else "")
    _, (verdict,) = judged_over_seeds(one, Boxes(C=4), 3)
    assert (verdict.status, verdict.detail.endswith("1 of 3 data sets are left out: seed 1")) == ("holds", True)
    never = statement(None, premises=lambda box, seed: "why")
    judged, (verdict,) = judged_over_seeds(never, Boxes(C=4), 2)
    assert (judged, verdict.status, verdict.name, verdict.kind) == ([], "not applicable", "Lemma 0, C = 4", "theorem")


def test_trends_are_exponents_of_medians_with_intervals_over_seeds():
    one = measuring(5.0, 7.0, 9.0, 7.0, 70.0)
    (trend,) = exponents(one, {C: judged_over_seeds(one, Boxes(C=C), 5)[0] for C in (2, 4, 9)})
    assert trend.name == "Lemma 0 (trend in C)"
    assert abs(trend.measured + 2.0) < 1e-12  # the worst data set has no part in it
    low, high = map(float, re.search(r"95% interval \[(.*), (.*)\] over seeds; medians 1.75 at C = 2 \(5 runs\)", trend.detail).groups())
    assert -6.0 < low < -2.0 < high < 2.0
    with_zero = measuring(1.0, 0.0)
    assert exponents(with_zero, {C: judged_over_seeds(with_zero, Boxes(C=C), 2)[0] for C in (4, 2)}) == []  # round-off has no exponent
    assert exponents(one, {4: judged_over_seeds(one, Boxes(C=4), 1)[0]}) == []


def test_sections_come_size_by_size_then_the_trend_then_the_controls():
    broken = Control("nothing", "it must", lambda box, seed: [Verdict("", "holds", "s")])
    one = statement(lambda box, seed: [Verdict("", "holds", "s", box.width)], controls=(broken,))
    first, second, trend, controls = one.procedure.sections([one], one.at([2, 3], {"width": [1.0, 2.0]}), Request(seeds=2, controls=True))
    assert [section.title for section in (first, second, trend, controls)] == [
        "Lemma 0, C = 2, 2 seeds",
        "Lemma 0, C = 3, 2 seeds",
        "Lemma 0, trend in C",
        "Lemma 0, controls",
    ]
    assert (first.verdicts[0].measured, second.verdicts[0].measured) == (1.0, 2.0)
    assert controls.verdicts[0].status == "fails"  # a control that does not turn


def test_a_control_whose_data_are_not_spoken_of_says_nothing_and_one_that_stops_fails():
    def stopped(box, seed):
        raise StalledError("nowhere")

    control = Control("nothing", "it must", stopped)
    (verdict,) = control_section("Lemma 0", (control,), Boxes(C=3)).verdicts
    assert (verdict.status, "its run could not be followed: nowhere" in verdict.detail) == ("fails", True)
    (verdict,) = control_section("Lemma 0", (control,), Boxes(C=3), premises=lambda box, seed: "why").verdicts
    assert (verdict.status, verdict.kind) == ("not applicable", "control")


@pytest.mark.parametrize(
    ("sizes", "fields", "message"),
    [
        ([3], {"zzz": 1}, "zzz=1: is no argument and no option of Lemma 0$"),
        ([3], {"widht": 1}, "widht=1: is no argument and no option of Lemma 0, did you mean width[?]"),
        ([3, 4], {"width": [1.0, 2.0, 3.0]}, r"width=\[1.0, 2.0, 3.0\]: 3 values for 2 of C; give one, or one for each C"),
        ([3], {"width": -1.0}, "^width=-1.0: must be more than 0$"),
        ([1], {}, "^C=1: must be more than 1$"),
    ],
)
def test_options_are_the_fields_of_the_setting(sizes, fields, message):
    with pytest.raises(UsageError, match=message):
        statement(None).at(sizes, fields)


def test_statements_are_found_by_their_names_and_by_numbers_that_are_unique():
    lemma, theorem, claim = statement(None), statement(None, "theorem", "0"), statement(None, "claim", "B.1")
    paper = Paper("boxes", "On boxes", "Nobody (1900)", (lemma, theorem, claim))
    assert paper.statement("lemma-0") is lemma
    assert paper.statement("THEOREM-0") is theorem
    assert paper.statement("b.1") is paper.statement("claim-B.1") is claim
    with pytest.raises(UsageError, match=r"^'boxes/0': give boxes/lemma-0 or boxes/theorem-0$"):
        paper.statement("0")
    with pytest.raises(UsageError, match=r"^'boxes/lemma-B.1': give boxes/claim-B.1$"):
        paper.statement("lemma-B.1")
    with pytest.raises(UsageError, match=r"is no statement of this paper; mvsim verify --list boxes names them$"):
        paper.statement("17")
