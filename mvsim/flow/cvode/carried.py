"""What a trajectory by CVODE carries from segment to segment besides the state."""

from __future__ import annotations

from dataclasses import dataclass

from mvsim.flow.chart import EscapeChart


@dataclass(frozen=True, eq=False)
class Memory:
    """All that the next segment depends on, besides the state.

    Attributes
    ----------
    chart : EscapeChart
        The coordinates.
    longest : float
        Longest time that the next segment may take.
    time_lost : float
        What the clock has lost to rounding.
    lowest : float
        Least ln J at the start of a segment so far.
    largest : float
        Largest correlation so far.
    since_escape : float
        Time since the last coordinate escaped, exact even where the clock stands still.
    moving_step : int
        Last step at which ``since_escape`` had grown enough.
    moving_since : float
        ``since_escape`` at that step.
    """

    chart: EscapeChart
    longest: float
    time_lost: float
    lowest: float
    largest: float
    since_escape: float
    moving_step: int
    moving_since: float
