"""What a refusal looks like: one line, short, printable, and it names what is wrong."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fuzzing.breach import Breach, short

LONG = 60
"""Characters of a name that every message shows in full."""

MOST = 450
"""Characters of a refusal, apart from the names of files in it."""


def breaches(text: str, named: Sequence[str], label: str) -> list[Breach]:
    """Return what is wrong with a message.

    Parameters
    ----------
    text : str
        The message without a line break at its end.
    named : sequence of str
        Names of options, fields or files, one of which must occur; none if nothing is known of what is wrong.
    label : str
        What was wrong with the input, to tell causes apart.
    """
    found = []
    if "Traceback" in text:
        found.append(Breach("a traceback on stderr", label, short(text[-300:])))
    if len(text.splitlines()) != 1:
        found.append(Breach("a refusal is not one line", label, short(text)))
    elif not text.isprintable():
        strange = sorted({hex(ord(c)) for c in text if not c.isprintable()})
        found.append(Breach("a refusal has characters that cannot be printed", label, f"{strange[:5]}: {short(text)}"))
    if len(text) > MOST:
        found.append(Breach("a refusal is too long", label, f"{len(text)} characters: {short(text)}"))
    if named and not any(occurs(name, text) for name in named):
        found.append(Breach("a refusal does not name what is wrong", label, f"none of {', '.join(map(ascii, named))}: {short(text)}"))
    return found


def occurs(name: str, text: str) -> bool:
    """Whether a name stands in a text as a word; options may be written with - or _."""
    plain, wanted = text.replace("-", "_"), name.replace("-", "_")
    if len(name) > LONG:  # messages shorten it
        return wanted[: LONG // 2] in plain
    return re.search(rf"(?<![A-Za-z0-9]){re.escape(wanted)}(?![A-Za-z0-9])", plain) is not None
