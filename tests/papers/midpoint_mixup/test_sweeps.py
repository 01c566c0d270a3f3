"""A sweep is judged as its runs are: theorems over the seeds of each combination, and how they go with k."""

from dataclasses import replace

import pytest
from sweep_folder import filled

import mvsim
from mvsim.base.errors import UsageError
from mvsim.judging.over_seeds import over_seeds
from mvsim.judging.verdict import Verdict
from mvsim.papers.midpoint_mixup import over_sweeps as sweeps
from mvsim.papers.midpoint_mixup.judge_run import Judgement
from mvsim.papers.midpoint_mixup.over_runs import over_k


@pytest.fixture
def quickly(monkeypatch):
    """Judge a run by whether its accuracy at the end is 1, and remember by which theorem."""
    asked = []

    def judge(run, theorem):
        asked.append((theorem, run.method, run.parameters.k, run.seed))
        learned = float(run.dataset["feature_learned"][-1].mean())
        status, about = "holds" if learned > 0.4 else "fails", {"kind": "theorem", "number": theorem, "part": "features"}
        return Judgement(run, [Verdict(f"Theorem {theorem} (features)", status, "s", learned, 0.4, regime="scaled", **about)])

    monkeypatch.setattr(sweeps, "judge", judge)
    return asked


def runs_of(path, values, leave_out=(), failed=()):
    folder = filled(path / "runs", values, leave_out=[*leave_out, *failed])
    for index in failed:
        folder.record_failure(folder.study.cells[index], "StalledError", "stuck")
    return mvsim.open_runs(folder.path)


def test_each_combination_is_judged_over_its_seeds_and_k_by_its_trend(tmp_path, quickly):
    runs = runs_of(tmp_path, {"k": "3,4", "r0": "0.1,0.4", "method": "erm,midpoint", "seed": "0:2"}, leave_out=[1], failed=[2])
    told = []
    sections = list(sweeps.judge_sweep(runs, lambda run, before, count: told.append((before, count))))
    assert [section.title for section in sections] == [
        "Theorem 4.6, k=3, r0=0.1, 1 run", "Theorem 4.6, k=3, r0=0.4, 1 run", "Theorem 4.6, k=4, r0=0.1, 2 runs",
        "Theorem 4.6, k=4, r0=0.4, 2 runs",
        "Theorem 4.7, k=3, r0=0.1, 2 runs", "Theorem 4.7, k=3, r0=0.4, 2 runs", "Theorem 4.7, k=4, r0=0.1, 2 runs",
        "Theorem 4.7, k=4, r0=0.4, 2 runs",
        "Theorem 4.6, trend in k, r0=0.1", "Theorem 4.6, trend in k, r0=0.4", "Theorem 4.7, trend in k, r0=0.1", "Theorem 4.7, trend in k, r0=0.4",
    ]  # fmt: skip
    assert sections[0].origin == "1 cell is not done"
    assert sections[0].verdicts[0].detail.endswith("; 1 of 2 cells are not done and not counted")
    assert sections[1].origin == "seed 0 failed: stuck"
    assert told == [(before, 14) for before in range(14)]
    assert [(theorem, method) for theorem, method, *_ in quickly] == [("4.6", "erm")] * 6 + [("4.7", "midpoint")] * 8
    judged = {k: [sweeps.judge(runs.run(index), "4.6") for index in cells] for k, cells in ((3, [3]), (4, [6, 7]))}
    first, *others = over_seeds("Theorem 4.6", 3, judged[3], 1)
    assert sections[1].verdicts == [replace(first, detail=f"{first.detail}; seed 0 failed: stuck"), *others]
    assert sections[9].verdicts == over_k("Theorem 4.6", judged, {3: 1, 4: 0})


def test_what_goes_beside_k_is_part_of_its_trend(tmp_path, quickly):
    folder = filled(tmp_path / "runs", {"k": "3,4", "d": "90,400", "method": "erm", "seed": "0:2"}, [["k", "d"]])
    titles = [section.title for section in sweeps.judge_sweep(mvsim.open_runs(folder.path))]
    assert titles == ["Theorem 4.6, k=3, d=90, 2 runs", "Theorem 4.6, k=4, d=400, 2 runs", "Theorem 4.6, trend in k"]


def test_two_values_that_go_with_one_k_make_no_trend(tmp_path, quickly):
    """The second would stand in the place of the first."""
    values = {"k": "3,3,4,4", "d": "90,400,90,400", "method": "erm", "seed": "0:2"}
    *_, trend = sweeps.judge_sweep(mvsim.open_runs(filled(tmp_path / "runs", values, [["k", "d"]]).path))
    assert (trend.title, [verdict.status for verdict in trend.verdicts]) == ("Theorem 4.6, trend in k", ["not applicable"])
    assert trend.verdicts[0].detail.endswith("no one path in k: k=3, d=90; k=3, d=400; k=4, d=90; k=4, d=400")


def test_a_combination_whose_runs_all_failed_is_undecided(tmp_path, quickly):
    runs = runs_of(tmp_path, {"k": "3,4", "method": "erm"}, failed=[0])
    (lost, *_) = sweeps.judge_sweep(runs)
    assert (lost.verdicts[0].status, lost.verdicts[0].detail) == ("inconclusive", "none of 1 runs could be followed to an end: seed 0 failed: stuck")
    (*_, trend) = sweeps.judge_sweep(runs)
    assert "at k = 3 [0, 3] (0 of 1 run fail, 1 undecided, counted as failing)" in trend.verdicts[0].detail


def test_runs_without_a_theorem_are_left_out_and_named_if_there_are_no_others(tmp_path, quickly):
    runs = runs_of(tmp_path / "some", {"k": 3, "method": "erm,mixup", "mixing": 0.3})
    assert [section.title for section in sweeps.judge_sweep(runs)] == ["Theorem 4.6, k=3, 1 run"]
    runs = runs_of(tmp_path / "none", {"k": 3, "method": "mixup", "mixing": 0.3})
    with pytest.raises(UsageError, match=r"no run is done that has a theorem \(4.6 about erm, 4.7 about midpoint"):
        list(sweeps.judge_sweep(runs))
