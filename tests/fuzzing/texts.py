"""Values as text: what no option of a kind takes, and what one would not expect."""

from __future__ import annotations

import os
import string

from hypothesis import strategies as st

ESCAPES = (
    "\x1b[2J\x1b[31mred",
    "\x1b]0;title\x07",
    "a\rb",
    "tab\there",
    "line\nbreak",
    "\x7f",
    "\x9b31m",
    "\u202eright to left",
    "zero\u200bwidth",
    "\x08\x08",
)
"""What a terminal would obey."""

HUGE = ("9" * 5000, "-" + "9" * 5000, "1" + "0" * 400, "0." + "3" * 5000)
UNICODE = ("½", "k\u0301", "é☃", "\udcff", "日本語", "\U0001d7db", "٣", "\u00a0", "\ufeff3")
NO_NUMBERS = (
    *("", " ", "abc", "nan", "1,5", "[]", "{}", "[1]", "true", "x" * 5000, "3 4", "1+1", "$(id)", "%s%n", "--", "-", "e5", "½"),
    *ESCAPES,
    "é☃",
    "\udcff",
)
NO_FLOATS = (*NO_NUMBERS, "0x10", "1e", "1e999999", "-1e999", "-inf")
NO_INTEGERS = (*NO_NUMBERS, "1.5", "1e-3", "inf", "0x10", "-7", "9" * 5000, "-" + "9" * 5000, "1e400")
BAD = {"integer": NO_INTEGERS, "float": (*NO_FLOATS, "-7", "-0.5"), "choice": (*NO_NUMBERS, "magic", "ERM ", "9" * 5000, "7")}
"""By kind of option, what none of that kind takes."""


def garbage() -> st.SearchStrategy[str]:
    """Return a strategy of words that nobody foresaw; none of them names a place outside the folder, none has a NUL."""
    letters = st.characters(exclude_characters="\0/", exclude_categories=("Cs",))
    return st.one_of(
        st.sampled_from(
            (
                *ESCAPES,
                *HUGE,
                *UNICODE,
                *NO_NUMBERS,
                "None",
                "null",
                "-0",
                "+3",
                "1_0",
                "3.0",
                "1e0",
                "0",
                "-1",
                "inf",
                "5e-324",
                "1e308",
                "~",
                "*",
                "-k",
            )
        ),
        st.text(letters, max_size=20),
        st.text(string.ascii_letters + "-_=0123456789.", max_size=12),
    ).filter(lambda word: word.strip(".") != "" or word == "")


def is_argument(word: str) -> bool:
    """Whether the operating system can hand over that word."""
    try:
        os.fsencode(word)
    except UnicodeEncodeError:
        return False
    return "\0" not in word
