"""What commands write: results on stdout, remarks on stderr, and files."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TextIO

from rich.console import Console

from mvsim.base.echo import escaped, path_text
from mvsim.base.errors import UsageError

if TYPE_CHECKING:
    from mvsim.multi_view.parameters import Deviation

WIDTH = 150
"""Columns of text where there is no terminal to ask, and at most."""


TIMING_NOTICE = "measuring how long a gradient takes here; compiling its kernels first may take a minute"
"""Is noted before times are predicted."""


LOG_INTERVAL = 30.0
"""Seconds between two lines about the same work in a log."""

CORRECT = "correct that, or choose another file with --out"
"""What to do about a file that could not be written."""


def note(line: str, stream: TextIO | None = None) -> None:
    """Print a remark as one line, by default on stderr. A stream that nobody reads, or a signal that arrives meanwhile, does not stop the command."""
    with suppress(OSError, RuntimeError):
        print(f"mvsim: {escaped(line)}", file=sys.stderr if stream is None else stream, flush=True)


class ResultsConsole(Console):
    """A console on stdout that tells its caller when nobody reads any more; left to itself, rich would end the program, as a failure."""

    def on_broken_pipe(self) -> NoReturn:
        """Go on with the error that writing raised."""
        raise BrokenPipeError


def silence_stdout() -> None:
    """Redirect stdout to /dev/null, or the interpreter complains once more when it flushes at exit."""
    with suppress(OSError, ValueError):  # a stdout without a file descriptor has nothing to flush
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_wrapped(lines: Iterable[str]) -> None:
    """Print lines on stdout, each broken at the width of the terminal; what follows a break is indented."""
    width = max(40, min(shutil.get_terminal_size((WIDTH, 24)).columns, WIDTH))
    for line in lines:
        print(*(textwrap.wrap(escaped(line), width, subsequent_indent="    ") or [""]), sep="\n")


def deviation_lines(regime: Sequence[Deviation]) -> list[str]:
    """Return the ways in which a run departs from what the theorems assume, a line each."""
    return [f"    {deviation.name}: {deviation.statement}" for deviation in regime]


def runs_text(runs: Sequence[Path]) -> str:
    """Return a name for what is about these run files."""
    first, *others = runs
    return first.stem + ("" if not others else f"-and-{others[0].stem}" if len(others) == 1 else f"-and-{len(others)}-others")


def seconds_text(seconds: float) -> str:
    """Return a short time with two digits, as "2.3 ms"."""
    unit, size = next(((unit, size) for unit, size in (("s", 1.0), ("ms", 1e-3)) if seconds >= size), ("us", 1e-6))
    return f"{seconds / size:.{1 if seconds < 10.0 * size else 0}f} {unit}"


def span_text(seconds: tuple[float, float]) -> str:
    """Return a range of times in words, as "2 s to 1 min"; of both ends the first one or two digits."""
    low, high = (_rough(each) for each in seconds)
    return low if low == high else f"{low} to {high}"


def _rough(seconds: float) -> str:
    for unit, size in (("days", 86400.0), ("hours", 3600.0), ("min", 60.0)):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 1.0):.0f} s"


def refuse_folder(out: Path, example: str) -> None:
    """Raise `UsageError` if a file is to be written where a folder is."""
    if out.is_dir():
        raise UsageError(f"out={path_text(out)}: is a directory; give the name of a file, for example {example}")


def check_place(out: Path, example: str, force: bool) -> None:
    """Raise `UsageError` if a file cannot be written, or may not be."""
    from mvsim.runs.archive import ensure_writable  # slow to import

    refuse_folder(out, example)
    if out.exists() and not force:
        raise UsageError(f"out={path_text(out)}: exists already; overwrite it with --force, or choose another file")
    ensure_writable(out, force=True)


@contextmanager
def saving(path: str | os.PathLike[str]) -> Iterator[None]:
    """Write ``path`` inside; if the system cannot, raise `UsageError` that says so, why, and what to do."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"{not_written(path, error)}; {CORRECT}") from error


def not_written(path: str | os.PathLike[str], error: OSError) -> str:
    """Say that a file could not be written, and why."""
    return f"{path_text(path)}: could not be written: {error.strerror or error}"
