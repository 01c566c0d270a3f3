"""Options that several commands have, and how options without a value or with an integer are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from cyclopts import Parameter, Token

from mvsim.base.echo import echo


def read_integer(text: str) -> int:
    """Return the integer that is the value of an option; left to itself, cyclopts rounds 1.5 to 2."""
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{echo(text)} must be an integer of at most 4300 digits") from None


def _integer(kind: type, tokens: Sequence[Token]) -> int:
    text = tokens[0].value
    try:
        return read_integer(text)
    except ValueError as error:
        raise ValueError(f"{error}{'; `mvsim sweep` takes several' if set(text) & set(':,') else ''}") from None


FLAG = Parameter(negative="", show_default=False)
"""Of an option that is given or not, without a value."""

INTEGER = Parameter(converter=_integer)
"""Of an option with an integer."""

Json = Annotated[bool, FLAG, Parameter(name="--json", help="Print JSON instead of words.")]
Quiet = Annotated[bool, FLAG, Parameter(help="No progress on stderr.")]
