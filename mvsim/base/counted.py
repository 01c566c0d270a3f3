"""Numbers of things in words."""

from __future__ import annotations


def counted(number: int, what: str) -> str:
    """Return a number of things, as "1 cell" or "2 cells"."""
    return f"{number} {what}{'' if number == 1 else 's'}"
