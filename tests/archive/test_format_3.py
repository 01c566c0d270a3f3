"""Run files of format 3 open, say the same, and go on, bit for bit. The file was made by the last revision that wrote that format."""

import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest
from example_run import assert_same_bits

import mvsim
from mvsim.archive import read_provenance, read_run
from mvsim.archive.schema import FORMAT

OLD = Path(__file__).with_name("format-3.nc")


def test_the_file_is_of_format_3():
    with h5py.File(OLD) as file:
        assert {"class", "resume_step"} <= set(file)
    assert read_provenance(OLD)["format"] == 3 < FORMAT


def test_it_opens_under_the_names_of_today():
    run = mvsim.open_run(OLD)
    assert run.method == "erm"
    assert set(run.dataset.sizes) == {"time", "label", "neuron", "feature_class", "view", "snapshot"}
    assert run.dataset["view"].values.tolist() == [1, 2]
    assert run.dataset.attrs["N"] == 12
    assert not any(str(name).startswith(("resume_", "memory_")) for name in run.dataset.variables)
    with h5py.File(OLD) as file:
        for name in ("loss", "own_correlations", "final_correlations", "escape_step"):
            assert np.array_equal(run.dataset[name].to_numpy(), file[name][...], equal_nan=True)


def test_it_goes_on_as_a_run_of_today_does(tmp_path):
    old = mvsim.open_run(OLD)
    shutil.copy(OLD, tmp_path / "run.nc")
    options = {"n_test": old.provenance["options"]["n_test"], "t_end": 2.0 * float(old.dataset["final_time"])}
    longer = mvsim.simulate(old.parameters, "erm", out=tmp_path / "run.nc", resume=True, **options)
    assert read_provenance(tmp_path / "run.nc")["format"] == FORMAT
    today = mvsim.simulate(old.parameters, "erm", **options).dataset
    margins = [one["margin_min"].to_numpy() for one in (longer.dataset, today)]
    new = ~np.isnan(margins[0])  # that version did not record them
    assert new[today["step"].values > int(old.dataset["step"].values[-1])].all()
    assert not new[: len(old.dataset.time) - 1].any()
    np.testing.assert_array_equal(margins[0][new], margins[1][new])
    assert_same_bits(longer.dataset.drop_vars("margin_min"), today.drop_vars("margin_min"))


def test_an_edited_file_is_refused(tmp_path):
    shutil.copy(OLD, tmp_path / "run.nc")
    with h5py.File(tmp_path / "run.nc", "r+") as file:
        file["loss"][0] = 0.5
    with pytest.raises(mvsim.UsageError, match="edited or damaged"):
        read_run(tmp_path / "run.nc")
