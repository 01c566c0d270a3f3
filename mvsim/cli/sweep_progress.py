"""Show a sweep on stderr: live on a terminal, else one line now and then."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from typing import TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.text import Text

from mvsim.base.echo import escaped, quantity
from mvsim.cli.output import LOG_INTERVAL, note
from mvsim.cli.progress import COMPILE_NOTICE, Cleared, duration
from mvsim.sweeps.engine import Event
from mvsim.sweeps.sweep import Display
from mvsim.sweeps.tally import AtWork, Tally

MOST_WORKERS = 16
"""Workers whose cells are shown one by one."""


class SweepDisplay(Cleared, Display):
    """What a sweep tells on stderr."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        console = Console(file=self._stream, highlight=False)
        self._live = Live(console=console, transient=True, refresh_per_second=4) if console.is_terminal and not console.is_dumb_terminal else None
        self._last = time.monotonic()

    def clear(self) -> None:
        if self._live is not None:
            self._live.stop()

    def begin(self, tally: Tally, workers: str) -> None:
        """Say what is to be done, and by whom."""
        self._write(f"{tally.left} of {quantity(tally.cells, 'cell')} to do; {workers}")
        if self._live is not None:
            self._live.start()
            self._show(tally, [Text("starting; the first run of each method compiles its kernels")])

    def update(self, tally: Tally, event: Event) -> None:
        """Show what goes on where; a cell that fails has a line of its own."""
        if event.outcome is not None and event.outcome.state == "failed":
            self._write(f"cell {event.cell} failed: {event.outcome.message}")
        if self._live is not None:
            self._show(tally, [Text(line) for line in _workers(tally)])
        elif time.monotonic() - self._last >= LOG_INTERVAL:
            self._last = time.monotonic()
            self._write("; ".join([summary(tally), *_workers(tally)]))

    def _show(self, tally: Tally, lines: list[Text]) -> None:
        """Show how much is done, and some lines."""
        assert self._live is not None
        share = ProgressBar(total=tally.cells, completed=tally.counts["done"], width=40)
        self._live.update(Group(share, Text(summary(tally)), *lines))

    def _write(self, text: str) -> None:
        if self._live is None or not self._live.is_started:
            note(text, self._stream)
            return
        with suppress(OSError):
            self._live.console.print(Text(f"mvsim: {escaped(text)}"))


def summary(tally: Tally) -> str:
    """Return how far a sweep is, in a line."""
    parts = [f"{tally.counts['done']} of {quantity(tally.cells, 'cell')} done"]
    if tally.undecided("done"):
        parts.append(f"{tally.undecided('done')} of them undecided (not settled)")
    if tally.counts["failed"]:
        parts.append(f"{tally.counts['failed']} failed")
    if tally.undecided("failed"):
        parts.append(f"{tally.undecided('failed')} of them undecided (stalled or diverged)")
    left = tally.seconds_left()
    return ", ".join([*parts, f"about {duration(left)} left"] if left is not None and tally.left else parts)


def _workers(tally: Tally) -> list[str]:
    """Return a line for each worker, of the first few."""
    lines = [f"{_place(name)}{_doing(one)}" for name, one in sorted(tally.at_work.items())[:MOST_WORKERS]]
    more = len(tally.at_work) - len(lines)
    return [*lines, f"and {quantity(more, 'more worker')}"] if more > 0 else lines


def _place(worker: str) -> str:
    """Say where a worker is: nothing if that is this machine, where its address tells nobody anything."""
    return "" if "//127.0.0.1:" in worker else f"{worker}: "


def _doing(one: AtWork) -> str:
    status, what = one.status, f"cell {one.job.cell.index} ({one.job.cell.label})"
    if status.get("compiling"):
        return f"{what}, {COMPILE_NOTICE}"
    return f"{what}, step {status['step']}, t = {status['time']:.3g}" if "time" in status else what
