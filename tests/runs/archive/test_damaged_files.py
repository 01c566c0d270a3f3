"""Every file that is no intact run is refused in one line that names it."""

import json
import os
import re

import h5py
import numpy as np
import pytest
import xarray as xr
from example_run import example_run

from mvsim.base.echo import path_text
from mvsim.base.errors import UsageError
from mvsim.runs.archive import read_run, write_run
from mvsim.runs.archive.content_hash import content_hash
from mvsim.runs.archive.schema import FORMAT


def refusal(path):
    """Return the message with which ``path`` is refused."""
    with pytest.raises(UsageError) as caught:
        read_run(path)
    message = str(caught.value)
    assert "\n" not in message
    assert path_text(path) in message
    assert "; " in message  # what to do
    return message


def edit_provenance(path, **entries):
    with h5py.File(path, "r+") as file:
        provenance = json.loads(file.attrs["mvsim"]) | entries
        file.attrs["mvsim"] = json.dumps(provenance)


def test_missing(tmp_path):
    assert "no such file" in refusal(tmp_path / "run.nc")
    (tmp_path / "link.nc").symlink_to("run.nc")
    assert "no such file" in refusal(tmp_path / "link.nc")


def test_directory(tmp_path):
    assert "is a directory" in refusal(tmp_path)


def test_pipe_and_device(tmp_path):
    os.mkfifo(tmp_path / "run.nc")
    assert "not an ordinary file" in refusal(tmp_path / "run.nc")
    assert "not an ordinary file" in refusal("/dev/zero")


@pytest.mark.parametrize("name", ["file/run.nc", "x" * 300, "loop"])
def test_names_that_cannot_be_opened(tmp_path, name):
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    assert "cannot be opened" in refusal(tmp_path / name)


def test_name_that_is_no_name():
    with pytest.raises(UsageError, match=r"^path=.*must be the name of a file"):
        read_run("run\0.nc")
    with pytest.raises(UsageError):
        read_run("")


@pytest.mark.parametrize("contents", [b"", b"\x89HDF", b"time,loss\n0,1\n", b"CDF\x01" + bytes(100), b"PK\x03\x04" + bytes(1000)])
def test_foreign_file(tmp_path, contents):
    path = tmp_path / "run.nc"
    path.write_bytes(contents)
    assert "not a NetCDF4 file" in refusal(path)


def test_address_on_the_web_is_a_file_name():
    assert "no such file" in refusal("https://localhost/run.nc")


def test_foreign_hdf5_and_netcdf(tmp_path):
    with h5py.File(tmp_path / "plain.h5", "w") as file:
        file["values"] = np.arange(3)
    assert "not a run of mvsim" in refusal(tmp_path / "plain.h5")
    xr.Dataset({"loss": ("time", [1.0])}).to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
    assert "not a run of mvsim" in refusal(tmp_path / "other.nc")


def test_truncated(saved):
    contents = saved.read_bytes()[:-79]
    for size in np.linspace(0, len(contents) - 1, 60).astype(int):
        saved.write_bytes(contents[:size])
        assert saved.name in refusal(saved)


def test_damaged_bytes(saved):
    contents = saved.read_bytes()
    rng = np.random.default_rng(0)
    for start in rng.integers(len(contents) - 79, size=150):  # the last 79 bytes are the checksum
        damaged = bytearray(contents)
        damaged[start] ^= 1 << rng.integers(8)
        saved.write_bytes(damaged)
        assert "do not match its checksum" in refusal(saved)


def test_damaged_checksum(saved):
    contents = saved.read_bytes()
    saved.write_bytes(contents[:-10] + (b"0" if contents[-10:-9] == b"1" else b"1") + contents[-9:])
    assert "do not match its checksum" in refusal(saved)
    saved.write_bytes(contents[:-40])  # without a checksum the contents still speak for themselves
    read_run(saved)
    saved.write_bytes(contents[:-78] + b"?" + contents[-77:])
    read_run(saved)


def test_zeroed_tail(saved):
    contents = saved.read_bytes()
    for size in (1, 79):
        saved.write_bytes(contents[:-size] + bytes(size))
        read_run(saved)
    saved.write_bytes(contents[:-4000] + bytes(4000))
    assert saved.name in refusal(saved)


@pytest.mark.parametrize("name", ["loss", "final_correlations", "active_neurons", "final_step", "time"])
def test_edited_value(saved, name):
    with h5py.File(saved, "r+") as file:
        values = file[name][()]
        file[name][...] = values
    read_run(saved)  # opened for editing and left as it was
    with h5py.File(saved, "r+") as file:
        file[name][...] = values + np.ones_like(values)
    assert "do not match its hash" in refusal(saved)


@pytest.mark.parametrize("entry", [{"seed": 1}, {"status": "finished"}, {"sha256": "0" * 64}, {"sha256": None}, {"note": "mine"}])
def test_edited_provenance(saved, entry):
    edit_provenance(saved)
    read_run(saved)
    edit_provenance(saved, **entry)
    assert "do not match its hash" in refusal(saved)


def test_a_variable_of_another_shape_without_names_of_dimensions(saved):
    with h5py.File(saved, "r+") as file:
        del file["loss"]
        file["loss"] = [[1.0]]
    assert "variable loss is" in refusal(saved)


def test_removed_and_added_variables(saved):
    with h5py.File(saved, "r+") as file:
        file["other"] = 1.0
    assert "do not match its hash" in refusal(saved)
    with h5py.File(saved, "r+") as file:
        del file["loss"]
    assert "variable loss is missing" in refusal(saved)


@pytest.mark.parametrize("text", ["", "{", "[1]", "null", '"run"', "[" * 100_000, '{"format": 1' + "0" * 5000 + "}", np.int64(1)])
def test_provenance_that_is_no_object(saved, text):
    with h5py.File(saved, "r+") as file:
        file.attrs["mvsim"] = text
    assert saved.name in refusal(saved)


@pytest.mark.parametrize("number", [FORMAT + 1, 10**30])
def test_format_of_the_future(saved, number):
    edit_provenance(saved, format=number, status="of a kind unknown today")
    message = refusal(saved)
    assert f"format {number}" in message
    assert "newer mvsim" in message


def test_format_of_the_past(saved):
    edit_provenance(saved, format=2)
    message = refusal(saved)
    assert f"format {2}" in message
    assert "older mvsim" in message


@pytest.mark.parametrize("number", [None, True, 0, -1, 1.0, "1"])
def test_format_that_is_no_format(saved, number):
    edit_provenance(saved, format=number)
    assert "no valid format number" in refusal(saved)


def hashes_of_changed_runs():
    """Yield the hash of a run and of variants of it that each differ in one respect."""
    dataset, provenance = example_run()
    dataset["extra"] = ("time", np.arange(4))
    yield content_hash(dataset, provenance)
    yield content_hash(dataset, provenance | {"seed": 1})
    yield content_hash(dataset.rename_vars(extra="extras"), provenance)
    yield content_hash(dataset.drop_vars("extra"), provenance)
    yield content_hash(dataset.assign(extra=("time", np.arange(4, dtype="float64"))), provenance)
    yield content_hash(dataset.assign(extra=("time", np.arange(4).view("float64"))), provenance)  # same bits, other type
    yield content_hash(dataset.assign(extra=("other", np.arange(4))), provenance)
    yield content_hash(dataset.assign(extra=(("time", "one"), np.arange(4)[:, None])), provenance)
    yield content_hash(dataset.assign(extra=("time", np.array([0, 1, 2, 4]))), provenance)
    yield content_hash(dataset.assign(extra=("time", np.array([0.0, 1, 2, 3]))), provenance | {"seed": 2})
    yield content_hash(dataset.assign(extra=("time", np.array([-0.0, 1, 2, 3]))), provenance | {"seed": 2})


def test_the_hash_depends_on_everything():
    hashes = list(hashes_of_changed_runs())
    assert len(set(hashes)) == len(hashes)
    assert all(re.fullmatch("[0-9a-f]{64}", value) for value in hashes)


def test_the_hash_does_not_depend_on_order_or_layout():
    dataset, provenance = example_run()
    value = content_hash(dataset, provenance)
    assert content_hash(dataset[sorted(dataset.data_vars, reverse=True)], dict(reversed(provenance.items()))) == value
    assert content_hash(dataset, provenance | {"sha256": value}) == value
    transposed = np.asfortranarray(dataset["own_correlations"].values)
    other = dataset.assign(loss=dataset["loss"].astype(">f8"), own_correlations=dataset["own_correlations"].copy(data=transposed))
    assert content_hash(other, provenance) == value


@pytest.mark.parametrize(
    ("name", "layout", "said"),
    [
        ("own_correlations", {"shape": (4, 3, 2, 2 * 10**14)}, "declares 3.84e+16 bytes and has 0"),
        ("own_correlations", {"shape": (10**13, 3, 2, 2), "chunks": (1, 3, 2, 2), "compression": "gzip"}, "declares 9.6e+14 bytes and has 0"),
        ("extra", {"shape": (10**13,), "chunks": (10**6,), "maxshape": (None,)}, "declares 8e+13 bytes and has 0"),
        ("extra", {"data": np.zeros(10**5), "compression": "gzip"}, "declares 8e+05 bytes and has"),
    ],
)
def test_a_file_that_declares_more_than_it_holds_takes_no_memory(name, layout, said, tmp_path):
    write_run(tmp_path / "run.nc", *example_run())
    with h5py.File(tmp_path / "run.nc", "r+") as file:
        if name in file:
            del file[name]
        file.create_dataset(name, **{"dtype": "f8", **layout})
    assert f"variable {name} {said}" in refusal(tmp_path / "run.nc")


def test_sizes_that_contradict_the_parameters_are_refused_before_they_are_read(tmp_path, monkeypatch):
    dataset, provenance = example_run()
    write_run(tmp_path / "run.nc", dataset, provenance)
    edit_provenance(tmp_path / "run.nc", parameters={**provenance["parameters"], "m": 5})
    monkeypatch.setattr(xr.Dataset, "load", None)
    assert "dimension neuron has size 2" in refusal(tmp_path / "run.nc")


@pytest.mark.parametrize("path", [None, 5, b"run.nc", ["run.nc"]])
def test_what_is_no_name_of_a_file(path):
    with pytest.raises(UsageError, match=r"path=.*must be the name of a file"):
        read_run(path)
