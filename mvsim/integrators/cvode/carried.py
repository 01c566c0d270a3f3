"""What a trajectory by CVODE carries from segment to segment besides the state, and its form as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from mvsim.integrators.flow.chart import EscapeChart

CHART = "chart."
"""What the names of the arrays of the chart begin with."""


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

    def as_arrays(self) -> dict[str, np.ndarray]:
        """Return all values as arrays, to be saved."""
        chart = {CHART + field.name: getattr(self.chart, field.name) for field in fields(EscapeChart)}
        numbers = {field.name: getattr(self, field.name) for field in fields(Memory) if field.name != "chart"}
        return {name: np.asarray(value) for name, value in (chart | numbers).items()}

    @staticmethod
    def of_arrays(arrays: Mapping[str, np.ndarray]) -> Memory:
        """Return the memory that was saved."""
        values: dict[str, Any] = {name: array.item() if array.ndim == 0 else array for name, array in arrays.items()}
        chart = EscapeChart(**{field.name: values.pop(CHART + field.name) for field in fields(EscapeChart)})
        return Memory(chart, **values)
