"""Results are carried over only to code that makes the same runs, and only if nothing else that they depend on has changed."""

import shutil
from pathlib import Path

import carry
import h5py
import numpy as np
import pytest
from lib import same_runs, stamps
from lib.results import ResultsFile, standing
from lib.study import Study

import mvsim

PACKAGE = Path(mvsim.__file__).parent


def _study(*sources):
    """Return a small study of parts of mvsim."""

    def nothing(*_):
        return []

    return Study("exactness", "d", "t", sources, (), nothing, nothing, nothing, nothing, nothing, nothing, nothing, nothing, nothing)


@pytest.fixture
def before(tmp_path):
    """mvsim as it was: one line of each of two files was another."""
    copy = shutil.copytree(PACKAGE, tmp_path / "before" / "mvsim", ignore=shutil.ignore_patterns("__pycache__"))
    for name, old, new in (
        ("integrators/flow_integrator.py", "RTOL = 1e-3", "RTOL = 2e-3"),
        ("cli/app.py", "from __future__", "UNUSED = 1\nfrom __future__"),
    ):
        text = (copy / name).read_text(encoding="utf-8")
        assert old in text
        (copy / name).write_text(text.replace(old, new, 1), encoding="utf-8")
    return copy


def test_a_change_of_what_is_computed_is_seen(before, capsys):
    assert carry.compared(before, ["erm, linear"]) == 1
    assert "erm, linear: " in capsys.readouterr().out
    assert carry.compared(PACKAGE, ["erm, linear"]) == 0


def test_another_package_than_the_one_that_is_asked_for_is_not_measured(before):
    with pytest.raises(RuntimeError, match="not that in"):
        carry.print_bits(before, [])


@pytest.mark.parametrize(
    ("sources", "can"),
    [
        (("integrators",), True),
        (("integrators", "losses"), True),
        (("losses",), False),  # is current
        (("integrators", "cli"), False),  # no run goes through the command line
        (("",), False),
    ],
)
def test_what_can_be_carried_over(before, tmp_path, monkeypatch, sources, can):
    study = _study(*sources)
    monkeypatch.setattr("carry.RESULTS", tmp_path)
    ResultsFile(study, tmp_path, "c").write({"a": 1})
    stamp = stamps.stamps_in(tmp_path)["exactness"]
    stamps.write_stamp(tmp_path, "exactness", stamp | {"sources": stamps.sources_in(before, study)})
    assert carry.can_be_carried(study, before) is can
    assert not carry.can_be_carried(study, PACKAGE)
    stamps.write_stamp(tmp_path, "exactness", stamp | {"sources": "what was older before"})
    assert not carry.can_be_carried(study, before)


def test_a_result_says_that_it_was_carried_over_until_it_is_measured_again(tmp_path):
    study = _study("losses")
    ResultsFile(study, tmp_path, "c").write({"a": 1})
    stamps.write_stamp(tmp_path, "exactness", stamps.stamps_in(tmp_path)["exactness"] | {"carried": "Carried over."})
    assert standing(study, tmp_path) == "current"
    assert stamps.stamp_text(stamps.stamps_in(tmp_path)["exactness"]).endswith("Carried over.*")
    ResultsFile(study, tmp_path, "c").measure_parts(["b"], lambda name: 1)
    assert stamps.stamps_in(tmp_path)["exactness"]["carried"] == "Carried over."
    ResultsFile(study, tmp_path, "c").write({"a": 2})
    assert "carried" not in stamps.stamps_in(tmp_path)["exactness"]


def test_bits_are_those_of_each_variable(tmp_path):
    def digests(values):
        with h5py.File(tmp_path / "run.nc", "w") as file:
            file.create_group("resume")["state"] = values
            file["time"] = np.arange(3.0)
        return {"run": same_runs.variables_of(tmp_path / "run.nc")}

    first = digests(np.array([1.0, 2.0]))
    assert set(first["run"]) == {"time", "resume/state"}
    assert same_runs.different(first, digests(np.array([1.0, 2.0]))) == []
    assert same_runs.different(first, digests(np.array([1.0, np.nextafter(2.0, 3.0)]))) == ["run: resume/state"]
    assert same_runs.different(first, {}) == ["run: resume/state, time"]


def test_every_run_is_one_that_mvsim_accepts():
    for case in same_runs.cases().values():
        mvsim.Parameters(**case.parameters)
    assert {case.method for case in same_runs.cases().values()} == {"erm", "midpoint", "mixup"}


def test_how_a_run_stops_belongs_to_it_and_a_run_that_is_refused_is_a_mistake(monkeypatch):
    def stops(*_, **__):
        raise error

    monkeypatch.setattr(mvsim, "simulate", stops)
    error = mvsim.StalledError("at t = 3")
    assert same_runs.bits(same_runs.cases()["erm, linear"])["ended"] == "StalledError"
    error = mvsim.UsageError("k=0")
    with pytest.raises(mvsim.UsageError):
        same_runs.bits(same_runs.cases()["erm, linear"])
