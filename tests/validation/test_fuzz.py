"""Some cases of everything that one can give to mvsim (`fuzzing`).

``FUZZ=100 python -m pytest tests/validation/test_fuzz.py -k nothing_breaks`` tries a hundred times as many.
"""

import dataclasses
import io
import os
import sys
import threading
import warnings

import numpy as np
import pytest
from fuzzing import kinds
from fuzzing.breach import Breach
from fuzzing.calls import FUNCTIONS, arguments_of
from fuzzing.command import Command
from fuzzing.message import breaches
from fuzzing.words import FLAGS, SIMULATE
from hypothesis import HealthCheck, given, settings

import mvsim
from mvsim.runs.simulation import entry
from mvsim.runs.simulation.options import RunOptions

QUICK = settings(derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck), print_blob=False)


@pytest.fixture(scope="module", autouse=True)
def warm():
    kinds.warm_up()


@pytest.mark.parametrize("times", [1, pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", kinds.KINDS)
def test_nothing_breaks(kind, times):
    cases, number = kinds.KINDS[kind]

    @settings(QUICK, max_examples=times * int(os.environ.get("FUZZ", "1")) * number)
    @given(cases)
    def holds(case):
        assert kinds.tried(case) == []

    holds()


def test_every_option_of_a_run_is_tried():
    assert {name.replace("-", "_") for name in (*SIMULATE, *FLAGS)} >= {*mvsim.Parameters.model_fields, *RunOptions.model_fields}
    tried_in_python = {argument for name in FUNCTIONS for argument in arguments_of(name)}
    assert tried_in_python >= {*mvsim.Parameters.model_fields, *RunOptions.model_fields}


def test_runs_in_threads():
    assert kinds.tried(kinds.Together(("erm", "midpoint", "erm"), "flow")) == []


@pytest.mark.parametrize("command", [Command(("simulate", "--k", "abc"), "wrong", ("k",), True), Command(("plot", "\x1b[31m.nc"), "wrong", (), True)])
def test_in_a_process_of_its_own(command):
    assert kinds.tried(dataclasses.replace(command, apart=True)) == []


MESSAGES = {
    "mvsim: k='abc': must be an integer": None,
    "mvsim: wrong": "a refusal does not name what is wrong",
    "mvsim: k=3\nm=4": "a refusal is not one line",
    "mvsim: k='\x1b[31m'": "a refusal has characters that cannot be printed",
    "mvsim: k='\u202e'": "a refusal has characters that cannot be printed",
    "mvsim: k=" + "9" * 500: "a refusal is too long",
    "Traceback: k": "a traceback on stderr",
}


@pytest.mark.parametrize("text", MESSAGES)
def test_a_bad_message_is_seen(text):
    assert [one.broken for one in breaches(text, ("k",), "k")] == ([MESSAGES[text]] if MESSAGES[text] else [])


def misbehave(monkeypatch, act):
    """Let `mvsim simulate` do something first."""
    real = entry.simulate
    monkeypatch.setattr("mvsim.cli.simulate.mvsim.simulate", lambda *arguments, **options: (act(), real(*arguments, **options))[1])


MISBEHAVIOUR = {
    "environment": (lambda: os.environ.update(MVSIM_FUZZ="1"), "global state is changed"),
    "stream": (lambda: setattr(sys, "stdout", io.StringIO()), "global state is changed"),
    "errstate": (lambda: np.seterr(all="ignore"), "global state is changed"),
    "thread": (lambda: threading.Timer(5.0, lambda: None).start(), "global state is changed"),
    "warning": (lambda: warnings.warn("overflow encountered", RuntimeWarning, stacklevel=1), "a Python warning"),
    "file": (lambda: open(".run.nc.tmp", "w").close(), "files are left behind"),
    "descriptor": (lambda: os.write(2, b"CVODE"), "written to a file descriptor"),
    "exception": (lambda: 1 / 0, "a bug is reported"),
    "exit": (lambda: sys.exit(1), "a command ends the process"),
}


@pytest.mark.parametrize("what", MISBEHAVIOUR)
def test_misbehaviour_is_seen(what, monkeypatch):
    act, broken = MISBEHAVIOUR[what]
    before, errors = dict(os.environ), np.geterr()
    misbehave(monkeypatch, act)
    run = Command(("simulate", "--k", "3", "--m", "2", "--N", "6", "--t-end", "5", "--quiet"), what, makes=("mvsim-k3-midpoint-seed0*.nc",))
    found = kinds.tried(run)
    os.environ.pop("MVSIM_FUZZ", None)
    np.seterr(**errors)
    assert dict(os.environ) == before
    assert broken in [one.broken for one in found]


def test_wrongly_accepted_and_wrongly_refused_are_seen():
    fine = Command(("simulate", "--help"), "help", refused=True)
    wrong = Command(("simulate", "--k", "1"), "k", refused=False)
    assert [one.cause for one in kinds.tried(fine)] == [("wrongly accepted", "help")]
    assert [one.cause for one in kinds.tried(wrong)] == [("wrongly refused", "k")]


def test_causes_tell_breaches_apart():
    assert Breach("a", "b", "c").cause == Breach("a", "b", "d").cause != Breach("a", "x", "c").cause


def test_a_legal_run_is_accepted():
    words = ("simulate", "--k", "3", "--m", "2", "--N", "6", "--t-end", "5", "--quiet")
    assert kinds.tried(Command(words, "right", (), False, makes=("mvsim-k3-midpoint-seed0*.nc",))) == []
