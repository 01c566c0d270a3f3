"""The values of one parameter or option in a study: one, a list of them, or a range of integers."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from mvsim.base.echo import echo, shortened
from mvsim.base.errors import UsageError
from mvsim.base.inputs import plain

Value = Any
"""A value of a parameter or an option in JSON types."""

MOST_VALUES = 100_000
"""More values than this of one name are a slip of the pen."""

MOST_DIGITS = 4300
"""Python writes no longer integers."""

DEEPEST = 8
"""Levels of lists and tables in a value; laws have at most three."""

_RANGE = re.compile(r"(-?\d{1,30}):(-?\d{1,30})(?::(\d{1,30}))?")


def read_values(name: str, raw: Any, repeated: bool = False) -> tuple[Value, ...]:
    """Return the values that a study gives for one name."""
    raw = plain([_table(one) for one in raw] if isinstance(raw, list | tuple) else _table(raw))
    if isinstance(raw, str):
        values = _read_text(name, raw)
    elif isinstance(raw, list | tuple):
        values = [value for one in raw for value in (_expanded(name, one) if isinstance(one, str) else [one])]
    else:
        values = [raw]
    if not values:
        raise UsageError(f"{name}={echo(raw)}: is empty; give at least one value")
    for value in values:
        if not _is_plain(value):
            raise UsageError(f"{name}={echo(value)}: must be a finite number, a word, or a law made of these, not more than {DEEPEST} levels deep")
    if not repeated:
        refuse_repeated(name, values)
    return tuple(values)


def _table(value: Any) -> Any:
    """Return a law that is an object of mvsim as a table, other values as they are."""
    return value.model_dump() if isinstance(value, BaseModel) else value


def _is_plain(value: Any, levels: int = DEEPEST) -> bool:
    """Whether a value is made of what JSON holds: finite numbers of no more digits than Python writes, words, lists and tables, some levels deep."""
    if isinstance(value, dict):
        return all(isinstance(name, str) for name in value) and _is_plain(list(value.values()), levels)
    if isinstance(value, list | tuple):
        return levels > 0 and all(one is None or _is_plain(one, levels - 1) for one in value)
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, str | bool) or (isinstance(value, int) and abs(value) < 10**MOST_DIGITS)


def canonical_text(value: Value) -> str:
    """Return the one text that stands for a value: 6 and 6.0 are the same."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value!r}".removesuffix(".0")
    return json.dumps(value, sort_keys=True, default=str)


def _read_text(name: str, text: str) -> list[Value]:
    if text.lstrip().startswith(("{", "[")):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:
            reason = shortened(" ".join(str(error).split()))
            raise UsageError(f"{name}={shortened(text)}: not valid JSON ({reason}); give a list of values as [...]") from None
        return value if isinstance(value, list) else [value]
    return [value for piece in text.split(",") for value in _expanded(name, piece.strip())] if text.strip() else []


def _expanded(name: str, text: str) -> list[Value]:
    """Return the integers of a range, or the one value that a text stands for."""
    if not text:
        raise UsageError(f"{name}: a value is missing beside a comma; give values like 6,10 or a range like 0:20")
    match = _RANGE.fullmatch(text)
    if match is None:
        return [_scalar(text)]
    first, end, step = int(match[1]), int(match[2]), int(match[3] or 1)
    if step < 1 or not 0 < (end - first + step - 1) // step <= MOST_VALUES:
        raise UsageError(f"{name}={echo(text)}: a range has from 1 to {MOST_VALUES} integers, first:end or first:end:step, without the end")
    return list(range(first, end, step))


def _scalar(text: str) -> Value:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, int | float | bool) else text


def refuse_repeated(name: str, values: Sequence[Value]) -> None:
    """Raise `UsageError` if a value occurs twice."""
    seen = set()
    for value in values:
        if canonical_text(value) in seen:
            raise UsageError(f"{name}={echo(value)}: is given twice; give each value once")
        seen.add(canonical_text(value))
