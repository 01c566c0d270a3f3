"""Verdicts as a table for people."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable

from rich.console import Console
from rich.table import Table
from rich.text import Text

from mvsim.echo import escaped
from mvsim.verification.verdict import Verdict

WIDTH = 150
"""Columns where there is no terminal to ask."""

STYLES = {"holds": "green", "fails": "bold red", "inconclusive": "yellow", "measured": "dim", "beyond bound": "yellow"}


def print_section(title: str, verdicts: Iterable[Verdict]) -> None:
    """Print the verdicts of one section on stdout: status, name, numbers, and of what is decided also the detail."""
    # Rendered first and printed at once: on a pipe whose reader has left, rich would end the program by itself.
    text = io.StringIO()
    terminal = sys.stdout.isatty()
    console = Console(file=text, highlight=False, width=Console().width if terminal else WIDTH, force_terminal=terminal)
    verdicts = list(verdicts)
    regime = verdicts[0].regime if verdicts else ""
    console.print(Text(escaped(f"{title}  [{regime}]" if regime else title), style="bold"), soft_wrap=True)
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name, options in (("", {}), ("check", {"max_width": 44}), ("measured", {"justify": "right"}), ("bound", {"justify": "right"}),
                          ("margin", {"justify": "right"}), ("detail", {"ratio": 1})):  # fmt: skip
        table.add_column(name, **options)
    for v in verdicts:
        numbers = (_number(v.measured), _number(v.bound), _margin(v))
        detail = v.statement if v.status == "measured" and v.measured is not None else v.detail
        table.add_row(Text(_word(v), style=STYLES[_word(v)]), v.name, *numbers, detail)
    console.print(table)
    if any(_word(v) == "beyond bound" for v in verdicts):
        console.print("beyond bound: the constant exceeds what the proof needs for large k; a single k decides nothing", style="dim")
    print(text.getvalue(), end="")


def counts(verdicts: Iterable[Verdict]) -> str:
    """Return how many verdicts say what, in the words of the table."""
    words = [_word(v) for v in verdicts]
    return ", ".join(f"{words.count(word)} {word}" for word in STYLES if word in words)


def _word(v: Verdict) -> str:
    """Return the status, or that what is measured only lies beyond the bound beside it."""
    return "beyond bound" if v.status == "measured" and v.margin is not None and v.margin < 0.0 else v.status


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _margin(v: Verdict) -> str:
    """Return the margin in per cent of the bound, as a number where the bound is 0."""
    if v.margin is None:
        return ""
    percent = 100.0 * v.margin
    return f"{v.margin:+.2g}" if v.bound == 0.0 else f"{percent:+.0f}%" if abs(percent) >= 0.5 or percent == 0.0 else f"{percent:+.1g}%"
