"""User-supplied text in messages: safe to print on a terminal, and short."""

from __future__ import annotations

import difflib
import math
import os
import reprlib
from collections.abc import Iterable

LONGEST = 80
"""Characters of a value that a message repeats."""

LONGEST_PATH = 240
"""The same for the name of a file, which a reader has to find."""


def escaped(text: str) -> str:
    """Return ``text`` with every non-printable character as its escape sequence in Python."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def shortened(text: str, most: int = LONGEST) -> str:
    """Return the beginning and the end of ``text``, escaped, if it has more than ``most`` characters; else all of it, escaped."""
    text = escaped(text if len(text) <= 2 * most else f"{text[:most]}{text[-most:]}")
    half = (most - 3) // 2
    return text if len(text) <= most else f"{text[:half]}...{text[-half:]}"


def path_text(path: str | os.PathLike[str]) -> str:
    """Return the name of a file for a message."""
    return shortened(str(path), LONGEST_PATH)


def echo(value: object) -> str:
    """Return any ``value`` as a message repeats it: what `repr` says on one line, escaped and shortened in the middle."""
    return shortened(" ".join(_REPR.repr(value).split()))


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown word: the known one that is closest to it, or nothing if none is close."""
    matches = difflib.get_close_matches(word, list(known), n=1)
    return f", did you mean {matches[0]}?" if matches else ""


def quantity(number: int, what: str) -> str:
    """Return a number of things, as "1 cell" or "2 cells"."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def bytes_text(count: float) -> str:
    """Return a size of memory, as "1.2 GiB"."""
    if count < 2**30:
        return f"{count / 2**20:.0f} MiB"
    return f"{count / 2**30:.2g} GiB" if count < 100 * 2**30 else f"{count / 2**30:.0f} GiB"


class _Repr(reprlib.Repr):
    """What `repr` says, without its cost for large values and without its errors."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = self.maxlong = 2 * LONGEST

    def repr_int(self, value: int, level: int) -> str:
        """Return the first digits of an integer and how many there are, beyond 40: Python itself refuses to write more than 4300."""
        if abs(value) < 10**40:
            return repr(value)
        digits = int(math.log10(abs(value))) + 1
        digits -= abs(value) < 10 ** (digits - 1)  # the logarithm of 10^n - 1 rounds to n
        first = abs(value) // 10 ** (digits - 8)
        return f"{'-' if value < 0 else ''}{first}... ({digits} digits)"


_REPR = _Repr()
