"""Which run is judged, on stderr."""

import io
import sys
from types import SimpleNamespace

from mvsim.cli.progress import JudgingShown

RUN = SimpleNamespace(path="runs/a.nc")
ERASE = "\x1b[2K"


class Terminal(io.StringIO):
    def isatty(self):
        return True


def a_terminal(monkeypatch):
    """Put a terminal in the place of stderr. Not a fixture: between one and the test stderr is set again."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", Terminal())
    return sys.stderr


def test_a_terminal_shows_the_run_until_something_else_comes(monkeypatch):
    terminal = a_terminal(monkeypatch)
    with JudgingShown() as shown:
        shown.show(RUN, 2, 7)
        assert "judging runs/a.nc, 3 of 7" in terminal.getvalue()
        before = len(terminal.getvalue())
        shown.clear()
        assert ERASE in terminal.getvalue()[before:]
        shown.show(RUN)
        before = len(terminal.getvalue())
    assert ERASE in terminal.getvalue()[before:]


def test_elsewhere_every_tenth_run_of_a_sweep_has_a_line(capsys):
    with JudgingShown() as shown:
        for before in range(11):
            shown.show(RUN, before, 11)
        shown.show(RUN)
    assert capsys.readouterr().err == "mvsim: judging runs/a.nc, 1 of 11\nmvsim: judging runs/a.nc, 11 of 11\n"


def test_quiet_shows_nothing(monkeypatch):
    terminal = a_terminal(monkeypatch)
    with JudgingShown(quiet=True) as shown:
        shown.show(RUN, 0, 1)
    assert terminal.getvalue() == ""
