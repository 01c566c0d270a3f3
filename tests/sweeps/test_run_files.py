"""Many run files as one table and one array."""

import numpy as np
import pytest
from tiny_run import simulate

import mvsim
from mvsim.sweeps.identity import following


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Four runs over method and d, of which one is missing, and one with pairs drawn."""
    place = tmp_path_factory.mktemp("runs")
    simulate("erm", place / "a.nc", steps=3)
    simulate("erm", place / "b.nc", steps=3, d=70)
    simulate("midpoint", place / "c.nc", steps=3)
    return place


def test_the_dataset_has_a_dimension_for_each_name_in_which_the_runs_differ(folder):
    runs = mvsim.open_runs(str(folder / "*.nc"))
    assert isinstance(runs, mvsim.Runs)
    assert set(runs.dataset.sizes) == {"d", "method"}
    assert runs.dataset["d"].values.tolist() == [60, 70]
    assert runs.dataset["method"].values.tolist() == ["erm", "midpoint"]
    one = mvsim.open_run(folder / "b.nc")
    there = runs.dataset.sel({"d": 70, "method": "erm"})
    assert float(there["loss"]) == float(one.dataset["loss"][-1])
    assert str(there["file"].item()) == str(folder / "b.nc")
    missing = runs.dataset.sel({"d": 70, "method": "midpoint"})
    assert np.isnan(float(missing["loss"]))
    assert missing["file"].item() == ""


def test_what_follows_from_other_names_is_a_coordinate_along_them(tmp_path):
    """The default d, P and rho follow from k, and that there is a mixing law from the method."""
    for k in (3, 4):
        for method in ("erm", "mixup"):
            p = mvsim.Parameters(k=k, m=2, N=6, G=8)
            for seed in (0, 1):
                mvsim.simulate(p, method, seed, out=tmp_path / f"{method}-{k}-{seed}.nc", integrator="gd", eta=0.1, t_end=0.1, n_test=2)
    data = mvsim.open_runs(str(tmp_path / "*.nc")).dataset
    assert dict(data.sizes) == {"k": 2, "method": 2, "seed": 2}
    assert data["d"].dims == data["P"].dims == data["rho"].dims == ("k",)
    assert data["d"].values.tolist() == [mvsim.Parameters(k=k, m=2).d for k in (3, 4)]
    assert data["mixing"].dims == ("method",)
    assert not np.isnan(data["loss"].values).any()


def test_a_name_follows_from_the_fewest_others():
    columns = {"k": [3, 3, 4], "d": [60, 70, 60], "rho": [0.1, 0.1, 0.2], "r0": [1.0, 2.0, 3.0], "seed": [0, 1, 2]}
    assert following(columns) == {"rho": ("k",), "r0": ("k", "d")}
    assert following({"d": [60, 70], "seed": [0, 1]}) == {}


def test_the_table_has_a_row_for_each_run(folder):
    table = mvsim.open_runs([folder / "c.nc", folder / "a.nc"]).table
    assert table["method"].tolist() == ["midpoint", "erm"]
    assert "d" not in table.columns  # the same in both
    assert table["loss"].tolist() == [float(mvsim.open_run(folder / name).dataset["loss"][-1]) for name in ("c.nc", "a.nc")]


def test_the_runs_themselves_are_at_hand(folder):
    runs = mvsim.open_runs(folder / "a.nc")
    assert (len(runs), runs[0].method, [run.seed for run in runs], runs.differing) == (1, "erm", [0], ())
    assert runs.dataset.sizes == {}
    assert "differ in nothing" in repr(runs)


def test_the_same_run_twice_is_refused(folder):
    with pytest.raises(mvsim.UsageError, match=r"is the same run as .*a\.nc"):
        mvsim.open_runs([folder / "a.nc", folder / "a.nc"]).dataset  # noqa: B018


@pytest.mark.parametrize("where", ["nothing-*.nc", [], 3])
def test_what_is_not_there_is_named(where, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(mvsim.UsageError, match=r"no such file|there are none|must be a folder"):
        mvsim.open_runs(where)


def test_a_folder_is_that_of_a_sweep(tmp_path):
    from mvsim.sweeps.folder import SweepFolder
    from mvsim.sweeps.study import Study

    SweepFolder.create(tmp_path / "sweep", Study.of({"k": "3,4"}, [], "scaled"))
    assert isinstance(mvsim.open_runs(tmp_path / "sweep"), mvsim.Runs)
