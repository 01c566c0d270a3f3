"""When a flow that makes no progress is given up, and how its state is described then."""

from __future__ import annotations

import math
from typing import NamedTuple

STALL_GROWTH, STALL_STEPS, MOST_STALL_STEPS = 1.01, 20.0, 2e5
"""`StalledError` is raised if the time since the last escape grew by a factor of less than `STALL_GROWTH` within `STALL_STEPS` / rtol steps, or
`MOST_STALL_STEPS` if that is less."""

NOTHING_MOVES = 1e-6
"""Fall of ln J below which nothing moves, see `fall_while_time_doubles`; where ERM goes on separating its classes it is 1."""


def gets_further(since_escape: float, before: float) -> bool:
    """Whether the time since the last escape has grown enough since it was ``before``."""
    return since_escape > STALL_GROWTH * before


def has_stalled(steps: int, rtol: float) -> bool:
    """Whether a flow is given up in which time has hardly grown for so many steps."""
    return steps > min(STALL_STEPS / rtol, MOST_STALL_STEPS)


def slowness(steps: int) -> str:
    """Say that time has hardly grown for so many steps."""
    return f"in {steps} steps the time since the last escape grew by less than {100 * (STALL_GROWTH - 1):g} %"


class Fall(NamedTuple):
    """What ln J would do while time doubles."""

    sentence: str  # In words
    consequence: str = ""  # What follows from it if nothing moves, to be put behind the words; else empty

    def __str__(self) -> str:
        return self.sentence + self.consequence


def fall_while_time_doubles(time: float, loss: float, gradient: float) -> Fall:
    """Return by how much ln J would fall from t to 2 t at the present speed, t |grad J|^2 / J; ``gradient`` is |grad J|."""
    if loss == 0.0:
        return Fall("the loss is 0")
    if gradient == 0.0:
        return Fall("the gradient is 0", ", so nothing moves")
    if time == 0.0:
        return Fall("nothing has been followed yet")
    log10_fall = math.log10(time) + 2.0 * math.log10(gradient) - math.log10(loss)  # the square alone may be no double
    fall = f"ln J would fall by {10.0**log10_fall:.2g}" if log10_fall > -300.0 else f"ln J would fall by 10^{log10_fall:.0f}"
    return Fall(f"while time doubles, {fall}", ": nothing moves" if log10_fall < math.log10(NOTHING_MOVES) else "")
