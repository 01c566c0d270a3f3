import io
import json

import h5py
import numpy as np
import pytest
import quick_reading
import xarray as xr
from example_run import assert_same_bits, example_run

from mvsim.base.errors import UsageError
from mvsim.multi_view.parameters import Parameters
from mvsim.runs.archive import read_run, write_run
from mvsim.runs.archive.netcdf import write_netcdf
from mvsim.runs.archive.schema import FORMAT
from mvsim.runs.recording.coordinates import BESIDE, FIRST
from mvsim.runs.recording.variables import VARIABLES


def test_round_trip_keeps_every_bit(tmp_path):
    dataset, provenance = example_run()
    odd = np.array([np.nan, -np.nan, -0.0, np.inf, 5e-324], dtype=np.float64)
    odd.view(np.int64)[1] |= 12345  # a NaN with a payload
    dataset["odd"] = ("oddity", odd)
    dataset["flags"] = ("oddity", odd > 0)
    dataset["big"] = ("oddity", np.array([-(2**63), 2**63 - 1, 0, 1, 2]))
    dataset["single"] = ("oddity", odd.astype(np.float32))
    write_run(tmp_path / "run.nc", dataset, provenance)
    found, described = read_run(tmp_path / "run.nc")
    assert_same_bits(found, dataset)
    assert described.pop("format") == FORMAT
    assert len(described.pop("sha256")) == 64
    assert described == provenance


def test_what_is_long_is_compressed_unless_the_run_goes_on(tmp_path):
    dataset, provenance = example_run()
    dataset["slow"] = (("records", "neurons"), 1.0 + 1e-8 * np.arange(10_000.0).reshape(100, 100))
    sizes = {}
    for status in ("running", "finished"):
        write_run(tmp_path / status, dataset, provenance | {"status": status})
        sizes[status] = (tmp_path / status).stat().st_size
        assert_same_bits(read_run(tmp_path / status)[0], dataset)
    assert sizes["running"] - sizes["finished"] > 0.5 * dataset["slow"].nbytes


def test_the_comparison_of_bits_notices_a_changed_sign_of_zero():
    dataset, _ = example_run()
    dataset["loss"].values[0] = 0.0
    other = dataset.copy(deep=True)
    other["loss"].values[0] = -0.0
    with pytest.raises(AssertionError):
        assert_same_bits(dataset, other)


def test_integers_and_tuples_of_the_provenance_survive(tmp_path):
    dataset, provenance = example_run(d=50**20)
    provenance["options"] = {"pair": (1, np.int64(2)), "big": 50**20 + 1, "real": np.float64(0.1)}
    write_run(tmp_path / "run.nc", dataset, provenance)
    _, described = read_run(tmp_path / "run.nc")
    assert described["parameters"]["d"] == 50**20
    assert Parameters(**described["parameters"]).d == 50**20
    assert described["options"] == {"pair": [1, 2], "big": 50**20 + 1, "real": 0.1}


def test_a_long_provenance_survives(tmp_path):
    dataset, provenance = example_run()
    provenance["summary"] = "long " * 100_000  # HDF5 keeps at most 64 kB of an attribute in the object itself
    write_run(tmp_path / "run.nc", dataset, provenance)
    assert read_run(tmp_path / "run.nc")[1]["summary"] == provenance["summary"]


def test_plain_xarray_opens_a_run(saved):
    with xr.open_dataset(saved) as dataset:
        assert dataset.attrs["k"] == 3
        assert dataset.attrs["d"] == Parameters(k=3, m=2).d
        assert dataset.attrs["seed"] == str(2**70)  # which no integer of NetCDF holds
        assert json.loads(dataset.attrs["beta_law"]) == {"kind": "uniform"}
        assert not any(str(name).startswith("resume_") for name in dataset.variables)
        assert all(dim in dataset.coords for dim in dataset.sizes)
        assert dataset["view"].values.tolist() == [1, 2]
        assert json.loads(dataset.attrs["mvsim"])["method"] == "midpoint"
        assert dataset["own_correlations"].dims == ("time", "label", "neuron", "view")
        assert dataset["time"].attrs == {"units": "dimensionless"}


def test_coordinates_stay_coordinates(tmp_path):
    dataset, provenance = example_run()
    dataset = dataset.set_coords(["snapshot_time", "final_time"]).assign_coords(word=("extra", np.arange(2)))
    write_run(tmp_path / "run.nc", dataset, provenance)
    found, _ = read_run(tmp_path / "run.nc")
    assert set(found.coords) == {"time", *BESIDE, *FIRST, "final_time"}
    assert "word" in found.variables  # belongs to no other variable, which NetCDF cannot tell from a variable of its own
    assert_same_bits(found, dataset)


def test_attributes_of_variables_stay(tmp_path):
    dataset, provenance = example_run()
    labels = {"units": "dimensionless", "source": "Definition 4.5, k² draws", "threshold": 0.25}
    dataset["loss"].attrs = labels
    write_run(tmp_path / "run.nc", dataset, provenance)
    assert read_run(tmp_path / "run.nc")[0]["loss"].attrs == labels


def test_other_tests_read_quickly_what_xarray_reads(tmp_path, monkeypatch):
    dataset, provenance = example_run()
    dataset = dataset.set_coords(["final_time"]).assign(flags=("neuron", np.array([True, False])), resume_kept=("resume", np.array([np.nan, 2.0])))
    dataset["loss"].attrs = {"units": "dimensionless", "threshold": 0.25}
    write_run(tmp_path / "run.nc", dataset, provenance)
    by_xarray, _ = read_run(tmp_path / "run.nc")
    monkeypatch.setattr(xr, "open_dataset", quick_reading.open_dataset)
    quickly, _ = read_run(tmp_path / "run.nc")
    xr.testing.assert_identical(quickly, by_xarray)
    assert_same_bits(quickly, by_xarray)


def test_what_is_saved_is_not_changed(tmp_path):
    dataset, provenance = example_run()
    dataset.attrs["mine"] = 1
    copy, described = dataset.copy(deep=True), dict(provenance)
    write_run(tmp_path / "run.nc", dataset, provenance)
    xr.testing.assert_identical(dataset, copy)
    assert provenance == described


def test_a_run_that_was_read_can_be_saved_again(saved):
    dataset, provenance = read_run(saved)
    write_run(saved, dataset, provenance)
    again, described = read_run(saved)
    assert_same_bits(again, dataset)
    assert {**described, "sha256": ""} == {**provenance, "sha256": ""}


def refusals(tmp_path, runs):
    """Yield what is said of runs, by name, that are not complete; nothing of them is written."""
    for name, run in runs.items():
        with pytest.raises(ValueError, match="not a complete run") as caught:
            write_run(tmp_path / "run.nc", *run)
        yield name, str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_every_variable_is_needed_with_its_type_and_its_dimensions(tmp_path):
    dataset, provenance = example_run()
    without = {name: (dataset.drop_vars(name), provenance) for name in VARIABLES}
    assert [name for name, said in refusals(tmp_path, without) if f"variable {name} is missing" not in said] == []
    single = {name: (dataset.assign({name: dataset[name].astype("float32")}), provenance) for name in VARIABLES}
    assert [name for name, said in refusals(tmp_path, single) if f"variable {name} is float32" not in said] == []
    turned = {name: (dataset.assign({name: dataset[name].transpose()}), provenance) for name, of in VARIABLES.items() if len(of.dims) > 1}
    assert [name for name, said in refusals(tmp_path, turned) if f"variable {name} is " not in said] == []


def test_other_variables_have_to_be_numbers(tmp_path):
    dataset, provenance = example_run()
    dataset["words"] = ("time", ["a", "b", "c", "d"])
    with pytest.raises(ValueError, match="variable words is not numeric"):
        write_run(tmp_path / "run.nc", dataset, provenance)


SIZES = {
    "dimension label has size 2": {"label": slice(2)},
    "dimension neuron has size 1": {"neuron": slice(1)},
    "dimension feature_class has size 2": {"feature_class": slice(2)},
    "dimension view has size 1": {"view": slice(1)},
    "dimension time is empty": {"time": slice(0)},
    "dimension snapshot is empty": {"snapshot": slice(0)},
    "coordinate label does not count from 0": {"label": [0, 2, 1]},
    "coordinate view does not count from 1": {"view": [1, 0]},
}


def test_sizes_agree_with_the_parameters(tmp_path):
    dataset, provenance = example_run()
    runs = {said: (dataset.isel(sizes), provenance) for said, sizes in SIZES.items()}
    assert [said for said, found in refusals(tmp_path, runs) if said not in found] == []


def test_every_entry_of_the_provenance_is_needed(tmp_path):
    dataset, provenance = example_run()
    runs = {name: (dataset, {one: value for one, value in provenance.items() if one != name}) for name in provenance}
    assert [name for name, said in refusals(tmp_path, runs) if f"no {name}" not in said] == []


WRONG = (
    {"status": "done"},
    {"seed": True},
    {"seed": "0"},
    {"settled": "yes"},
    {"regime": ["d"]},
    {"regime": [{"name": "d", "value": 1, "assumed": "", "statement": ""}]},
    {"parameters": {"k": 3}},
    {"parameters": {"k": 3.0, "m": 2}},
    {"sources": 3},
    *({"continued": value} for value in (None, 3, "x", {"a": 1}, [None])),
)


def test_entries_of_the_provenance_have_their_types(tmp_path):
    dataset, provenance = example_run()
    assert len(list(refusals(tmp_path, {str(wrong): (dataset, provenance | wrong) for wrong in WRONG}))) == len(WRONG)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), np.float64("-inf"), 10**5000], ids=["nan", "inf", "-inf", "long"])
def test_numbers_without_a_json_form_are_refused(tmp_path, value):
    dataset, provenance = example_run()
    with pytest.raises(UsageError, match="cannot be saved"):
        write_run(tmp_path / "run.nc", dataset, provenance | {"wall_seconds": value})
    with pytest.raises(TypeError, match="cannot hold a set"):
        write_run(tmp_path / "run.nc", dataset, provenance | {"options": {"names": {"a"}}})
    assert list(tmp_path.iterdir()) == []


def test_a_save_while_another_thread_saves(monkeypatch):
    def contents():
        file = io.BytesIO()
        write_netcdf(file, example_run()[0], {})
        return file.getvalue()

    alone, create, others = contents(), h5py.Group.create_dataset, []

    def create_after_the_other(*arguments, **options):
        monkeypatch.setattr(h5py.Group, "create_dataset", create)
        others.append(contents())
        return create(*arguments, **options)

    monkeypatch.setattr(h5py.Group, "create_dataset", create_after_the_other)
    assert [contents(), *others] == [alone, alone]
