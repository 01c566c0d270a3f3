"""What messages repeat of foreign values is safe to print, and short."""

import numpy as np
from looping import looping

from mvsim.base.echo import LONGEST, echo, path_text, shortened, suggestion


class Broken:
    def __repr__(self):
        raise RuntimeError


@looping(
    ("value", "text"),
    [
        (3, "3"),
        (True, "True"),
        (None, "None"),
        ("many", "'many'"),
        (10**400, "10000000... (401 digits)"),
        (-(10**9000), "-10000000... (9001 digits)"),
        (10**4000 - 1, "99999999... (4000 digits)"),
        ([10**5000], "[10000000... (5001 digits)]"),
        ({"a": 10**5000}, "{'a': 10000000... (5001 digits)}"),
        (np.zeros(2), "array([0., 0.])"),
        ("\x1b[31m", "'\\x1b[31m'"),
    ],
)
def test_values_are_shown_as_python_shows_them(value, text):
    assert echo(value) == text


@looping("value", ["x" * 5000, ["x" * 5000] * 5000, np.zeros(10**5), Broken(), range(10**9), b"\x1b" * 5000, "\x1b" * 5000])
def test_whatever_the_value_the_text_is_short_and_printable(value):
    assert len(echo(value)) <= LONGEST
    assert echo(value).isprintable()


def test_what_is_left_out_is_in_the_middle():
    assert shortened("a" * 3000 + "z" * 3000).startswith("aaa")
    assert shortened("a" * 3000 + "z" * 3000).endswith("zzz")
    assert "..." in shortened("a" * 81)


def test_text_that_a_terminal_would_obey_is_escaped():
    assert path_text("a\x1b[2J\r\n\u202e\udc80.nc") == "a\\x1b[2J\\r\\n\\u202e\\udc80.nc"


def test_an_unknown_word_is_told_the_closest_known_one():
    assert suggestion("sed", ["seed", "method", "d"]) == ", did you mean seed?"
    assert suggestion("zzz", ["seed", "method", "d"]) == ""
