"""Verdicts on runs whose points were given."""

from __future__ import annotations

import pytest
from tiny_run import TINY

import mvsim

PARAMETERS = mvsim.Parameters(**TINY)


@pytest.fixture(scope="module")
def points():
    return mvsim.sample_dataset(PARAMETERS, 1)


@pytest.fixture(scope="module")
def run(points):
    return mvsim.simulate(PARAMETERS, "erm", 0, data=points, t_end=1e3, n_test=4)


def test_a_run_on_given_points_is_judged_with_them(run, points):
    verdicts = mvsim.verify(run, data=points)
    assert {v.status for v in verdicts if v.name.startswith(("Replay", "Records", "Gradient flow"))} <= {"holds", "not applicable", "measured"}
    assert any(v.name == "Replay (states)" and v.status == "holds" for v in verdicts)
    assert all("data" in v.regime for v in verdicts)


def test_the_regime_says_nothing_of_the_distribution_of_other_points(run, points):
    names = [deviation.name for deviation in run.regime]
    assert names[0] == "data"
    assert "d" in names
    assert {deviation.name for deviation in PARAMETERS.deviations()} - {"d", "m", "rho", "alpha"} >= {"delta3", "Q"}
    assert {"delta3", "delta4", "Q", "N", "P", "P delta3"}.isdisjoint(names)
    (verdict,) = [v for v in mvsim.verify(run, data=points) if v.name == "Records (regime)"]
    assert verdict.status == "holds"


def test_it_needs_the_points_that_it_was_trained_on(run, points):
    with pytest.raises(mvsim.UsageError, match=r"given points, which the file does not keep; judge it in Python with them"):
        mvsim.verify(run)
    with pytest.raises(mvsim.UsageError, match="was trained on other points"):
        mvsim.verify(run, data=mvsim.sample_dataset(PARAMETERS, 2))
    with pytest.raises(mvsim.UsageError, match=r"data=3: must be a mvsim\.Dataset"):
        mvsim.verify(run, data=3)


def test_points_are_refused_where_none_were_given(points):
    run = mvsim.simulate(PARAMETERS, "erm", 0, t_end=10.0, n_test=4)
    with pytest.raises(mvsim.UsageError, match="not on given ones; leave out data"):
        mvsim.verify(run, data=points)
    with pytest.raises(mvsim.UsageError, match="points that existing runs were trained on"):
        mvsim.verify("midpoint/4.6", data=points)
