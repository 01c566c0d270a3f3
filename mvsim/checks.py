"""Checks that arguments of several functions share."""

from __future__ import annotations

import math
from typing import Any

from mvsim.errors import UsageError


def check_positive(name: str, value: Any, most: float = 1e100) -> float:
    """Return a number > 0 as a float.

    Raises
    ------
    UsageError
        If it is not a number, not above 0, or above ``most``.
    """
    allowed = "a number > 0" if most == math.inf else f"a finite number > 0, at most {most:g}"
    try:
        number = float(value) if not isinstance(value, (bool, str, bytes, bytearray)) else math.nan
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not 0 < number <= most:
        raise UsageError(f"{name}={value!r}: must be {allowed}")
    return number
