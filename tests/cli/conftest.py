"""Run the command in this process, in an empty directory."""

import errno
import json
import os
from dataclasses import dataclass

import pytest

from mvsim.cli import main
from mvsim.papers.midpoint_mixup import judge_run

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


def everything_in(evidence):
    """Something that two judgements share only if their files have the same contents and the training points are the same."""
    run, given = evidence.run, evidence.given_data
    variables = (
        (name, variable.dims, str(variable.dtype), variable.shape, variable.to_numpy().tobytes()) for name, variable in run.dataset.variables.items()
    )
    return tuple(variables), json.dumps(run.provenance, sort_keys=True), given if given is None else given.digest()


@pytest.fixture(scope="session")
def known_replays():
    """What replays have said so far."""
    return {}


@pytest.fixture(scope="module", autouse=True)
def each_run_is_replayed_once(known_replays):
    """Most of the time of a judgement is for a replay, which says the same of the same run again; ``tests/verification`` tests what it says.

    The fixture is one of each module: one of the whole package would end with the session, and serve the tests of other packages too.
    """
    replayed = judge_run.replayed

    def replayed_once(evidence):
        contents = everything_in(evidence)
        if contents not in known_replays:
            known_replays[contents] = replayed(evidence)
        return list(known_replays[contents])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judge_run, "replayed", replayed_once)
        yield
