"""Show on stderr which run ``mvsim verify`` looks at: on a terminal a line with a spinner, since a large run takes a while; elsewhere lines."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from mvsim.base.echo import escaped
from mvsim.cli.output import note
from mvsim.runs.run import Run

EACH = 10
"""Of the runs of a sweep, every so many have a line where stderr is no terminal."""


class JudgingShown:
    """Which run is judged; a context manager, which clears the display however that ends."""

    def __init__(self, quiet: bool = False) -> None:
        console = Console(stderr=True, highlight=False)
        self._quiet, self._spinner = quiet, Spinner("dots")
        live = not quiet and console.is_terminal and not console.is_dumb_terminal
        self._live = Live(self._spinner, console=console, transient=True) if live else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.clear()

    def show(self, run: Run, before: int = 0, runs: int = 0) -> None:
        """Say that a run is looked at, and how many of how many have been before; ``runs`` is 0 where that is not known."""
        said = f"judging {escaped(str(run.path))}" + (f", {before + 1} of {runs}" if runs else "")
        if self._live is not None:
            self._spinner.update(text=Text(said))
            self._live.start(refresh=True)
        elif runs and before % EACH == 0 and not self._quiet:
            note(said)

    def clear(self) -> None:
        """Remove the line: something else is shown next."""
        if self._live is not None:
            self._live.stop()
