"""The table of the variables of a run: an entry is all that a new one needs."""

import numpy as np
import pytest
from compare import assert_close
from example_run import assert_same_bits
from tolerances import ROUNDOFF

import mvsim
from mvsim.recording.variables import VARIABLES, Values, Variable, When, check_optional

TINY = mvsim.Parameters(k=3, m=2, N=12, P=9, d=60, G=6)
ETA = 3.0


def simulate(steps, out=None, **options):
    return mvsim.simulate(TINY, "midpoint", seed=0, integrator="gd", eta=ETA, t_end=steps * ETA, n_test=3, out=out, **options)


NEW = {
    When.START: Variable(When.START, ("point",), "int64", "labels", ("objective.data.labels",), np.asarray, Values.FINITE),
    When.RECORD: Variable(When.RECORD, ("time", "class"), "float64", "sums", ("c",), lambda c: c.sum(axis=(1, 2, 3))),
    When.SNAPSHOT: Variable(When.SNAPSHOT, ("snapshot",), "float64", "gradients evaluated", ("evaluations",)),
    When.FINAL: Variable(When.FINAL, (), "float64", "largest", ("c",), np.max),
    When.RESUME: Variable(When.RESUME, (), "float64", "largest", ("c",), np.max),
}
"""A variable of each kind that no run has yet."""


@pytest.mark.parametrize("when", NEW)
def test_an_entry_of_the_table_is_all_that_a_new_variable_needs(when, tmp_path, monkeypatch):
    old, out = tmp_path / "old.nc", tmp_path / "run.nc"
    simulate(40, old)
    monkeypatch.setitem(VARIABLES, "new", NEW[when]._replace(optional=True))
    whole = simulate(57)
    simulate(40, out)
    saved = mvsim.open_run(out).dataset["new"]
    assert saved.dims == NEW[when].dims
    assert saved.attrs["long_name"] == NEW[when].meaning
    if "time" in saved.dims:
        assert_close(saved.values[-1], mvsim.open_run(out).final_correlations.sum(axis=(1, 2, 3)), ROUNDOFF)
    assert_same_bits(simulate(57, out, resume=True).dataset, whole.dataset)  # the records before were restored

    assert "new" not in mvsim.open_run(old).dataset  # a run of before still opens, and goes on without what was not measured then
    longer = simulate(57, old, resume=True).dataset["new"].values
    assert_close(longer.ravel()[-1], whole.dataset["new"].values.ravel()[-1], ROUNDOFF)


def test_the_new_variables_may_be_optional():
    for when, variable in NEW.items():
        check_optional({**VARIABLES, when.name: variable._replace(optional=True)})


@pytest.mark.parametrize("change", [{"dtype": "int64"}, {"dims": ("time", "point")}, {"values": Values.FINITE}, {"values": Values.FRACTION}])
def test_an_optional_variable_that_cannot_be_missing_is_refused(change):
    wrong = NEW[When.RECORD]._replace(**change)
    check_optional({**VARIABLES, "new": wrong})
    with pytest.raises(TypeError, match=r"variable new: is optional.* must be of float64 and Values\.ANY over .* class, .* time, view"):
        check_optional({**VARIABLES, "new": wrong._replace(optional=True)})


def test_a_new_variable_that_is_not_optional_is_asked_for(tmp_path, monkeypatch):
    simulate(3, tmp_path / "run.nc")
    monkeypatch.setitem(VARIABLES, "new", NEW[When.RECORD])
    with pytest.raises(mvsim.UsageError, match="variable new is missing"):
        mvsim.open_run(tmp_path / "run.nc")
