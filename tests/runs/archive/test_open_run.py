import numpy as np
import pytest
from example_run import example_run
from looping import looping

from mvsim.base.errors import UsageError
from mvsim.multi_view.parameters import Parameters
from mvsim.runs.archive import write_run
from mvsim.runs.run import Run, open_run


def test_properties(saved):
    dataset, provenance = example_run()
    run = open_run(saved)
    parameters = Parameters(k=3, m=2)
    assert run.path == saved
    assert run.parameters == parameters
    assert run.regime == parameters.deviations()
    assert (run.method, run.seed, run.status, run.settled, run.summary) == ("midpoint", 2**70, "running", None, "")
    assert run.final_correlations.shape == (3, 2, 3, 2)
    assert np.array_equal(run.final_correlations, dataset["final_correlations"].values)
    assert run.provenance["created"] == run.provenance["created"]
    assert repr(run) == f"Run(k=3, method='midpoint', seed={2**70}, status='running', path={str(saved)!r})"
    assert repr(Run(dataset, provenance)) == f"Run(k=3, method='midpoint', seed={2**70}, status='running')"


def test_a_name_as_text(saved, monkeypatch):
    monkeypatch.chdir(saved.parent)
    assert open_run("run.nc").seed == 2**70


def test_laws_and_large_integers_come_back(tmp_path):
    fields = {"d": 50**20, "beta_law": {"kind": "discrete", "atoms": [0.0, 0.5, 1.0]}}
    write_run(tmp_path / "run.nc", *example_run(**fields))
    assert open_run(tmp_path / "run.nc").parameters == Parameters(k=3, m=2, **fields)


def test_missing_file(tmp_path):
    with pytest.raises(UsageError, match=r"run\.nc: no such file; give a run"):
        open_run(tmp_path / "run.nc")


@looping("part", ["dataset", "provenance"])
@looping("value", [None, {}, 5])
def test_a_run_made_by_hand_needs_what_a_run_has(part, value):
    dataset, provenance = example_run()
    parts = {"dataset": dataset, "provenance": provenance, part: value}
    with pytest.raises(UsageError, match=r"^dataset, provenance: .*mvsim\.simulate$"):
        Run(**parts)
    with pytest.raises(UsageError, match="variable loss is missing"):
        Run(dataset.drop_vars("loss"), provenance)


@looping(
    ("changed", "said"),
    [
        ({"method": "mixup", "options": {}}, "its options lack pairs"),
        ({"method": "mixup", "options": {"pairs": None, "mixing": "x", "nodes": 3}}, "its options are not valid"),
        ({"parameters": Parameters(k=3, m=2).model_dump(mode="json") | {"rho": -1.0}}, r"its parameters are not valid: rho=-1\.0: "),
    ],
)
def test_options_and_parameters_that_no_run_has_are_named(changed, said, tmp_path):
    dataset, provenance = example_run()
    write_run(tmp_path / "run.nc", dataset, provenance | changed)
    with pytest.raises(UsageError, match=f"run.nc: {said}"):
        open_run(tmp_path / "run.nc")
