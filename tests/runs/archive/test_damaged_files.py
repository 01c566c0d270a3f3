"""Every file that is no intact run is refused in one line that names it."""

import io
import json
import os

import h5py
import numpy as np
import pytest
import xarray as xr
from example_run import example_run

from mvsim.base.echo import path_text
from mvsim.base.errors import UsageError
from mvsim.runs.archive import read_provenance, read_run, run_file, write_run
from mvsim.runs.archive.run_file import ATTRIBUTE, seal
from mvsim.runs.archive.schema import FORMAT

NOT_INTACT = "do not match a checksum"
SEAL = 79
"""Bytes of the checksum at the end of a file."""


def refusal(path):
    """Return the message with which ``path`` is refused, as a whole and where only its provenance is wanted."""
    messages = set()
    for read in (read_run, read_provenance):
        with pytest.raises(UsageError) as caught:
            read(path)
        messages.add(str(caught.value))
    (message,) = messages
    assert "\n" not in message
    assert path_text(path) in message
    assert "; " in message  # what to do
    return message


def edited(path, edit):
    """Return the refusal of a file that was opened and edited as HDF5."""
    before = path.read_bytes()
    with h5py.File(path, "r+") as file:
        edit(file)
    message = refusal(path)
    path.write_bytes(before)
    read_run(path)
    return message


def test_names_of_no_file(tmp_path):
    (tmp_path / "link.nc").symlink_to("run.nc")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe.nc")
    said = {
        tmp_path / "run.nc": "no such file",
        tmp_path / "link.nc": "no such file",
        "https://localhost/run.nc": "no such file",
        tmp_path: "is a directory",
        tmp_path / "pipe.nc": "not an ordinary file",
        "/dev/zero": "not an ordinary file",
        tmp_path / "file/run.nc": "cannot be opened",
        tmp_path / ("x" * 300): "cannot be opened",
        tmp_path / "loop": "cannot be opened",
    }
    assert [str(name) for name, words in said.items() if words not in refusal(name)] == []
    for name in ("run\0.nc", "", None, 5, b"", ["run.nc"]):
        with pytest.raises(UsageError, match=r"^path=.*must be the name of a file"):
            read_run(name)


def test_foreign_files(tmp_path):
    path = tmp_path / "run.nc"
    for contents in (b"", b"\x89HDF", b"time,loss\n0,1\n", b"CDF\x01" + bytes(100), b"PK\x03\x04" + bytes(1000)):
        path.write_bytes(contents)
        assert "not a NetCDF4 file" in refusal(path)
    with h5py.File(tmp_path / "plain.h5", "w") as file:
        file["values"] = np.arange(3)
    xr.Dataset({"loss": ("time", [1.0])}).to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
    for name in ("plain.h5", "other.nc"):
        assert "not a run of mvsim" in refusal(tmp_path / name)


def test_files_cut_short(saved):
    contents = saved.read_bytes()
    for size in [*np.linspace(0, len(contents) - 1, 60).astype(int), len(contents) - 1, len(contents) - SEAL, len(contents) - 40]:
        saved.write_bytes(contents[:size])
        assert saved.name in refusal(saved)
    for size in (1, SEAL, 4000):
        saved.write_bytes(contents[:-size] + bytes(size))
        assert NOT_INTACT in refusal(saved)
    saved.write_bytes(contents + b"\n")
    assert NOT_INTACT in refusal(saved)


def test_damaged_bytes(saved):
    contents = saved.read_bytes()
    rng = np.random.default_rng(0)
    for start in [*rng.integers(8, len(contents) - SEAL, size=150), *range(len(contents) - SEAL, len(contents))]:
        damaged = bytearray(contents)
        damaged[start] ^= 1 << rng.integers(8)
        saved.write_bytes(damaged)
        assert NOT_INTACT in refusal(saved)


def test_edited_files(saved):
    """HDF5 drops the checksum of a file that is opened for editing, also where it is then left as it is."""
    provenance = read_provenance(saved)

    def replace(name):
        def edit(file):
            file[name][...] = file[name][()] + 1

        return edit

    edits = {
        "left as it is": lambda file: None,
        "added": lambda file: file.create_dataset("other", data=1.0),
        "removed": lambda file: file.pop("loss"),
        "attribute": lambda file: file.attrs.update(k=99),
        "provenance": lambda file: file.attrs.update({ATTRIBUTE: json.dumps(provenance | {"seed": 1})}),
        "huge": lambda file: file.create_dataset("huge", shape=(10**13,), chunks=(10**6,), dtype="f8"),
        **{name: replace(name) for name in ("loss", "final_correlations", "active_neurons", "final_step", "time")},
    }
    assert [name for name, edit in edits.items() if NOT_INTACT not in edited(saved, edit)] == []


def test_other_formats(tmp_path, monkeypatch):
    path = tmp_path / "run.nc"
    for number in (FORMAT + 1, FORMAT - 1, 10**30):
        monkeypatch.setattr(run_file, "FORMAT", number)
        write_run(path, *example_run())
        monkeypatch.undo()
        assert f"has format {number}, this version of mvsim reads format {FORMAT}" in refusal(path)


def test_the_checksum_is_that_of_the_contents_and_tells_runs_apart(tmp_path):
    dataset, provenance = example_run()
    path, sums = tmp_path / "run.nc", []
    zero, signed = (dataset.assign(loss=("time", np.array([one, 1.0, 2.0, 3.0]))) for one in (0.0, -0.0))
    for one, made in ((dataset, provenance), (dataset, provenance | {"seed": 1}), (zero, provenance), (signed, provenance)):
        write_run(path, one, made)
        sums.append(read_run(path)[1]["sha256"])
        contents = path.read_bytes()
        file = io.BytesIO(contents[:-SEAL])
        seal(file)
        assert contents == file.getvalue()
        assert contents.endswith(f"{sums[-1]}\n".encode())
        assert read_provenance(path)["sha256"] == sums[-1]
    assert len(set(sums)) == len(sums)
