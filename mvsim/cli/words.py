"""How results are put on a terminal: lines that fit, sizes and times with units."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

from mvsim.base.echo import escaped
from mvsim.multi_view.parameters import Deviation

WIDTH = 150
"""Columns of text where there is no terminal to ask, and at most."""


TIMING_NOTICE = "measuring how long a gradient takes here; compiling its kernels first may take a minute"
"""Is noted before times are predicted."""


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


def bytes_text(count: float) -> str:
    """Return a size of memory, as "1.2 GiB"."""
    if count < 2**30:
        return f"{count / 2**20:.0f} MiB"
    return f"{count / 2**30:.2g} GiB" if count < 100 * 2**30 else f"{count / 2**30:.0f} GiB"


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
