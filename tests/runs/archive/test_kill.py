"""SIGKILL at any instant: the file is the last completed save or the one in flight, and the next process clears up."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from example_run import assert_same_bits, example_run

from mvsim.runs.archive import lock_run, read_run

pytestmark = pytest.mark.slow

KILLS = 12
EARLY = 3  # of these, before the first save is known to be complete


@pytest.fixture
def saver(tmp_path):
    """A process that forks processes that save run.nc for ever."""
    here = Path(__file__).parent
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(here.parent), str(here.parents[1]), str(here.parents[2])])}
    command = [sys.executable, here / "save_loop.py", tmp_path / "run.nc"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) as process:
        yield process
        process.stdin.close()


def temporary_files(directory):
    return {name for name in os.listdir(directory) if name.endswith(".tmp")}


def test_kill_while_saving(tmp_path, saver):
    path = tmp_path / "run.nc"
    rng = np.random.default_rng(0)
    kills, completed, in_flight = 0, 0, set()
    while kills < KILLS or len(in_flight) < 3:
        assert kills < 20 * KILLS, "no kill met a save that was being written"
        print(completed + 1, file=saver.stdin, flush=True)
        child = int(saver.stdout.readline())
        if kills >= EARLY:
            completed = int(saver.stdout.readline())
        if kills < EARLY or kills % 2:
            time.sleep(rng.uniform(0, 0.05))
        else:
            while not temporary_files(tmp_path):
                pass
        os.kill(child, signal.SIGKILL)
        kills += 1
        reported = list(iter(saver.stdout.readline, "ended\n"))
        completed = int(reported[-1]) if reported else completed
        in_flight |= temporary_files(tmp_path)
        if not path.exists():
            assert completed == 0
            continue
        dataset, _ = read_run(path)
        step = int(dataset["final_step"])
        assert step in (completed, completed + 1)  # the save in flight may have been complete but for its report
        assert_same_bits(dataset, example_run(k=20, m=20, records=100, step=step)[0])
        completed = step
    with lock_run(path):
        pass
    assert os.listdir(tmp_path) == ["run.nc"]
