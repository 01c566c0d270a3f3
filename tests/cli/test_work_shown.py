"""What is being done, on stderr."""

import io
import sys

import pytest

from mvsim.cli.progress import WorkShown

ERASE = "\x1b[2K"


class Terminal(io.StringIO):
    def isatty(self):
        return True


def a_terminal(monkeypatch):
    """Put a terminal in the place of stderr. Not a fixture: between one and the test stderr is set again."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", Terminal())
    return sys.stderr


def test_a_terminal_shows_it_until_something_else_comes(monkeypatch):
    terminal = a_terminal(monkeypatch)
    with WorkShown() as shown:
        shown.count("judging runs/a.nc", 2, 7)
        assert "judging runs/a.nc, 3 of 7" in terminal.getvalue()
        before = len(terminal.getvalue())
        shown.clear()
        assert ERASE in terminal.getvalue()[before:]
        shown.begin("drawing")
        before = len(terminal.getvalue())
    assert ERASE in terminal.getvalue()[before:]


def test_quiet_shows_nothing(monkeypatch):
    terminal = a_terminal(monkeypatch)
    with WorkShown(quiet=True) as shown:
        shown.begin("drawing")
        shown.count("judging", 0, 1)
    assert terminal.getvalue() == ""


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["figure", "variance/1"], "drawing variance/1"),
        (["verify", "midpoint/4.4", "--k", "10", "--seeds", "1"], "judging midpoint/proposition-4.4"),
    ],
)
def test_what_takes_long_says_so_before_it_begins(mvsim, monkeypatch, command, words):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("mvsim.papers.minimum_variance.figures.samples", stop)
    result = mvsim(*command)
    assert f"mvsim: {words}" in result.err
