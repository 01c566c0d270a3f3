"""Parameters with a given size of the initial correlations."""

from __future__ import annotations

from typing import Any

import mvsim
from mvsim.multi_view.parameters import dimension


def with_r0(k: int, r0: float, **fields: Any) -> mvsim.Parameters:
    """Return the parameters with k classes, these fields and the d at which sqrt(2 ln m / d) / rho is r0."""
    p = mvsim.Parameters(k=k, **fields)
    return p.replace(d=max(p.features, dimension(r0, p.m, p.rho)))
