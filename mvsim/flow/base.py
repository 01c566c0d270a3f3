"""What an integrator offers: it knows a vector field and a state, not what is measured or saved along the way."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from mvsim.numerics.arrow_matrix import Curvature

MARKS_PER_DECADE = 20


@dataclass(frozen=True, eq=False)
class State:
    """Where a trajectory is."""

    step: int  # Steps taken
    time: float  # Time reached, dimensionless
    c: np.ndarray  # The correlations. Never written to: every step makes a new array.
    evaluations: int = 0  # Gradients evaluated
    # Integral of |grad J|^2 dt from the start; equals J(0) - J(t) along a gradient flow. NaN where the integrator does not follow it.
    dissipation: float = 0.0
    # Integral of |grad J|^2 / J dt from the start; equals ln J(0) - ln J(t) along a gradient flow. NaN where the integrator does not follow it.
    log_dissipation: float = 0.0
    memory: Any = None  # What the integrator carries from step to step besides; nobody else looks into it. None at the start.


@dataclass(frozen=True, eq=False)
class Visit:
    """One step of a trajectory.

    A mark is a step at which the run is recorded and can be resumed.
    """

    state: State  # The state
    mark: bool  # Whether it is a mark
    # Whether a trajectory that starts from this state goes on as this one does, bit for bit. False for a last step that t_end has shortened.
    resumable: bool


class Escaping(NamedTuple):
    """Coordinates that blow up: below their threshold b they obey x' ~ (x / b)^(alpha - 1), above it x' ~ 1."""

    positions: np.ndarray  # (a,) where they are in the raveled c
    threshold: np.ndarray  # (a,) b
    alpha: float  # Power plus 1


class Units(NamedTuple):
    """Error scale of each coordinate (shape of c). The allowed error is rtol times this scale."""

    step: np.ndarray  # For what a step adds to the error
    # For what is left over of the equation of an implicit step, never above ``step``. What relaxes within one step forgets its earlier errors,
    # so that ``step`` may be coarse there; the equation itself has to be solved finely enough to have a solution.
    equation: np.ndarray


class Part(NamedTuple):
    """J as a function of some coordinates alone, the others as they were."""

    positions: np.ndarray  # (a,) where they are in the raveled c
    # Their values (a,) -> J and its gradient by them (a,). It serves until another part is asked for.
    loss_and_gradient: Callable[[np.ndarray], tuple[float, np.ndarray]]
    is_whole_at: Callable[[np.ndarray], bool]  # c -> whether these are still all that can be stiff there


class Groups(ABC):
    """Coordinates that belong together: while some groups of them are stepped, the others may rest."""

    # (g, p) positions in the raveled c. Those of one row grow alike: while outputs are near 0 all obey x' = K (x / b)^(alpha - 1) with the same K.
    alike: np.ndarray

    @abstractmethod
    def around(self, c: np.ndarray, required: np.ndarray, before: np.ndarray) -> np.ndarray | None:
        """Return (a,), increasing: all coordinates of some groups around c, None if so many are needed that nothing is gained by it.

        Needed are the groups of the positions ``required`` (w,) and of all coordinates that can be stiff. Where more are taken, those of the
        positions ``before`` (b,) come first.
        """

    @abstractmethod
    def field(self, c: np.ndarray, positions: np.ndarray) -> Field:
        """Return J as a function of the coordinates at ``positions`` (a,), which `around` returned, all others as in c; it serves until the next."""


@dataclass(frozen=True, eq=False)
class Field:
    """The vector field c' = -grad J, and what is known of its shape. Arrays have the shape of c, whatever that is."""

    # (n, c) -> J >= 0 and its gradient at c; n is the number of the step, for losses that are redrawn
    loss_and_gradient: Callable[[int, np.ndarray], tuple[float, np.ndarray]]
    curvature: Callable[[np.ndarray], Curvature | None]  # c -> the stiff part of the Hessian on the raveled c, or None if it is not known
    units: Callable[[np.ndarray], Units]  # c -> `Units`
    escaping: Escaping  # The coordinates that blow up
    component: Callable[[int], str]  # Position in the raveled c -> its name
    # c -> J as a function of the coordinates that can be stiff, all others as in c; where it is not given, all can
    part: Callable[[np.ndarray], Part] | None = None
    product: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None  # (c, v) -> the Hessian at c times v
    groups: Groups | None = None  # Coordinates that may rest together; where they are not given, none rests
    # (c, numbers of some neurons (k, E), -1 where a class has fewer) -> J as a function of their correlations (k, E, k, V), all others as in c.
    # It serves until the next. Correlations in places that are not taken are 0 and remain so.
    few: Callable[[np.ndarray, np.ndarray], Field] | None = None
    learning_rate: float = 1.0  # A step size that gradient descent can be expected to be stable with
    affordable: int = 10_000  # Default limit on gradient evaluations where no t_end is given
    fixed: bool = True  # Whether J is the same at every step
    # Whether the Hessian keeps its size as time goes on after an escape. That of single points falls with their residuals, as 1 / t; mixed points
    # keep residuals of order 1.
    lasting: bool = False


class Deviation(NamedTuple):
    """A way in which the stepping departs from what theorems assume: of what, its value, what is assumed, and in words."""

    name: str
    value: str
    assumed: str
    statement: str


class Integrator(ABC):
    """Steps c along a vector field; what it does after a resumable state follows from that state alone."""

    name: ClassVar[str]
    option: ClassVar[str]  # the one argument that it takes besides the field; its annotation describes it
    letter: ClassVar[str]  # what that argument is called in messages and on the command line
    usual: ClassVar[float | None] = None  # its value where none is given, if that is the same for all fields
    # whether it follows c' = -grad J to within a relative tolerance, its option, so that a run can be judged as a gradient flow
    follows_flow: ClassVar[bool] = False
    as_flow: ClassVar[float] = 1.0  # its states keep to the bounds of a flow with so many times its relative tolerance
    adds_up_dissipation: ClassVar[bool] = True  # whether it follows `State.dissipation`
    controls_outputs: ClassVar[bool] = True  # whether it bounds the error that a step makes in every output
    learning_rate: float | None = None  # the step size, if all steps have the same

    def __init__(self, field: Field) -> None:
        self.field = field

    @staticmethod
    @abstractmethod
    def check_option(value: Any) -> float:
        """Return a value of the option as a float; raise `UsageError` if it is out of its domain."""

    @abstractmethod
    def options(self) -> dict[str, Any]:
        """Return what fixes the steps, for the provenance and for refusing to resume with something else."""

    @abstractmethod
    def deviations(self) -> list[Deviation]:
        """Return the ways in which the stepping departs from gradient descent with a small step size."""

    @abstractmethod
    def trajectory(self, state: State, t_end: float) -> Iterator[Visit]:
        """Yield every step from ``state`` to t_end; the last one is a mark. Raise `DivergedError` or `StalledError`."""

    @abstractmethod
    def horizon(self, t_end: float | None) -> float:
        """Return the time beyond which a trajectory is not followed: what is asked for, or a default; raise `UsageError` if that is too far."""

    @classmethod
    def relative_gradients(cls, value: float | None) -> float:
        """Return how many gradients it takes with a value of its option, None if none is given, over those of the flow at its default tolerance."""
        return 1.0

    @abstractmethod
    def is_mark(self, state: State) -> bool:
        """Whether a resumable ``state`` lies on a mark, and not where a t_end happened to cut."""

    @staticmethod
    def check_steps(t_end: float, value: float) -> float:
        """Return ``t_end``, or raise `UsageError` if it is known that more steps lead there than can be made with a value of the option."""
        return t_end

    def steps_until(self, t_end: float) -> int | None:
        """Return the number of steps from 0 to t_end, or None if it is not known beforehand."""
        return None

    def pack(self, memory: Any) -> dict[str, np.ndarray]:
        """Return what `State.memory` holds as arrays, to be saved."""
        return {}

    def unpack(self, arrays: Mapping[str, np.ndarray]) -> Any:
        """Return the memory that `pack` turned into these arrays; None if there are none."""
        return None

    def clock_errors(self, state: State) -> np.ndarray | None:
        """Return by how much the time of an escape of each correlation (the shape of c) may be wrong as neurons wait; None if none does."""
        return None

    @abstractmethod
    def clock(self, state: State) -> str:
        """Describe in words the steps taken to reach ``state``."""


def next_log_mark(step: int) -> int:
    """Return the smallest of the integers round(10^(j / MARKS_PER_DECADE)), j >= 0, above ``step``."""
    j = max(0, math.floor(MARKS_PER_DECADE * math.log10(step)) - 1) if step >= 1 else 0
    while round(10.0 ** (j / MARKS_PER_DECADE)) <= step:
        j += 1
    return round(10.0 ** (j / MARKS_PER_DECADE))
