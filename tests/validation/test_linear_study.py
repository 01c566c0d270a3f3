"""The study of the linear regime: what it counts, and the faults that it finds in times in which gaps close."""

import math

import numpy as np
from compare import assert_close
from lib.linear import measures
from lib.paths import ROOT
from looping import looping
from studies import linear_regime

import mvsim
from mvsim.papers.midpoint_mixup.section_3.sample import ONE


@looping(("method", "said"), [("midpoint", "0.10"), ("erm", "1.3")])
def test_the_gaps_are_those_that_the_page_tells(method, said):
    c = mvsim.simulate(mvsim.Parameters(k=10, model="linear"), method=method, t_end=1e6).final_correlations
    gaps = np.einsum("yryl->yl", c) @ [1.0, -1.0]
    assert f"{np.abs(gaps).max():.2g}" == f"{float(said):.2g}"
    page = (ROOT / "docs" / "linear-regime.md").read_text(encoding="utf-8")
    assert "at t = 10^6 the largest is 0.10 under Midpoint Mixup and 1.3 under ERM" in page


def faults(erm, midpoint):
    return linear_regime._closing_faults({"closing": {"times": {"erm": {"5": erm}, "midpoint": {"5": midpoint}}}})


def test_gaps_that_close_late_under_erm_are_no_fault():
    assert faults([[10.0, 12.0], [2000.0, 3000.0]], [[9.0, 9.0], [20.0, 30.0]]) == []


@looping(("erm", "midpoint"), [([[1.0], [None]], [[1.0], [2.0]]), ([[None], [100.0]], [[1.0], [2.0]])])
def test_a_gap_that_never_closes_under_erm_is_a_fault(erm, midpoint):
    """At the largest gap too, where never is later than any time."""
    assert faults(erm, midpoint) == ["k = 5: under erm a gap does not close"]


def test_a_gap_that_one_data_set_never_closes_is_a_fault_under_midpoint_mixup():
    """The median over data sets hides it."""
    assert faults([[10.0] * 3, [2000.0] * 3], [[9.0] * 3, [20.0, 30.0, None]]) == ["k = 5: under midpoint a gap does not close"]


def test_a_gap_that_erm_closes_as_soon_is_a_fault():
    (fault,) = faults([[10.0], [200.0]], [[9.0], [30.0]])
    assert fault == "k = 5: at the largest gap ERM takes 200 and Midpoint Mixup 30"


def test_the_loss_shows_no_break_where_its_class_is_absent_or_alone(monkeypatch):
    """Against a count of labels, on the data sets of which the study evaluates the loss."""
    monkeypatch.setattr(measures, "UNSEEN_DRAWS", 60)
    monkeypatch.setattr(measures, "UNSEEN_N", (1, 4, 12))
    drawn = []
    sample = measures.Sample
    monkeypatch.setattr(measures, "Sample", lambda parameters, seed: drawn.append(sample(parameters, seed)) or drawn[-1])
    rows = measures.unseen()
    for row, draws in zip(rows, (drawn[:60], drawn[60:120], drawn[120:]), strict=True):
        own = [int((one.labels == 0).sum()) for one in draws]
        assert row["fraction"] == np.mean([count in (0, row["N"]) for count in own])
        assert_close(row["exact"], 0.8 ** row["N"] + 0.2 ** row["N"], 1e-12)
    assert 0.0 < rows[-1]["fraction"] < rows[1]["fraction"] < rows[0]["fraction"] == 1.0


def test_the_pulls_as_written_are_those_of_the_engine():
    """Of Midpoint Mixup beyond the largest gap, and of ERM with a negative lagging correlation."""
    k, points = 5, 20
    (row,) = measures.gradients([k], points, 1).values()
    parameters = mvsim.Parameters(k=k, model="linear", N=points * k)
    data = mvsim.sample_dataset(parameters, 0)
    c = np.zeros((k, 1, k, 2))
    c[ONE, 0, ONE, 1] = -10.0 * math.log(k)
    erm = mvsim.objective("erm", parameters, data).gradient(c)
    assert_close(row["erm_as_written"]["10.0"][0], -float(erm[ONE, 0, ONE, 1]), 1e-12)
    c[np.arange(k), 0, np.arange(k)] = -1e4
    c[ONE, 0, ONE] = 10.0 * math.log(k), 0.0
    midpoint = mvsim.objective("midpoint", parameters, data).gradient(c)
    assert_close(row["beyond"][0], -float(midpoint[ONE, 0, ONE, 1]), 1e-9)
    assert row["beyond"][0] < 0.0 < row["lagging"][0]
