"""What a trajectory of the flow carries from step to step, and its form as arrays, in which it is saved."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np

from mvsim.integrators.flow.bdf import History
from mvsim.integrators.flow.chart import EscapeChart
from mvsim.integrators.flow.secants import Secants
from mvsim.integrators.flow.stepper import StepperState


@dataclass(frozen=True, eq=False)
class Memory:
    """All that the next step depends on, besides the state.

    Attributes
    ----------
    chart : EscapeChart
        The coordinates.
    stepper : StepperState
        Where the stepper is.
    size : float
        Size of the last step.
    time_lost : float
        What the clock has lost to rounding: steps may be 10^-30 of the time.
    lowest : float
        Least ln J at a mark so far.
    largest : float
        Largest correlation so far.
    marked : int
        Step of the last mark.
    marked_time : float
        Time of it.
    since_escape : float
        Time since the last coordinate escaped, exact even where the clock stands still.
    moving_step : int
        Last step at which ``since_escape`` had grown enough.
    moving_since : float
        ``since_escape`` at that step.
    log_loss : float
        ln J at the end of the last step, as told from the last evaluation; NaN in memories saved before it was kept.
    marked_log_loss : float
        ln J at the last mark, evaluated; NaN likewise.
    marked_integral : float
        Integral of |c'|^2 / J since the last mark.
    """

    chart: EscapeChart
    stepper: StepperState
    size: float
    time_lost: float
    lowest: float
    largest: float
    marked: int
    marked_time: float
    since_escape: float
    moving_step: int
    moving_since: float
    log_loss: float = math.nan
    marked_log_loss: float = math.nan
    marked_integral: float = 0.0


_PARTS = {"chart": ("chart", EscapeChart), "stepper": ("progress", StepperState), "history": ("history", History), "secants": ("secants", Secants)}
"""Fields that have fields of their own: what each is called where it is saved, and its type."""


def pack(memory: object, prefix: str = "") -> dict[str, np.ndarray]:
    """Return all values of a memory as arrays, parts within parts under names with a dot."""
    arrays: dict[str, np.ndarray] = {}
    for field in fields(memory):  # type: ignore[arg-type]
        value = getattr(memory, field.name)
        if field.name in _PARTS:
            saved_name, _ = _PARTS[field.name]
            arrays |= pack(value, f"{prefix}{saved_name}.")
        else:
            arrays[prefix + field.name] = np.asarray(value)
    return arrays


def unpack(arrays: Mapping[str, np.ndarray]) -> Memory | None:
    """Return the memory that was packed; None, so that a flow starts anew, if there is none or it is that of an earlier stepper."""
    if "progress.clock" not in arrays:
        return None
    return _unpack(Memory, arrays, "")  # type: ignore[return-value]


def _unpack(kind: type, arrays: Mapping[str, np.ndarray], prefix: str) -> object:
    values = {}
    for field in fields(kind):
        if field.name in _PARTS:
            saved_name, part = _PARTS[field.name]
            values[field.name] = _unpack(part, arrays, f"{prefix}{saved_name}.")
        elif prefix + field.name in arrays:
            value = arrays[prefix + field.name]
            values[field.name] = value.item() if value.ndim == 0 else value
    return kind(**values)
