"""Parameters with a given size of the initial correlations."""

from __future__ import annotations

import math
from typing import Any

import mvsim


def with_r0(k: int, r0: float, **fields: Any) -> mvsim.Parameters:
    """Return the parameters with k classes, these fields and the d at which sqrt(2 ln m / d) / rho is r0."""
    p = mvsim.Parameters(k=k, **fields)
    return p.replace(d=max(p.features, math.ceil(2.0 * math.log(max(p.m, 2)) / (r0 * p.rho) ** 2)))
