"""Run the command in this process, in an empty directory."""

import errno
import json
import os
from dataclasses import dataclass

import pytest

from mvsim.cli import main
from mvsim.verification import run_verdicts

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


def everything_in(run):
    """Something that two runs share only if their files have the same contents."""
    variables = (
        (name, variable.dims, str(variable.dtype), variable.shape, variable.to_numpy().tobytes()) for name, variable in run.dataset.variables.items()
    )
    return tuple(variables), json.dumps(run.provenance, sort_keys=True)


@pytest.fixture(scope="package", autouse=True)
def each_run_is_replayed_once():
    """Most of the time of a judgement is for a replay, which says the same of the same run again; ``tests/verification`` tests what it says."""
    replayed, known = run_verdicts.replayed, {}

    def replayed_once(evidence):
        contents = everything_in(evidence.run)
        if contents not in known:
            known[contents] = replayed(evidence)
        return list(known[contents])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_verdicts, "replayed", replayed_once)
        yield
