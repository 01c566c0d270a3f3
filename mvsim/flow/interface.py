"""What a stepper integrates, and who is asked about its steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from mvsim.flow.base import Units
from mvsim.flow.linearisation import Linearisation


class Motion(NamedTuple):
    """One end of a step: y and its velocity, (n,) each."""

    y: np.ndarray
    velocity: np.ndarray


Judge = Callable[[float, Motion, Motion], np.ndarray | None]
"""(size of a step, its beginning, its end) -> what integrals along the trajectory gain in it, or None if the step must not be taken."""


class System(Protocol):
    """What a stepper integrates: y' = rate(y) on (n,) arrays."""

    def rate(self, y: np.ndarray) -> np.ndarray:
        """Return y'; raise `DivergedError` if it is not finite."""

    def tolerance(self, y: np.ndarray) -> Units:
        """Return the errors, (n,) each, that a step at y and what is left of its equation may have."""

    def linearisation(self, y: np.ndarray) -> Linearisation | None:
        """Return what is known of the system near y, None if it tells nothing."""

    def spent(self, products: int) -> None:
        """Count products with the Hessian."""

    def steady(self, y: np.ndarray) -> np.ndarray:
        """Return (a,): coordinates that move at almost constant speed at y."""
