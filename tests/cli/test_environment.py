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
    saved(synthetic_run("erm", k=3, records=10), place / "run.nc")
    return place


ENVIRONMENTS = {
    "a backend of notebooks": {"MPLBACKEND": "module://matplotlib_inline.backend_inline"},
    "a backend that is not there": {"MPLBACKEND": "nonsense"},
    "nowhere to keep fonts": {"MPLCONFIGDIR": "/proc/none"},
    "warnings as errors": {"PYTHONWARNINGS": "error"},
}


def test_a_picture_is_drawn_in_any_environment(folder):
    failed = {}
    for name, environment in ENVIRONMENTS.items():
        done = answer(folder, "plot", "run.nc", "--force", "--panels", "loss", "--out", "run.png", **environment)
        if done.returncode or done.stdout != "saved in run.png\n":
            failed[name] = (done.returncode, done.stderr)
    assert failed == {}


def test_a_library_that_cannot_be_loaded_is_named_in_one_line(folder):
    def little_memory():
        resource.setrlimit(resource.RLIMIT_AS, (150 * 2**20, 150 * 2**20))

    done = subprocess.run([*COMMAND, *RUN, "--force"], cwd=folder, capture_output=True, text=True, check=False, preexec_fn=little_memory)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("mvsim: ")
    assert done.stderr.count("\n") == 1
