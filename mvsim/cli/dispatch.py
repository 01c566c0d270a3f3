"""Run the app; turn every expected failure into one line and an exit code."""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from mvsim.base.signals import delays_told
from mvsim.cli.app import app
from mvsim.cli.outcome import BUG, DONE, TRACEBACK, exit_code, message
from mvsim.cli.remarks import note
from mvsim.cli.streams import ResultsConsole, silence_stdout


def dispatch(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; see `mvsim.cli.main`."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    _make_streams_usable()
    with _any_end_is_ctrl_c(), delays_told(_say_that_it_stops), warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            code = app(words, console=ResultsConsole())
            sys.stdout.flush()
        except BrokenPipeError:
            # Results are printed after everything is saved, so a reader that left (`| head`) has lost nothing but lines.
            silence_stdout()
        except (Exception, KeyboardInterrupt) as error:
            note(message(error, words))
            if isinstance(error, OSError):  # it may be stdout itself that cannot be written
                silence_stdout()
            if exit_code(error) == BUG and os.environ.get(TRACEBACK):
                traceback.print_exc()
            return exit_code(error)
        else:
            return code if isinstance(code, int) else DONE
    return DONE


def _make_streams_usable() -> None:
    """Let streams escape characters that their encoding lacks, and stand in for streams that were closed by the caller."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - lives as long as the process
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


@contextmanager
def _any_end_is_ctrl_c() -> Iterator[None]:
    """Treat SIGTERM and SIGHUP like Ctrl-C, so that a job scheduler's warning and a lost connection also save the state.

    One that the caller has told us to ignore, as ``nohup`` does, stays ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heeded = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, signal.default_int_handler) for number in heeded}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _show_warning(message: Warning | str, *details: object, **more: object) -> None:
    """Show a warning as one line: whoever types a command has no use for the place in the code."""
    note(f"warning: {' '.join(str(message).split())}")


def _say_that_it_stops() -> None:
    """Say that Ctrl-C was heard by a compiler, which cannot be interrupted."""
    note("interrupted; stops when the kernel that is being compiled is ready, half a minute at most")
