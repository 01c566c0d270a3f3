"""The rule against steps that damp what grows.

On y' = lambda y backward Euler multiplies by 1 / (1 - h lambda). The solution grows for every lambda > 0; the formula follows that while
h lambda < 1, has a pole at 1, changes sign at every step beyond, and *damps* for h lambda > 2. The BDF of orders 2 to 5 do so for h lambda > 4,
20/3, 32/3 and 17: their regions of stability contain the far right half plane as well. So a step much longer than the growth time 1 / lambda ends
near the balance that the solution is leaving, as if that were stable. No error test sees it: predictor and corrector agree, nothing moves much, and
the loss falls as it should. It is called superstability (Dahlquist, Edsberg, Skoellermo and Soederlind, Are the numerical methods and software
satisfactory for chemical kinetics?, Lecture Notes in Mathematics 968, 1982).

A step from y_0 with velocity v_0 to y_1 with v_1 tells the rate along a coordinate, lambda ~ (v_1 - v_0) / (y_1 - y_0). A step is refused where

    h (v_1 - v_0) sign(y_1 - y_0) > q |y_1 - y_0|,

that is h lambda > q, for a coordinate that moves by more than it may err. Here q = 1: the step is not longer than the growth time. Relaxation has
lambda < 0 and passes. A coordinate that begins to move with constant acceleration has h lambda = 2 at every h; it passes if it moves by less than
its tolerance, so that its start is resolved to that. Coordinates on the chart grow at constant speed there, and need no rule.
"""

from __future__ import annotations

import numpy as np

from mvsim.flow.interface import Motion

GROWTH_TIMES = 1.0
"""q, the longest step in growth times. At k = 50, rtol 1e-3, q = 1 and q = 0.5 find the same escapes as rtol 1e-4."""


def outruns_growth(size: float, before: Motion, after: Motion, allowed: np.ndarray, growth_times: float = GROWTH_TIMES) -> bool:
    """Return whether a step of some size is too long for what grows, for coordinates (n,) that are allowed an error (n,) each."""
    way = after.y - before.y
    growing = size * (after.velocity - before.velocity) * np.sign(way) > growth_times * np.abs(way)
    return bool((growing & (np.abs(way) > allowed)).any())
