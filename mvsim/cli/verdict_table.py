"""Verdicts as a table for people: first what was asked for and what went wrong, the rest if it is asked for."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from mvsim.echo import escaped
from mvsim.verification.verdict import BAD, STATUSES, Verdict, number_of
from mvsim.verification.words import margin_text, number_text

WIDTH = 150
"""Columns where there is no terminal to ask."""

STYLES = {
    "fails": "bold red",
    "contradicted": "bold red",
    "inconclusive": "yellow",
    "consistent": "cyan",
    "established": "green",
    "holds": "green",
    "measured": "dim",
    "not applicable": "dim",
}

GROUPS = {"evidence": "whether the run is what it says it is", "step": "steps of the proofs and definitions", "control": "controls"}
"""What the verdicts are called that are only counted."""


def print_section(title: str, verdicts: Iterable[Verdict], everything: bool = False, claims: Sequence[str] = ()) -> None:
    """Print the verdicts of one section on stdout.

    Parameters
    ----------
    title : str
        Its heading.
    verdicts : iterable of Verdict
        The verdicts.
    everything : bool
        Show every verdict. Without it, theorems, what fails, is contradicted or inconclusive and the claims that are named are shown, and the
        others counted.
    claims : sequence of str
        Numbers of steps that are shown in any case.
    """
    # Rendered first and printed at once: on a pipe whose reader has left, rich would end the program by itself.
    text = io.StringIO()
    terminal = sys.stdout.isatty()
    console = Console(file=text, highlight=False, width=Console().width if terminal else WIDTH, force_terminal=terminal)
    verdicts = list(verdicts)
    regime = verdicts[0].regime if verdicts else ""
    console.print(Text(escaped(f"{title}  [{regime}]" if regime else title), style="bold"), soft_wrap=True)
    front = [v for v in verdicts if _in_front(v, claims)]
    rest = [v for v in verdicts if not _in_front(v, claims)]
    console.print(_table(front))
    if everything and rest:
        console.print(_table(rest))
    elif rest:
        for kind, what in GROUPS.items():
            some = [v for v in rest if v.kind == kind]
            if some:
                console.print(f"besides, {what}: {counts(some)}", style="dim", soft_wrap=True)
        console.print("--all shows them", style="dim")
    print(text.getvalue(), end="")


def counts(verdicts: Iterable[Verdict]) -> str:
    """Return how many verdicts say what, the worst first."""
    statuses = [v.status for v in verdicts]
    return ", ".join(f"{statuses.count(status)} {status}" for status in STATUSES if status in statuses)


def _in_front(v: Verdict, claims: Sequence[str]) -> bool:
    """Whether a verdict stands in the front row."""
    return v.kind in ("theorem", "control") or v.status in BAD or (v.status == "inconclusive" and v.kind == "evidence") or number_of(v.name) in claims


def _table(verdicts: Sequence[Verdict]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name, options in (("", {}), ("check", {"max_width": 44}), ("measured", {"justify": "right"}), ("bound", {"justify": "right"}),
                          ("margin", {"justify": "right"}), ("statement: detail", {"ratio": 1})):  # fmt: skip
        table.add_column(name, **options)
    for v in verdicts:
        words = f"{v.statement}: {v.detail}" if v.detail else v.statement
        table.add_row(Text(v.status, style=STYLES[v.status]), v.name, number_text(v.measured), number_text(v.bound), margin_text(v), words)
    return table
