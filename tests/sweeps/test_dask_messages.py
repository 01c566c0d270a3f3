"""What a Dask engine says that cannot start workers: the innermost cause, and what to do."""

import itertools
import subprocess
import sys

import pytest
from small_sweeps import steps

import mvsim
from mvsim.sweeps.dask_engine import STARTS, Dask, _cause


def raised(*errors):
    """Return the last of errors, each of which came from the one before it."""
    for cause, error in itertools.pairwise(errors):
        error.__cause__ = cause
    return errors[-1]


def test_the_innermost_cause_is_named():
    assert _cause(OSError(24, "Too many open files")) == "OSError: [Errno 24] Too many open files"
    assert _cause(raised(ImportError("libfoo.so.3"), RuntimeError("Worker failed"), RuntimeError("Cluster failed"))) == "ImportError: libfoo.so.3"
    assert _cause(raised(TimeoutError(), RuntimeError("Nanny failed to start."))) == "TimeoutError"
    inside = RuntimeError("Cluster failed")
    inside.__context__ = ValueError("two\nlines " + "x" * 5000)
    said = _cause(inside)
    assert said.startswith("ValueError: two lines x")
    assert len(said) <= 200
    silent = raised(
        RuntimeError("Nanny failed to start worker process"), RuntimeError("Cluster failed to start: Nanny failed to start worker process")
    )
    assert _cause(silent) == "a worker process ended before it could answer; its own error stands above"


@pytest.mark.parametrize("workers", [1, 3])
def test_what_to_do_is_said(workers, tmp_path, monkeypatch):
    tries = []

    def cluster(**options):
        tries.append(options["n_workers"])
        raise RuntimeError("Cluster failed to start") from OSError(24, "Too many open files")

    monkeypatch.setattr("distributed.LocalCluster", cluster)
    with pytest.raises(mvsim.UsageError) as caught:
        mvsim.run_sweep(steps(3), tmp_path / "cells", engine=Dask(workers=workers))
    said = str(caught.value)
    assert said.startswith(f"workers={workers}: could not be started (OSError: [Errno 24] Too many open files); ")
    assert 'a script of Python calls this below `if __name__ == "__main__":`' in said
    assert ("start fewer" in said) == (workers > 1)
    assert tries == [workers] * STARTS


SCRIPT = """
import mvsim
from mvsim.sweeps.dask_engine import Dask
try:
    mvsim.run_sweep({"k": 3, "m": 2, "N": 6, "method": "erm", "t_end": 2.0, "n_test": 2}, "cells", engine=Dask(workers=1))
except mvsim.UsageError as error:
    print(error)
"""


def test_a_script_on_standard_input_is_refused_before_anything_is_made(tmp_path):
    done = subprocess.run([sys.executable, "-"], input=SCRIPT, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(
        "engine='dask': worker processes cannot load this script, <stdin>; save it as a file, or make one run after another"
    )
    assert done.stderr == ""
    assert not any(tmp_path.iterdir())


@pytest.mark.slow
def test_a_script_without_a_main_guard_is_told_of_it(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    last = done.stdout.strip().splitlines()[-1]
    assert last.startswith("workers=1: could not be started (")
    assert 'a script of Python calls this below `if __name__ == "__main__":`' in last
