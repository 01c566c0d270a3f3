"""Verdicts as a table for people."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from rich.console import Console
from rich.table import Table
from rich.text import Text

from mvsim.verification.verdict import Verdict

WIDTH = 150
"""Columns where there is no terminal to ask."""

STYLES = {"holds": "green", "fails": "bold red", "inconclusive": "yellow", "measured": "dim"}


def print_section(title: str, verdicts: Iterable[Verdict]) -> None:
    """Print the verdicts of one section on stdout: status, name, numbers, and of what is decided also the detail."""
    console = Console(file=sys.stdout, highlight=False, width=None if sys.stdout.isatty() else WIDTH)
    verdicts = list(verdicts)
    regime = verdicts[0].regime if verdicts else ""
    console.print(Text(f"{title}  [{regime}]" if regime else title, style="bold"), soft_wrap=True)
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name, options in (("", {}), ("check", {"max_width": 44}), ("measured", {"justify": "right"}), ("bound", {"justify": "right"}),
                          ("margin", {"justify": "right"}), ("detail", {"ratio": 1})):  # fmt: skip
        table.add_column(name, **options)
    for v in verdicts:
        numbers = (_number(v.measured), _number(v.bound), "" if v.margin is None else f"{100 * v.margin:+.0f}%")
        detail = v.detail if v.status != "measured" else v.statement
        table.add_row(Text(v.status, style=STYLES[v.status]), v.name, *numbers, detail)
    console.print(table)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"
