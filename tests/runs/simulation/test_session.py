"""What a run does to the process it runs in: signals, displays, streams."""

import os
import signal
import sys
import threading
import warnings

import numba
import numpy as np
import pytest
from example_run import assert_same_bits

import mvsim
import mvsim.runs.simulation.session
from mvsim.runs.recording.recorder import Recorder
from mvsim.runs.simulation.progress import Silent

SMALL = mvsim.Parameters(k=2, m=2, N=6, P=4, d=20, C_P=1)


def simulate(**options):
    return mvsim.simulate(SMALL, "erm", t_end=5.0, n_test=2, **options)


def test_an_interruption_of_the_last_save_loses_nothing(ctrl_c, tmp_path, monkeypatch):
    real, path = mvsim.runs.simulation.session.write_run, tmp_path / "run.nc"

    def interrupted_write(*arguments):
        signal.raise_signal(signal.SIGINT)
        real(*arguments)

    monkeypatch.setattr("mvsim.runs.simulation.session.write_run", interrupted_write)
    with pytest.raises(mvsim.Interrupted, match=r"when it had finished at step \d+, t = 5; saved in .*run.nc"):
        simulate(out=path, checkpoint_seconds=1e9)
    monkeypatch.undo()
    assert mvsim.open_run(path).status == "finished"
    assert_same_bits(mvsim.open_run(path).dataset, simulate().dataset)


class Told(Silent):
    """What a display is told of the start."""

    def __init__(self):
        self.starts = []

    def start(self, info):
        self.starts.append(info["compiling"])


def test_kernels_that_steps_compile_are_announced_too(monkeypatch):
    simulate()
    told, real = Told(), Recorder.observe

    def observe(recorder, *states):
        numba.njit(lambda x: x + 1)(1)
        real(recorder, *states)

    monkeypatch.setattr(Recorder, "observe", observe)
    simulate(progress=told)
    assert told.starts == [False, True]


def process():
    """What all threads of a process share."""
    return sys.stdout, sys.stderr, dict(os.environ), list(warnings.filters), warnings.showwarning, np.geterr()


class Looking(Silent):
    """Looks at the process while a run steps."""

    def __init__(self, seen):
        self.seen = seen

    def update(self, status):
        self.seen.append(process())


def test_runs_in_threads_leave_the_process_as_it_is(monkeypatch):
    monkeypatch.setattr("mvsim.runs.simulation.session.DISPLAY_SECONDS", 0.0)
    simulate()
    before, seen, runs = process(), [], []

    def run():
        runs.append(simulate(progress=Looking(seen)))

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert_same_bits(*(run.dataset for run in runs))
    assert seen
    assert all(state == before for state in [*seen, process()])
