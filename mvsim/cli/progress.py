"""Show a running simulation on stderr: live on a terminal, else one line now and then."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from types import TracebackType
from typing import Any, Self, TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

LOG_INTERVAL = 30.0
"""Seconds between two lines when stderr is not a terminal."""

COMPILE_NOTICE = "compiling kernels: up to a minute"


def progress_on(stream: TextIO | None = None) -> LiveProgress | LoggedProgress:
    """Return the progress display that suits ``stream`` (stderr by default); a context manager."""
    stream = sys.stderr if stream is None else stream
    console = Console(file=stream, highlight=False)
    return LiveProgress(console) if console.is_terminal and not console.is_dumb_terminal else LoggedProgress(stream)


class LiveProgress:
    """Two lines redrawn in place: a bar with the pace, and the latest figures.

    Parameters
    ----------
    console : rich.console.Console
        Where to draw; must be a terminal.
    """

    def __init__(self, console: Console) -> None:
        self._bar = Progress(BarColumn(bar_width=24), TimeElapsedColumn(), TextColumn("{task.description}"), console=console)
        self._task = self._bar.add_task("", total=None)
        self._figures = Text()
        self._live = Live(Group(self._bar, self._figures), console=console, transient=True, refresh_per_second=4)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._live.stop()

    def start(self, info: dict[str, Any]) -> None:
        """Start drawing; ``info`` is what `mvsim.simulate` tells before its first step."""
        begins = f"resuming at step {info['step']}" if info.get("step") else "starting"
        self._bar.update(self._task, description=COMPILE_NOTICE if info.get("compiling") else begins)
        self._live.start()

    def update(self, status: dict[str, Any]) -> None:
        """Show the latest figures; ``status`` is what `mvsim.simulate` reports as it goes."""
        self._bar.update(self._task, total=status.get("steps"), completed=status["step"], description=pace(status))
        self._figures.plain = figures(status)

    def finish(self, summary: dict[str, Any]) -> None:
        """Remove the lines; the results that follow on stdout replace them."""
        self._live.stop()


class LoggedProgress:
    """A line every `LOG_INTERVAL` seconds, for logs and batch jobs.

    Parameters
    ----------
    stream : TextIO
        Where to write. A stream that nobody reads any more is no reason to stop a run, so failures to write are ignored.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._last = time.monotonic()
        self._compiling = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        pass

    def start(self, info: dict[str, Any]) -> None:
        """Say what is about to take time; ``info`` is what `mvsim.simulate` tells before its first step."""
        if info.get("compiling"):
            if not self._compiling:
                self._compiling = True
                self._write(COMPILE_NOTICE)
        elif info.get("step"):
            self._write(f"resuming at step {info['step']}" + (f" of {info['steps']}" if info["steps"] else ""))

    def update(self, status: dict[str, Any]) -> None:
        """Write the latest figures if the last line is old enough."""
        now = time.monotonic()
        if now - self._last >= LOG_INTERVAL:
            self._last = now
            self._write(f"{pace(status)}; {figures(status)}")

    def finish(self, summary: dict[str, Any]) -> None:
        """Write nothing: the results follow on stdout."""

    def _write(self, text: str) -> None:
        with suppress(OSError):
            print(f"mvsim: {text}", file=self._stream, flush=True)


def pace(status: dict[str, Any]) -> str:
    """Return how far a run is and how long it still takes.

    Parameters
    ----------
    status : dict
        What `mvsim.simulate` reports: ``step``, ``steps`` (None if the run goes on until it settles), ``until`` (the time at which it
        ends if nothing changes any more; None if nothing can be said), ``rate`` (steps per second), ``eta_seconds`` (None if unknown).
    """
    parts = [f"step {status['step']}" + (f" of {status['steps']}" if status.get("steps") else "")]
    if not status.get("steps"):
        parts.append(f"at least to t = {status['until']:.3g}" if status.get("until") else "until training accuracy is 1 and nothing changes any more")
    if status.get("rate"):
        parts.append(f"{status['rate']:.3g} steps/s")
    if status.get("eta_seconds") is not None:
        parts.append(f"{duration(status['eta_seconds'])} left")
    return ", ".join(parts)


def figures(status: dict[str, Any]) -> str:
    """Return what a run has reached.

    Parameters
    ----------
    status : dict
        What `mvsim.simulate` reports: ``time``, ``loss``, ``training_accuracy`` and ``classes``: how many classes have learned both features,
        exactly one, or none.
    """
    learned = f"learned: {', '.join(f'{name} {count}' for name, count in status['classes'].items())}"
    return f"t = {status['time']:.3g}, loss {status['loss']:.4g}, accuracy {status['training_accuracy']:.3g}; {learned}"


def duration(seconds: float) -> str:
    """Return a time in hours and minutes, minutes and seconds, or seconds."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
