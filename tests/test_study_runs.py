"""How studies make their runs on all cores, and what the study of paths makes of the constants of single runs."""

import os

import pytest
from lib.runs import followed_side_by_side, on_all_cores
from studies import paths

import mvsim
from mvsim.verification.verify import judgements_over_seeds

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@pytest.fixture
def environment(monkeypatch):
    """The environment, put back afterwards."""
    for name in THREADS:
        monkeypatch.setenv(name, "7")


@pytest.mark.usefixtures("environment")
def test_each_process_has_one_thread_and_the_order_is_kept():
    assert on_all_cores(os.environ.get, [*THREADS, "NOT_THERE"]) == ["1", "1", "1", "1", None]


@pytest.mark.usefixtures("environment")
def test_runs_that_were_made_side_by_side_are_found(tmp_path, monkeypatch):
    p = mvsim.Parameters(k=3, m=3, N=30, P=27, d=40)
    followed_side_by_side("4.6", p, 2, tmp_path, follow=False)
    made = {path.name: path.read_bytes() for path in tmp_path.glob("*.nc")}
    assert len(made) == 2
    monkeypatch.setattr("mvsim.simulation.run_cache.simulate", None)  # nothing is made any more
    judgements, stopped = judgements_over_seeds("4.6", p, 2, tmp_path, follow=False)
    assert ([judgement.run.seed for judgement in judgements], stopped) == ([0, 1], [])
    assert {path.name: path.read_bytes() for path in tmp_path.glob("*.nc")} == made


def answer(k, constants, path="literal", **fields):
    return {"theorem": "4.6", "path": path, "k": k, "fields": fields, "constants": constants}


def test_slopes_are_those_along_each_path_alone():
    results = {
        "a": answer(10, {"Claim B.7 (outputs)": [10.0, 10.0], "Claim B.9": [1.0], "Claim B.5": [2.0]}),
        "b": answer(6, {"Claim B.7 (outputs)": [6.0, 6.0], "Claim B.9": [-1.0]}),
        "c": answer(6, {"Claim B.7 (outputs)": [36.0]}, "falling"),
        "d": answer(10, {"Claim B.7 (outputs)": [100.0]}, "falling"),
        "e": answer(10, {"Claim B.7 (outputs)": [1.0]}, "falling", P=6000),
    }
    found = paths.slopes(results)
    assert {path: list(parts) for path, parts in found.items()} == {"literal": ["Claim B.7 (outputs)"], "falling": ["Claim B.7 (outputs)"]}
    assert found["literal"]["Claim B.7 (outputs)"] == pytest.approx((1.0, 1.0, 1.0))
    assert found["falling"]["Claim B.7 (outputs)"] == pytest.approx((2.0, 2.0, 2.0))
