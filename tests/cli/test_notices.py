"""What long work says on stderr while it goes on."""

import errno
import sys
from types import SimpleNamespace

import pytest
from sweep_folder import filled

from mvsim.cli.dispatch import _warnings_once
from mvsim.cli.output import LOG_INTERVAL, note
from mvsim.cli.progress import LoggedProgress, WorkShown
from mvsim.cli.sweep_progress import SweepDisplay
from mvsim.sweeps.runs import open_sweep


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes on by 10 seconds each time it is read."""
    times = iter(range(0, 100_000, 10))
    monkeypatch.setattr("mvsim.cli.progress.time.monotonic", lambda: float(next(times)))


def test_how_far_work_is_is_said_now_and_then(clock, capsys):
    shown = WorkShown()
    for place in range(8):
        shown.count("reading runs", place, 8)
    assert LOG_INTERVAL == 30.0
    assert capsys.readouterr().err.splitlines() == ["mvsim: reading runs, 3 of 8", "mvsim: reading runs, 6 of 8"]


def test_what_begins_is_said_at_once_but_not_if_nobody_wants_to_know(clock, capsys):
    WorkShown().begin("drawing \x1b[31m")
    WorkShown(quiet=True).begin("drawing")
    WorkShown(quiet=True).count("reading runs", 7, 8)
    assert capsys.readouterr().err == "mvsim: drawing \\x1b[31m\n"


class Full:
    """A stream that cannot be written, as nobody reads it or the disk is full."""

    def write(self, text):
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize(
    "say",
    [
        lambda: note("compiling"),
        lambda: WorkShown().begin("drawing"),
        lambda: SweepDisplay()._write("cell 3 failed"),
        lambda: LoggedProgress(sys.stderr).start({"compiling": True}),
        lambda: _warnings_once()("coarse"),
    ],
)
def test_remarks_that_nobody_reads_stop_nothing(say, monkeypatch, capsys):
    said = []
    monkeypatch.setattr(sys, "stderr", SimpleNamespace(write=said.append, flush=lambda: None, isatty=lambda: False))
    say()
    assert "".join(said).startswith("mvsim: ")
    monkeypatch.setattr(sys.stderr, "write", Full().write)
    say()


def test_reading_a_sweep_tells_how_far_it_is(tmp_path):
    folder, told = filled(tmp_path / "runs", {"k": 3, "method": "erm", "seed": "0:3"}, leave_out=[1]), []
    open_sweep(folder.path, lambda *words: told.append(words)).table  # noqa: B018 - reads it
    assert [words for words in told if words[0] == "reading runs"] == [("reading runs", place, 3) for place in range(3)]
    assert [words for words in told if words[0] == "checking runs"] == [("checking runs", place, 3) for place in range(3)]


def test_the_same_warning_is_shown_once(capsys):
    show = _warnings_once()
    for words in ("no locks", "no locks", "not synced", "read\n  badly: Traceback (most recent call last):\n ...", "no locks"):
        show(words)
    assert capsys.readouterr().err == "mvsim: warning: no locks\nmvsim: warning: not synced\nmvsim: warning: read badly:\n"
