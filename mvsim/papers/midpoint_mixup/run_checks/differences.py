"""Recorded numbers beside the same numbers formed again."""

from __future__ import annotations

from typing import Any

import numpy as np


def relative_difference(recorded: Any, again: Any, size: Any = None) -> float:
    """Return the largest of |recorded - again| / |again|, each number relative to its own size."""
    one, other = np.asarray(recorded, dtype=np.float64), np.asarray(again, dtype=np.float64)
    if (np.isnan(one) != np.isnan(other)).any():
        return float("inf")
    differs = (one != other) & ~np.isnan(one)
    scale = np.broadcast_to(np.abs(other if size is None else np.asarray(size, dtype=np.float64)), one.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.abs(one - other)[differs] / scale[differs]
    return float(np.where(np.isnan(relative), np.inf, relative).max(initial=0.0))
