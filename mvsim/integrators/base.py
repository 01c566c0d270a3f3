"""What an integrator offers: it knows a vector field and a state, not what is measured or saved along the way."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mvsim.linalg.arrow_matrix import Curvature
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
    evaluations : int
        Gradients evaluated.
    step_size : float
        Step size to go on with, for integrators that choose it; else 0.
    careful : bool
        Whether to go on with more accuracy inside the steps, for integrators that choose it; else False.
    """

    step: int
    time: float
    c: np.ndarray
    evaluations: int = 0
    step_size: float = 0.0
    careful: bool = False


@dataclass(frozen=True, eq=False)
class Visit:
    """A state that a trajectory comes through.

    Attributes
    ----------
    state : State
        The state.
    mark : bool
        Whether it is one of the places at which a run is recorded.
    resumable : bool
        Whether a trajectory that starts from this state alone goes on as this one does, bit for bit.
    """

    state: State
    mark: bool
    resumable: bool


@dataclass(frozen=True, eq=False)
class Field:
    """The vector field c' = -gradient, and what is known of its shape.

    Attributes
    ----------
    gradient : callable
        (n, c) -> gradient at c in step number n, both arrays (k, m, k, 2).
    curvature : callable
        c -> the stiff part of the Hessian on the raveled c, or None if it is not known.
    threshold : float
        Own correlations grow as a power of themselves far below this, and linearly above.
    alpha : float
        That power plus 1.
    learning_rate : float
        A step size that gradient descent can be expected to be stable with.
    affordable : int
        Gradients worth waiting for where nobody says when to stop.
    fixed : bool
        Whether the gradient is the same at every step.
    """

    gradient: Callable[[int, np.ndarray], np.ndarray]
    curvature: Callable[[np.ndarray], Curvature | None]
    threshold: float
    alpha: float
    learning_rate: float = 1.0
    affordable: int = 10_000
    fixed: bool = True


class Integrator(ABC):
    """Steps c along a vector field; what it does after a resumable state follows from that state alone.

    Parameters
    ----------
    field : Field
        What is followed.
    """

    name: ClassVar[str]
    option: ClassVar[str]
    """The one argument that it takes besides the field; without it, it chooses a value."""

    letter: ClassVar[str]
    """What that argument is called in messages and on the command line."""

    learning_rate: float | None = None
    """The step size, if all steps have the same."""

    def __init__(self, field: Field) -> None:
        self.field = field

    @staticmethod
    @abstractmethod
    def check_option(value: Any) -> float:
        """Return a value of the option as a float.

        Raises
        ------
        UsageError
            If it is out of its domain.
        """

    @abstractmethod
    def options(self) -> dict[str, Any]:
        """Return what fixes the steps, for the provenance and for refusing to resume with something else."""

    @abstractmethod
    def deviations(self) -> list[Deviation]:
        """Return the ways in which the stepping departs from that of the theorems."""

    @abstractmethod
    def trajectory(self, state: State, t_end: float) -> Iterator[Visit]:
        """Yield every step from ``state`` to t_end; the last one is a mark.

        Raises
        ------
        DivergedError
            If a value is not finite.
        StalledError
            If the steps lead nowhere.
        """

    @abstractmethod
    def horizon(self, t_end: float | None) -> float:
        """Return the time beyond which a trajectory is not followed: what is asked for, or a default.

        Raises
        ------
        UsageError
            If it cannot be followed that far.
        """

    @abstractmethod
    def is_mark(self, state: State) -> bool:
        """Whether a resumable ``state`` lies on a mark, and not where a t_end happened to cut."""

    def steps_until(self, t_end: float) -> int | None:
        """Return the number of steps from 0 to t_end, or None if it is not known beforehand."""
        return None

    @abstractmethod
    def clock(self, state: State) -> str:
        """Say in words what the time of ``state`` is made of."""


def next_log_mark(step: int) -> int:
    """Return the smallest of the integers round(10^(j / MARKS_PER_DECADE)), j >= 0, above ``step``."""
    j = max(0, math.floor(MARKS_PER_DECADE * math.log10(step)) - 1) if step >= 1 else 0
    while round(10.0 ** (j / MARKS_PER_DECADE)) <= step:
        j += 1
    return round(10.0 ** (j / MARKS_PER_DECADE))
