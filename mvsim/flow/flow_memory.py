"""All that the next step of a flow depends on, besides the state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mvsim.flow.arrays import unpack
from mvsim.flow.chart import EscapeChart
from mvsim.flow.resting import RestState
from mvsim.flow.stepper_state import StepperState


@dataclass(frozen=True, eq=False)
class Memory:
    """What the next step depends on."""

    chart: EscapeChart  # The coordinates
    resting: RestState  # Which of them rest
    stepper: StepperState  # Where the stepper of the others is
    size: float  # Size of the last step
    time_lost: float  # What the clock has lost to rounding: steps may be 10^-30 of the time
    lowest: float  # Least ln J at a mark so far
    largest: float  # Largest correlation so far
    marked: int  # Step of the last mark
    marked_time: float  # Time of it
    since_escape: float  # Time since the last coordinate escaped, exact even where the clock stands still
    moving_step: int  # Last step at which ``since_escape`` had grown enough
    moving_since: float  # ``since_escape`` at that step
    log_loss: float  # ln J at the end of the last step, to first order from the last evaluation
    marked_log_loss: float  # ln J at the last mark, evaluated
    marked_integral: float  # Integral of |c'|^2 / J since the last mark


def unpack_memory(arrays: Mapping[str, np.ndarray]) -> Memory | None:
    """Return the memory that was packed; None, so that a flow starts anew, if there is none or it is that of an earlier stepper."""
    return unpack(Memory, arrays) if "stepper.form_hessian" in arrays else None
