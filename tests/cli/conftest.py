"""Run the command in this process, in an empty directory."""

import errno
import os
from dataclasses import dataclass
from functools import partial

import pytest

from mvsim.cli import main
from mvsim.papers.midpoint_mixup import judge_run
from mvsim.runs.simulation import estimate as run_estimate
from mvsim.sweeps import estimate as sweep_estimate

TINY = ("--k", "3", "--N", "30", "--t-end", "60", "--quiet")
"""A run of a few steps."""


@dataclass
class Result:
    """What a command left: exit code, stdout, stderr."""

    code: int
    out: str
    err: str


@pytest.fixture
def mvsim(tmp_path, monkeypatch, capsys):
    """Return a function that runs ``mvsim`` with the given words in ``tmp_path``."""
    monkeypatch.chdir(tmp_path)

    def run(*words):
        code = main([str(word) for word in words])
        streams = capsys.readouterr()
        return Result(code, streams.out, streams.err)

    return run


@pytest.fixture
def tiny():
    """Return the words of a run of a few steps."""
    return TINY


@pytest.fixture
def full_disk(monkeypatch):
    """From now on nothing that is written reaches the disk."""

    def fsync(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fsync)


@pytest.fixture(autouse=True)
def short_replays_and_timings(monkeypatch):
    """Of what takes most of the time of a command a small part: how far replays go, and for how long gradients are timed, is tested elsewhere."""
    monkeypatch.setattr(judge_run, "replayed", partial(judge_run.replayed, part=0.02))
    for module in (run_estimate, sweep_estimate):
        monkeypatch.setattr(module, "time_of_gradient", partial(_timed_once, module.time_of_gradient))


def _timed_once(time_of_gradient, objective, c, within):
    return time_of_gradient(objective, c, 0.0)
