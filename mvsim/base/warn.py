"""Warnings that point at the code of the user."""

from __future__ import annotations

import sys
import warnings


def warn(message: str) -> None:
    """Give a warning whose place is the first caller outside mvsim."""
    level = 2
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("mvsim."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, stacklevel=level)
