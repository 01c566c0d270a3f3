"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


def table(heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table in Markdown."""
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|", *(f"| {' | '.join(map(str, cells))} |" for cells in rows)]
    return "\n".join(lines) + "\n"


def met(value: bool) -> str:
    """Return whether a target is met, in a word that stands out where it is not."""
    return "met" if value else "**missed**"
