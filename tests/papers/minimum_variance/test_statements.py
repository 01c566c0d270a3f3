"""Statements hold where they should, their controls do not pass, and counterexamples have the numbers that they are known by."""

import pytest

import mvsim
from mvsim.papers.minimum_variance.counterexamples import CE1, CE2, largest_failing_decay
from mvsim.papers.minimum_variance.drawn_distributions import Drawn
from mvsim.papers.minimum_variance.network_variance import METHODS, Network, network_variance, trained
from mvsim.papers.papers import paper_named

PAPER = paper_named("variance")
ON_GRID = [f"variance/{one.identifier}" for one in PAPER.statements if one.setting is Drawn]
COUNTEREXAMPLES = [f"variance/{one.identifier}" for one in PAPER.statements if one.kind == "counterexample"]


def verify(tmp_path, *what, **options):
    return mvsim.verify(what, folder=tmp_path, **options)


def test_statements_hold_on_the_grid_and_their_controls_do_not_pass(tmp_path):
    verdicts = verify(tmp_path, *ON_GRID, n=(1, 3), seeds=4, values=2, controls=True)
    assert {v.status for v in verdicts if v.kind != "step"} == {"holds", "not applicable"}
    assert sum(v.kind == "control" for v in verdicts) == sum(len(one.controls) for one in PAPER.statements if one.setting is Drawn)
    assert {v.number for v in verdicts if v.kind == "theorem"} >= {"3.1", "3.2", "3.3", "3.4"}
    vacuous = [v.detail for v in verdicts if v.status == "not applicable"]
    assert len(vacuous) == 6
    assert all(words.startswith("vacuous: no minimiser") for words in vacuous)


def test_a_missing_premise_is_told_with_its_numbers(tmp_path):
    verdicts = verify(tmp_path, "variance/3.1", n=1, seeds=6, ratio=3.0)
    left_out = [v.detail for v in verdicts if "left out" in v.detail]
    assert left_out
    assert "premise missing: (M) gamma_H > |z|" in left_out[0]


def test_counterexamples_contradict_what_is_written(tmp_path):
    verdicts = verify(tmp_path, *COUNTEREXAMPLES)
    assert {v.status for v in verdicts} == {"contradicted"}
    assert all(v.detail.endswith("contradicted as written") for v in verdicts)
    details = {v.name: v.detail for v in verdicts}
    assert "beta < 0.01472" in details["Counterexample CE1 (Theorem 3.1)"]
    assert "beta < 1.5" in details["Counterexample CE2 (Theorem 3.1)"]
    assert "share 0.650" in details["Counterexample decay (Theorem 3.3)"]
    assert "w_H = -0.159062966" in details["Counterexample imbalance (Theorem 3.4)"]
    assert next(v.measured for v in verdicts if v.name == "Counterexample CE2 (Corollary 3.2)") == pytest.approx(2.0, rel=1e-12)


def test_where_a_counterexample_does_not_contradict(tmp_path):
    verdicts = verify(tmp_path, "variance/counterexample-CE1", beta=0.1)
    assert [v.status for v in verdicts] == ["holds", "contradicted"]
    assert largest_failing_decay(CE1) == pytest.approx(0.01472, abs=6e-6)
    assert largest_failing_decay(CE2) == pytest.approx(1.5e-5, abs=6e-7)


def test_bounds_hold_of_the_network_on_multi_view_data_and_not_without_their_condition(tmp_path):
    verdicts = verify(tmp_path, "variance/network-output-variance", seeds=2, controls=True)
    assert [v.status for v in verdicts if v.kind != "control"].count("holds") == 3
    assert {v.status for v in verdicts} == {"holds"}


def test_the_loss_of_the_network_is_that_of_the_objective():
    for name, (method, options, augmentation) in METHODS.items():
        p, data, c = trained(Network(steps=30), 0, name)
        found = network_variance(p, data, c, **augmentation)
        loss = mvsim.objective(method, p, data, **{key: value for key, value in options.items() if key != "weight_decay"}).loss(c)
        assert found.loss == pytest.approx(loss, rel=1e-12), name
