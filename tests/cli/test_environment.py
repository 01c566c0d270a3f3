"""What others have put into the environment of a command does not stop it, or is named in one line."""

import os
import resource
import subprocess
import sys

import pytest
from synthetic import saved, synthetic_run

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


ENVIRONMENTS = {
    "a backend of notebooks": {"MPLBACKEND": "module://matplotlib_inline.backend_inline"},
    "a backend that is not there": {"MPLBACKEND": "nonsense"},
    "nowhere to keep fonts": {"MPLCONFIGDIR": "/proc/none"},
    "warnings as errors": {"PYTHONWARNINGS": "error"},
    "files of another program": {"HDF5_DRIVER": "nonsense", "HDF5_VOL_CONNECTOR": "nonsense", "HDF5_PLUGIN_PATH": "/nonexistent"},
    "no home": {"HOME": "/proc/none", "XDG_CACHE_HOME": "/proc/none"},
}
IGNORED = {"NUMBA_NUM_THREADS": ("0", "nonsense", "-3"), "SOURCE_DATE_EPOCH": ("nonsense",)}


def test_a_picture_is_drawn_in_any_environment(folder):
    failed = {}
    for name, environment in ENVIRONMENTS.items():
        done = answer(folder, "plot", "run.nc", "--force", "--panels", "loss", "--out", "run.png", **environment)
        if done.returncode or done.stdout != "saved in run.png\n":
            failed[name] = (done.returncode, done.stderr)
    assert failed == {}


def test_settings_of_libraries_that_are_no_numbers_are_named_and_ignored(folder):
    for name, values in IGNORED.items():
        for value in values:
            done = answer(folder, "show", "run.nc", **{name: value})
            assert (done.returncode, done.stderr.count("\n")) == (0, 1), done.stderr
            assert done.stderr.startswith(f"mvsim: warning: {name}={value!r}: must be an integer of at least ")
    done = answer(folder, *RUN, "--force", NUMBA_DEBUG="nonsense")
    assert done.returncode == 0
    assert "NUMBA_DEBUG" in done.stderr
    assert "Traceback" not in done.stderr
    done = answer(folder, *RUN, "--force", NUMBA_NUM_THREADS="999", NUMBA_THREADING_LAYER="nonsense")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_library_that_cannot_be_loaded_is_named_in_one_line(folder):
    failed = {}
    for megabytes in (50, 100, 150, 300):

        def little_memory(size=megabytes * 2**20):
            resource.setrlimit(resource.RLIMIT_AS, (size, size))

        done = subprocess.run([*COMMAND, *RUN, "--force"], cwd=folder, capture_output=True, text=True, check=False, preexec_fn=little_memory)
        if done.returncode != 2 or not done.stderr.startswith("mvsim: ") or done.stderr.count("\n") != 1 or "ulimit -v" not in done.stderr:
            failed[megabytes] = (done.returncode, done.stderr)
    assert failed == {}
