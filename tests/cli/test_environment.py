"""What others have put into the environment of a command does not stop it, or is named in one line."""

import os
import resource
import subprocess
import sys

import pytest
from looping import looping
from synthetic import saved, synthetic_run

from mvsim.cli.environment import drop_foreign_settings

COMMAND = [sys.executable, "-m", "mvsim"]
RUN = ("simulate", "--k", "3", "--m", "2", "--N", "6", "--method", "erm", "--t-end", "2", "--n-test", "2", "--quiet", "--out", "run.nc")


def answer(folder, *words, **environment):
    return subprocess.run([*COMMAND, *words], cwd=folder, env=os.environ | environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a run."""
    place = tmp_path_factory.mktemp("runs")
    saved(synthetic_run("erm", k=3, records=10, options={"n_test": 20, "algorithm": "made up"}), place / "run.nc")
    return place


SURROUNDINGS = {
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    **{"MPLCONFIGDIR": "/proc/none", "HOME": "/proc/none", "XDG_CACHE_HOME": "/proc/none"},
    **{"HDF5_DRIVER": "nonsense", "HDF5_VOL_CONNECTOR": "nonsense", "HDF5_PLUGIN_PATH": "/nonexistent"},
    "PYTHONWARNINGS": "error",
}
"""A notebook's backend of pictures, nowhere to keep fonts, no home, HDF5 files of another program, and warnings as errors."""


@pytest.mark.parametrize("backend", [SURROUNDINGS["MPLBACKEND"], "nonsense"])
def test_a_picture_is_drawn_in_any_environment(folder, backend):
    done = answer(folder, "plot", "run.nc", "--force", "--panels", "loss", "--out", "run.png", **{**SURROUNDINGS, "MPLBACKEND": backend})
    assert (done.returncode, done.stdout) == (0, "saved in run.png\n"), done.stderr


@looping("value", ["0", "nonsense", "-3"])
def test_settings_of_libraries_that_are_no_numbers_are_named_and_ignored(value, monkeypatch, capsys):
    monkeypatch.setenv("NUMBA_NUM_THREADS", value)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "nonsense")
    drop_foreign_settings()
    assert capsys.readouterr().err.splitlines() == [
        f"mvsim: warning: NUMBA_NUM_THREADS={value!r}: must be an integer of at least 1; it is ignored",
        "mvsim: warning: SOURCE_DATE_EPOCH='nonsense': must be an integer of at least 0; it is ignored",
    ]
    assert not {"NUMBA_NUM_THREADS", "SOURCE_DATE_EPOCH"} & set(os.environ)


def test_settings_of_numba_do_not_stop_a_run(folder):
    done = answer(folder, *RUN, "--force", NUMBA_DEBUG="nonsense", NUMBA_NUM_THREADS="0")
    assert done.returncode == 0
    assert "NUMBA_DEBUG" in done.stderr
    assert "NUMBA_NUM_THREADS='0': must be an integer" in done.stderr
    assert "Traceback" not in done.stderr
    done = answer(folder, *RUN, "--force", NUMBA_NUM_THREADS="999", NUMBA_THREADING_LAYER="nonsense")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("megabytes", [100, *(pytest.param(size, marks=pytest.mark.slow) for size in (50, 150, 300))])
def test_a_library_that_cannot_be_loaded_is_named_in_one_line(folder, megabytes):
    def little_memory():
        resource.setrlimit(resource.RLIMIT_AS, 2 * (megabytes * 2**20,))

    done = subprocess.run([*COMMAND, *RUN, "--force"], cwd=folder, capture_output=True, text=True, check=False, preexec_fn=little_memory)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert done.stderr.startswith("mvsim: ")
    assert "ulimit -v" in done.stderr
