"""Signals that have to wait take effect afterwards, and whoever sent one is told at once."""

import signal

import pytest

from mvsim.base.signals import defer_signals, on_deferred_signal
from mvsim.cli.dispatch import dispatch


@pytest.mark.usefixtures("ctrl_c")
def test_a_signal_that_waits_is_told_of_at_once_and_only_the_first():
    told, passed = [], []

    def twice():
        with defer_signals():
            for _ in range(2):
                signal.raise_signal(signal.SIGINT)
                passed.append(list(told))

    with on_deferred_signal(lambda: told.append("told")), pytest.raises(KeyboardInterrupt):
        twice()
    assert passed == [["told"], ["told"]]
    with pytest.raises(KeyboardInterrupt), defer_signals():
        signal.raise_signal(signal.SIGINT)
    assert told == ["told"]


@pytest.mark.usefixtures("ctrl_c")
def test_the_command_line_says_that_it_stops_after_compiling(monkeypatch, capsys):
    said = []

    def compiles(words, console):
        with defer_signals():
            signal.raise_signal(signal.SIGINT)
            said.append(capsys.readouterr().err)

    monkeypatch.setattr("mvsim.cli.dispatch.app", compiles)
    assert dispatch([]) == 130
    assert said == ["mvsim: interrupted; stops when the kernel that is being compiled is ready, half a minute at most\n"]
