"""What a Dask engine says that cannot start workers: the innermost cause, and what to do."""

import itertools
import os
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
    assert said.endswith("make one run after another with engine=None")
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


def test_a_script_without_a_main_guard_is_told_of_it_in_one_line(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "script.py, line 5: starts a sweep whenever it is loaded" in done.stdout
    assert 'put this below `if __name__ == "__main__":`, or make one run after another with engine=None' in done.stdout
    assert (done.stdout.count("\n"), done.stderr) == (1, "")
    assert [path.name for path in tmp_path.iterdir()] == ["script.py"]


def test_too_few_open_files_are_named_before_anything_is_started(tmp_path):
    body = "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (30, 30))\n" + SCRIPT.strip()
    (tmp_path / "script.py").write_text('if __name__ == "__main__":\n    ' + body.replace("\n", "\n    "))
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(
        "workers=1: they need about 36 open files, and this process may have 30; raise the limit of this shell (ulimit -n), "
    )
    assert (done.stdout.count("\n"), done.stderr) == (1, "")


FOREIGN = {
    "DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "True",
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "nonsense",
    "DASK_DISTRIBUTED__COMM__DEFAULT_SCHEME": "ucx",
    "DASK_DISTRIBUTED__WORKER__PRELOAD": '["nonsense"]',
    "DASK_SCHEDULER_ADDRESS": "tcp://192.0.2.1:1",
    "DASK_TEMPORARY_DIRECTORY": "/proc/none",
}


@pytest.mark.slow
def test_the_configuration_of_a_site_does_not_reach_workers_here(tmp_path):
    body = SCRIPT.strip().replace("\n", "\n    ")
    (tmp_path / "script.py").write_text(f'if __name__ == "__main__":\n    {body}\n')
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, env=os.environ | FOREIGN, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")
    assert len(mvsim.open_runs(tmp_path / "cells")) == 1
