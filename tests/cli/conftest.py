"""Run the command in this process, in an empty directory."""

from dataclasses import dataclass

import pytest

from mvsim.cli import main

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
