"""Run files of formats 3 and 4 open, say the same, and go on. The files were made by the last revisions that wrote those formats."""

import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest

import mvsim
from mvsim.runs.archive import format_4, read_provenance, read_run
from mvsim.runs.archive.schema import FORMAT

FILES = {number: Path(__file__).with_name(f"format-{number}.nc") for number in (3, 4)}
every_format = pytest.mark.parametrize("number", FILES)


def test_the_files_are_of_those_formats():
    for number, path in FILES.items():
        assert read_provenance(path)["format"] == number < FORMAT
    with h5py.File(FILES[3]) as file:
        assert {"class", "resume_step"} <= set(file)
    with h5py.File(FILES[4]) as file:
        assert set(format_4.NAMES) <= set(file)


@every_format
def test_it_opens_under_the_names_of_today(number):
    run = mvsim.open_run(FILES[number])
    assert run.method == "erm"
    assert set(run.dataset.sizes) == {"time", "label", "neuron", "feature_class", "view", "snapshot"}
    assert run.dataset["view"].values.tolist() == [1, 2]
    assert run.dataset.attrs["N"] == 12
    assert not any(str(name).startswith(("resume_", "memory_")) for name in run.dataset.variables)
    with h5py.File(FILES[number]) as file:
        for name in ("loss", "own_correlations", "final_correlations", *format_4.NAMES):
            if name in file:
                assert np.array_equal(run.dataset[format_4.NAMES.get(name, name)].to_numpy(), file[name][...], equal_nan=True)


@every_format
def test_it_keeps_what_was_recorded_and_goes_on_with_a_new_history(number, tmp_path):
    """The time-stepper takes other steps today, so that a run of today agrees within the tolerance."""
    old = mvsim.open_run(FILES[number])
    shutil.copy(FILES[number], tmp_path / "run.nc")
    options = {"n_test": old.provenance["options"]["n_test"], "t_end": 2.0 * float(old.dataset["final_time"])}
    with pytest.warns(UserWarning, match="saved with an earlier time-stepper"):
        longer = mvsim.simulate(old.parameters, "erm", out=tmp_path / "run.nc", resume=True, **options)
    assert read_provenance(tmp_path / "run.nc")["format"] == FORMAT
    today = mvsim.simulate(old.parameters, "erm", **options).dataset
    kept = len(old.dataset.time) - 1  # the last record was where t_end had cut
    for name in ("time", "step", "loss", "own_correlations", "feature_learned"):
        assert np.array_equal(longer.dataset[name].to_numpy()[:kept], old.dataset[name].to_numpy()[:kept])
    recorded = ~np.isnan(longer.dataset["margin_min"].to_numpy())  # format 3 did not
    assert recorded[longer.dataset["step"].values > int(old.dataset["step"].values[-1])].all()
    assert recorded[:kept].any() == (number > 3)
    ends = [one["final_correlations"].to_numpy() for one in (longer.dataset, today)]
    assert float(longer.dataset["final_time"]) == float(today["final_time"]) > float(old.dataset["final_time"])
    assert np.abs(ends[0] - ends[1]).max() <= 10 * old.provenance["integrator"]["rtol"] * np.abs(ends[1]).max()
    assert np.abs(ends[0] - old.final_correlations).max() > 10 * old.provenance["integrator"]["rtol"] * np.abs(ends[1]).max()


@every_format
def test_an_edited_file_is_refused(number, tmp_path):
    shutil.copy(FILES[number], tmp_path / "run.nc")
    with h5py.File(tmp_path / "run.nc", "r+") as file:
        file["loss"][0] = 0.5
    with pytest.raises(mvsim.UsageError, match="edited or damaged"):
        read_run(tmp_path / "run.nc")
