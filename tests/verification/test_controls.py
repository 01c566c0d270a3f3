"""Negative controls: each has to make its check turn, and one that does not is told."""

from dataclasses import replace

import pytest

import mvsim
from mvsim.verification import controls
from mvsim.verification.controls import CONTROLS, Outcome
from mvsim.verification.verdict import Verdict

SMALL = mvsim.Parameters(k=3, N=40, d=400)
SMALLER = {"alpha = 1": mvsim.Parameters(k=2, N=20, d=400)}
"""Where following the flow to its end would take long."""
QUICK = [
    c for c in CONTROLS if c.check not in ("Theorem 4.6", "Theorem 4.7") or c.name not in ("nothing changed", "beta constant", "labels shuffled")
]
"""The others are followed for long; `python validation/run.py theorems` has them."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where controls keep their runs."""
    return tmp_path_factory.mktemp("controls")


@pytest.mark.parametrize("control", QUICK, ids=lambda c: f"{c.name}: {c.check}")
def test_controls_turn(control, folder):
    outcome = Outcome(control, control.judge(folder, SMALLER.get(control.name, SMALL), 0))
    assert outcome.as_expected, outcome.verdict().detail
    assert outcome.verdict().status == "holds"
    others = {"holds", "fails", "inconclusive"} - set(control.expected)
    assert Outcome(replace(control, expected=tuple(others)), outcome.verdicts).verdict().status == "fails"


def test_a_control_whose_run_stops_has_not_turned_and_the_others_go_on(tmp_path, monkeypatch):
    def stopped(folder, parameters, seed):
        raise mvsim.StalledError("nowhere")

    early = next(c for c in CONTROLS if c.expected == ("inconclusive",))
    monkeypatch.setattr(controls, "CONTROLS", (replace(early, judge=stopped), CONTROLS[0]))
    first, second = (outcome.verdict() for outcome in controls.run_controls(tmp_path, SMALL))
    assert (first.status, second.status) == ("fails", "holds")
    assert "its run could not be followed: nowhere" in first.detail


def test_every_part_has_to_turn():
    control = replace(CONTROLS[0], expected=("fails",), parts=("A", "B"))
    failed, held = Verdict("A", "fails", "s"), Verdict("B", "holds", "s")
    assert not Outcome(control, [failed, held]).as_expected
    assert Outcome(control, [failed, replace(held, status="fails")]).as_expected
    assert not Outcome(control, [failed]).as_expected  # a part that was not looked at
    assert Outcome(replace(control, parts=()), [failed, held]).as_expected


def test_both_theorems_and_all_calculations_have_controls():
    turned = {(c.check, part) for c in CONTROLS if "holds" not in c.expected for part in (c.parts or ("",))}
    assert {("Theorem 4.6", ""), ("Theorem 4.7", "")} <= turned
    assert {part for check, part in turned if check == "Calculations"} == {
        "Calculation A.6", "Calculation A.7 (own feature)", "Calculation A.8", "Calculation A.9", "Calculation A.10",
    }  # fmt: skip
