"""Show a running simulation on stderr: live on a terminal, else one line now and then."""

from __future__ import annotations

import importlib
import math
import sys
import time
from html import escape
from typing import TYPE_CHECKING, Any, Self, TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TimeElapsedColumn
from rich.spinner import Spinner
from rich.text import Text

from mvsim.base.echo import escaped
from mvsim.cli.output import LOG_INTERVAL, note, span_text

if TYPE_CHECKING:
    from mvsim.runs.simulation.pace import EscapeProgress

NOTEBOOK_INTERVAL = 0.5
"""Seconds between two updates in a notebook."""

COMPILE_NOTICE = "compiling kernels, up to a minute, once for each method and command"


def progress_on(title: str = "", stream: TextIO | None = None) -> LiveProgress | LoggedProgress | NotebookProgress:
    """Return a display for ``progress`` of `mvsim.simulate`: a bar in a notebook or on a terminal, else a line now and then.

    The function itself is what ``progress`` of `mvsim.verify` takes, which makes many runs.

    Parameters
    ----------
    title : str
        What is shown before it: which run it is, where there are several.
    stream : TextIO, optional
        Where it is shown; by default in the notebook, and without one on stderr.

    Returns
    -------
    Progress
        It is a context manager, which clears the display however the run ends.

    Examples
    --------
    >>> with mvsim.progress_on() as shown:  # doctest: +SKIP
    ...     run = mvsim.simulate(mvsim.Parameters(k=10), progress=shown)
    >>> mvsim.verify("midpoint/theorem-4.7", k=6, progress=mvsim.progress_on)  # doctest: +SKIP
    """
    if stream is None and Console().is_jupyter:
        return NotebookProgress(title)
    stream = sys.stderr if stream is None else stream
    console = Console(file=stream, highlight=False)
    terminal = console.is_terminal and not console.is_dumb_terminal
    return LiveProgress(console, title) if terminal else LoggedProgress(stream, title)


class Cleared:
    """A display that is a context manager, which clears it however that ends."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.clear()

    def clear(self) -> None:
        """Remove what is shown only meanwhile; by default all of it stays."""


class LiveProgress(Cleared):
    """A few lines redrawn in place: a bar with the time, the pace, and the latest figures; what is longer than the terminal is wide is wrapped."""

    def __init__(self, console: Console, title: str = "") -> None:
        self._bar = Progress(BarColumn(bar_width=24), TimeElapsedColumn(), console=console)
        self._task = self._bar.add_task("", total=None)
        self._pace, self._figures = Text(), Text()
        self._live = Live(
            Group(*(Text(line) for line in [title] if line), self._bar, self._pace, self._figures),
            console=console,
            transient=True,
            refresh_per_second=4,
        )

    def start(self, info: dict[str, Any]) -> None:
        """Start drawing; ``info`` is what `mvsim.simulate` tells before its first step."""
        self._pace.plain = COMPILE_NOTICE if info.get("compiling") else begins(info) or "starting"
        if info.get("seconds"):
            self._figures.plain = expectation(info["seconds"])
        self._live.start()

    def update(self, status: dict[str, Any]) -> None:
        """Show the latest figures; ``status`` is what `mvsim.simulate` reports as it goes."""
        self._bar.update(self._task, total=status.get("steps"), completed=status["step"])
        self._pace.plain = pace(status)
        self._figures.plain = figures(status)

    def finish(self, summary: dict[str, Any]) -> None:
        """Remove the lines; the results that follow on stdout replace them."""
        self.clear()

    def clear(self) -> None:
        self._live.stop()


class NotebookProgress(Cleared):
    """A bar and the latest figures in a cell of a notebook, redrawn in place by the display handle of IPython; no widgets are needed."""

    def __init__(self, title: str = "") -> None:
        self._title = title
        self._handle: Any = None
        self._drawn = -math.inf

    def start(self, info: dict[str, Any]) -> None:
        """Say what is about to take time; ``info`` is what `mvsim.simulate` tells before its first step."""
        text = expectation(info["seconds"]) if info.get("seconds") else begins(info) or "starting"
        self._draw(COMPILE_NOTICE if info.get("compiling") else text)

    def update(self, status: dict[str, Any]) -> None:
        """Show the latest figures, twice a second."""
        if time.monotonic() - self._drawn >= NOTEBOOK_INTERVAL:
            done = f"value='{status['step']}' max='{status['steps']}'" if status.get("steps") else ""
            self._draw(f"{pace(status)}\n{figures(status)}", f"<progress {done} style='width: 20em'></progress> ")

    def finish(self, summary: dict[str, Any]) -> None:
        """Show how the run ended."""
        self._draw(summary["summary"].splitlines()[0])

    def _draw(self, text: str, bar: str = "") -> None:
        ipython = importlib.import_module("IPython.display")  # it is there where there is a notebook
        self._drawn = time.monotonic()
        lines = [*([self._title] if self._title else []), *text.splitlines()]
        shown = ipython.HTML(f"<div>{bar}{'<br>'.join(escape(escaped(line)) for line in lines)}</div>")
        if self._handle is None:
            self._handle = ipython.display(shown, display_id=True)
        else:
            self._handle.update(shown)


class LoggedProgress(Cleared):
    """A line every `LOG_INTERVAL` seconds, for logs and batch jobs."""

    def __init__(self, stream: TextIO, title: str = "") -> None:
        self._stream = stream
        self._title = title
        self._last = time.monotonic()
        self._compiling = False

    def start(self, info: dict[str, Any]) -> None:
        """Say what is about to take time; ``info`` is what `mvsim.simulate` tells before its first step."""
        if info.get("compiling"):
            if not self._compiling:
                self._compiling = True
                self._write(COMPILE_NOTICE)
        elif info.get("seconds"):
            self._write(expectation(info["seconds"]))
        elif begins(info):
            self._write(begins(info))

    def update(self, status: dict[str, Any]) -> None:
        """Write the latest figures if the last line is old enough."""
        now = time.monotonic()
        if now - self._last >= LOG_INTERVAL:
            self._last = now
            self._write(f"{pace(status)}; {figures(status)}")

    def finish(self, summary: dict[str, Any]) -> None:
        """Write nothing: the results follow on stdout."""

    def _write(self, text: str) -> None:
        note(f"{self._title}{': ' if self._title else ''}{text}", self._stream)


class WorkShown(Cleared):
    """What is being done: on a terminal beside a sign that moves, else a line when it begins and now and then one of how far it is."""

    def __init__(self, quiet: bool = False) -> None:
        console = Console(stderr=True, highlight=False)
        self._quiet, self._spinner, self._last = quiet, Spinner("dots"), time.monotonic()
        live = not quiet and console.is_terminal and not console.is_dumb_terminal
        self._live = Live(self._spinner, console=console, transient=True) if live else None

    def begin(self, what: str) -> None:
        """Say what begins, and may take long without another word."""
        if self._live is not None:
            self._spinner.update(text=Text(escaped(what)))
            self._live.start(refresh=True)
        elif not self._quiet:
            self._last = time.monotonic()
            note(what)

    def count(self, what: str, before: int, of: int) -> None:
        """Say how far some work is, where lines are written only if the last one is old enough."""
        if self._live is not None or time.monotonic() - self._last >= LOG_INTERVAL:
            self.begin(f"{what}, {before + 1} of {of}")

    def clear(self) -> None:
        if self._live is not None:
            self._live.stop()


def pace(status: dict[str, Any]) -> str:
    """Return how far a run is and how long it still takes."""
    parts = [f"step {status['step']}" + (f" of {status['steps']}" if status.get("steps") else "")]
    next_escape = _next_escape(status)
    if next_escape:
        parts.append(next_escape)
    elif not status.get("steps"):
        until = status.get("until")
        parts.append(f"ends by t = {until:.3g} unless something changes" if until else "goes on until training accuracy is 1 and nothing changes")
    if status.get("rate"):
        parts.append(f"{status['rate']:.3g} steps/s")
    if status.get("seconds_left") is not None and not next_escape:
        parts.append(f"{duration(status['seconds_left'])} left" + ("" if status.get("steps") else " at the present pace"))
    return ", ".join(parts)


def _next_escape(status: dict[str, Any]) -> str:
    """Say when features will escape, if the next is before a flow ends: escapes change the pace, so that no time left can be told."""
    escapes: EscapeProgress | None = status.get("escapes")
    if status.get("steps") or escapes is None or escapes.next_time is None or escapes.next_time > (status.get("until") or math.inf):
        return ""
    last = "" if escapes.last_time is None else f", last at {escapes.last_time:.3g}"
    return f"{escapes.escaped} of {escapes.features} features escaped, next at t = {escapes.next_time:.3g}{last}"


def begins(info: dict[str, Any]) -> str:
    """Say where a resumed run begins; nothing for a new one."""
    if not info.get("step"):
        return ""
    steps = f" of {info['steps']}" if info.get("steps") else ""
    again = f"; steps up to {info['repeated']} are done again" if info.get("repeated", 0) > info["step"] else ""
    return f"resuming at step {info['step']}{steps}{again}"


def expectation(seconds: tuple[float, float]) -> str:
    """Say how long a run will take."""
    return f"this run is expected to take {span_text(seconds)} (--dry-run predicts it); it can be interrupted and resumed"


def figures(status: dict[str, Any]) -> str:
    """Return what a run has reached."""
    learned = f"learned: {', '.join(f'{name} {count}' for name, count in status['classes'].items())}"
    return f"t = {status['time']:.3g}, loss {status['loss']:.4g}, accuracy {status['training_accuracy']:.3g}; {learned}"


def duration(seconds: float) -> str:
    """Return a time in hours and minutes, minutes and seconds, or seconds."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
