"""Reading a number from a field that may hold anything."""

from __future__ import annotations

import math
from typing import Any

MOST_CLASSES = 10**6
MOST_VIEWS = 100
MOST = 10**9
"""Of classes, of views of a class, and of any other count. Larger counts are slips of the pen: nothing of that size fits anywhere, and its
arithmetic overflows."""


def usable_number(value: Any, least: float) -> float | None:
    """Return ``value`` as a float if it is a finite number >= ``least``, else None."""
    try:
        read = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return read if math.isfinite(read) and read >= least else None
