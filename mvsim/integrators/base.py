"""What an integrator offers: it knows a vector field and a state, not what is measured or saved along the way."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mvsim.parameters import Deviation

MARKS_PER_DECADE = 20


@dataclass(frozen=True, eq=False)
class State:
    """Where a trajectory is.

    Attributes
    ----------
    step : int
        Steps taken.
    time : float
        Time reached, dimensionless.
    c : numpy.ndarray
        The correlations, (k, m, k, 2). Never written to: every step makes a new array.
    """

    step: int
    time: float
    c: np.ndarray


class Integrator(ABC):
    """Steps c along a vector field from mark to mark; marks are the log-spaced places at which a run is recorded.

    Everything that an integrator does between two states follows from the first state alone, so a run continued from a saved state is the
    run that was never interrupted, bit for bit.
    """

    name: ClassVar[str]

    @abstractmethod
    def options(self) -> dict[str, Any]:
        """Return what fixes the steps, for the provenance and for refusing to resume with something else."""

    @abstractmethod
    def deviations(self) -> list[Deviation]:
        """Return the ways in which the stepping departs from that of the theorems."""

    @abstractmethod
    def next_mark(self, state: State, t_end: float) -> float:
        """Return the next mark after ``state`` in the integrator's own clock, t_end at the latest."""

    @abstractmethod
    def is_mark(self, state: State) -> bool:
        """Whether ``state`` lies on a mark, and not where a t_end happened to cut."""

    @abstractmethod
    def advance(self, state: State, mark: float, after_step: Callable[[State], None]) -> State:
        """Return the state at ``mark``; ``after_step`` sees every state on the way and may raise to stop.

        Raises
        ------
        DivergedError
            If a value is not finite; the last good state has been handed to ``after_step``.
        """

    @abstractmethod
    def steps_until(self, t_end: float) -> int | None:
        """Return the number of steps from 0 to t_end if it is known beforehand."""


def next_log_mark(step: int) -> int:
    """Return the smallest of the integers round(10^(j / MARKS_PER_DECADE)), j >= 0, above ``step``."""
    j = max(0, math.floor(MARKS_PER_DECADE * math.log10(step)) - 1) if step >= 1 else 0
    while round(10.0 ** (j / MARKS_PER_DECADE)) <= step:
        j += 1
    return round(10.0 ** (j / MARKS_PER_DECADE))
