"""Negative controls: each has to make its check turn, and one that does not is told."""

from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import mvsim
from mvsim.judging.controls import control_verdict
from mvsim.judging.verdict import Verdict
from mvsim.papers.midpoint_mixup import controls, judge_run, paper
from mvsim.papers.midpoint_mixup.controls import CONTROLS, KeptRuns
from mvsim.papers.midpoint_mixup.judge_run import Judgement

SMALL = mvsim.Parameters(k=3, N=30, P=12, d=300)
SMALLER = {"alpha = 1": mvsim.Parameters(k=2, N=20, d=400)}
"""Where following the flow to its end would take long."""
QUICK = [
    c for c in CONTROLS if c.check not in ("Theorem 4.6", "Theorem 4.7") or c.name not in ("nothing changed", "beta constant", "labels shuffled")
]
"""The others are followed for long; `python validation/run.py theorems` has them."""

LONG = ("a wait for an escape shortened", "lambda = 1, which is ERM")
"""Of those that are quick, the slowest."""

FOUND_LATE = ("alpha - 1", "dead final network")
"""Of those whose run is replayed, which need more of the replay."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where controls keep their runs."""
    return tmp_path_factory.mktemp("controls")


@pytest.mark.parametrize("control", [pytest.param(c, marks=pytest.mark.slow if c.name in LONG else (), id=f"{c.name}: {c.check}") for c in QUICK])
def test_controls_turn(control, folder, monkeypatch):
    monkeypatch.setattr(
        judge_run, "replayed", partial(judge_run.replayed, part=1.0 if control.name in LONG else 0.3 if control.name in FOUND_LATE else 0.05)
    )
    verdicts = control.judge(KeptRuns(SMALLER.get(control.name, SMALL), folder), 0)
    outcome = control_verdict(control, control.check, verdicts)
    assert outcome.status == "holds", outcome.detail
    others = {"holds", "fails", "inconclusive"} - set(control.expected)
    assert control_verdict(replace(control, expected=tuple(others)), control.check, verdicts).status == "fails"


@pytest.fixture
def followed(monkeypatch):
    """Runs that are made and judged in name only: what they were made with, and what the judge was given. The third is decided."""
    made, judged = [], []

    def kept(folder, parameters, method, seed, **options):
        made.append((parameters, method, seed, options))
        return SimpleNamespace(dataset={"final_step": 100 * len(made)})

    def judge(run, theorem, data=None, everything=True):
        judged.append((run, theorem, data))
        features = Verdict("Theorem (features)", "fails" if len(judged) == 3 else "inconclusive", "s", kind="theorem")
        return Judgement(run, [features, Verdict("Definition 4.5", "holds", "s")])

    monkeypatch.setattr(controls, "kept_run", kept)
    monkeypatch.setattr(controls, "judge", judge)
    return made, judged


def of_theorem(name):
    return next(c for c in CONTROLS if c.name == name and c.check.startswith("Theorem"))


def outcome_of(name, folder, seed=0):
    control = of_theorem(name)
    return control_verdict(control, control.check, control.judge(KeptRuns(SMALL, folder), seed)).status


@pytest.mark.parametrize("seed", [0, 3])
def test_runs_with_shuffled_labels_are_made_with_them_and_judged_by_them(followed, tmp_path, seed):
    made, judged = followed
    assert outcome_of("labels shuffled", tmp_path, seed) == "holds"
    assert len(made) == len(judged) == 3
    for (p, method, of_run, options), (_, theorem, data) in zip(made, judged, strict=True):
        own = mvsim.sample_dataset(p, seed)
        assert (method, of_run, theorem, set(options)) == ("erm", seed, "4.6", {"until", "data"})
        assert (p.k, p.N, p.delta3, p.delta4) == (SMALL.k, SMALL.N, 0.0, 0.0)
        for given in (options["data"], data):
            assert (given.labels != own.labels).sum() > 10
            np.testing.assert_array_equal(np.sort(given.labels), np.sort(own.labels))
            np.testing.assert_array_equal(given.to_patches(), own.to_patches())
        np.testing.assert_array_equal(options["data"].labels, data.labels)


def test_runs_with_constant_beta_are_made_with_it_and_keep_their_labels(followed, tmp_path):
    made, judged = followed
    assert outcome_of("beta constant", tmp_path) == "holds"
    for (p, method, _, options), (_, theorem, data) in zip(made, judged, strict=True):
        assert (method, theorem, set(options), data) == ("midpoint", "4.7", {"until"}, None)
        coefficients = mvsim.sample_dataset(p, 0).signal_coefficients
        assert p.signal_layout == "fixed"
        np.testing.assert_allclose(coefficients.sum(axis=2), 0.5 * p.C_P * p.delta2, rtol=1e-12)
    assert made[0][0] == SMALL.replace(beta_law=made[0][0].beta_law, signal_layout="fixed")


def test_a_control_is_followed_ten_times_later_each_time_until_it_is_decided(followed, tmp_path, monkeypatch):
    made, _ = followed
    control = of_theorem("labels shuffled")
    decided = control.judge(KeptRuns(SMALL, tmp_path), 0)
    assert [options["until"] for *_, options in made] == [1e5, 1e6, 1e7]
    assert [verdict.status for verdict in decided] == ["fails"]  # and nothing that is said besides
    made.clear()  # what is judged from here on is never decided
    monkeypatch.setattr(controls, "MOST_STEPS", 150)
    assert [verdict.status for verdict in control.judge(KeptRuns(SMALL, tmp_path), 0)] == ["inconclusive"]
    assert [options["until"] for *_, options in made] == [1e5, 1e6]


def test_a_control_whose_run_stops_has_not_turned_and_the_others_go_on(tmp_path, monkeypatch):
    def stopped(setting, seed):
        raise mvsim.StalledError("nowhere")

    early = next(c for c in CONTROLS if c.expected == ("inconclusive",))
    monkeypatch.setattr(paper, "CONTROLS", (replace(early, judge=stopped), CONTROLS[0]))
    first, second = (section.verdicts[0] for section in paper.run_controls(tmp_path, SMALL))
    assert (first.status, second.status) == ("fails", "holds")
    assert "its run could not be followed: nowhere" in first.detail


def verdict_of(control, *verdicts):
    return control_verdict(control, control.check, list(verdicts))


def test_every_part_has_to_turn():
    control = replace(CONTROLS[0], expected=("fails",), parts=("A", "B"))
    failed, held = Verdict("A", "fails", "s"), Verdict("B", "holds", "s")
    assert verdict_of(control, failed, held).status == "fails"
    assert verdict_of(control, failed, replace(held, status="fails")).status == "holds"
    assert verdict_of(control, failed).status == "fails"  # a part that was not looked at
    assert verdict_of(replace(control, parts=()), failed, held).status == "holds"


def test_the_verdict_names_the_part_that_has_not_turned():
    control = replace(CONTROLS[0], expected=("fails",), parts=("A", "B"))
    other, failed, held = Verdict("Other", "fails", "s", 1.0), Verdict("A", "fails", "s", 2.0), Verdict("B", "holds", "s", 3.0)
    of_part = verdict_of(control, other, failed, held)
    assert (of_part.status, of_part.measured, of_part.detail) == ("fails", 3.0, "holds; B: ")
    turned = verdict_of(control, other, failed, replace(held, status="fails"))
    assert (turned.status, turned.measured, turned.detail) == ("holds", 2.0, "fails; A: ")
    of_all = verdict_of(replace(control, parts=()), held, other, failed)
    assert (of_all.status, of_all.measured, of_all.detail) == ("holds", 1.0, "fails; Other: ")


def test_both_theorems_and_all_calculations_have_controls():
    turned = {(c.check, part) for c in CONTROLS if "holds" not in c.expected for part in (c.parts or ("",))}
    assert {("Theorem 4.6", ""), ("Theorem 4.7", "")} <= turned
    assert {part for check, part in turned if check == "Calculations"} == {
        "Calculation A.6", "Calculation A.7 (own feature)", "Calculation A.8", "Calculation A.9", "Calculation A.10",
    }  # fmt: skip
