"""The linearisation of a system and its preconditioner, kept until they are too old."""

from __future__ import annotations

import math

import numpy as np

from mvsim.flow.interface import System
from mvsim.flow.linearisation import Linearisation
from mvsim.flow.null_directions import Preconditioner
from mvsim.flow.stepper_state import StepperState

OUTGROWN = 6.0
"""Growth of the clock after which the system is linearised anew: residuals, and with them the Hessian, fall as the time since an escape grows, and
with one that is too large an iteration ends because its steps are small. The whole Hessian of a loss that keeps its residuals is kept longer."""


class LinearisationCache:
    """The linearisation and the preconditioner, formed again only when a state names another place or another gamma."""

    def __init__(self, system: System) -> None:
        self._system = system
        self._place: np.ndarray | None = None
        self._linearisation: Linearisation | None = None
        self._gamma = math.nan

    def linearisation(self, now: StepperState) -> Linearisation | None:
        """Return what is known where a state was linearised."""
        if self._place is not now.linearised:
            self._place, self._linearisation, self._gamma = now.linearised, self._system.linearisation(now.linearised), math.nan
        return self._linearisation

    def products_of_lasting(self, now: StepperState) -> float:
        """Return how many products the whole Hessian takes where a state was linearised; 0 if it is not known, or ages."""
        known = self.linearisation(now)
        return known.products_of_exact if known is not None and known.lasting and math.isfinite(known.products_of_exact) else 0.0

    def preconditioner(self, now: StepperState) -> Preconditioner:
        """Return the preconditioner of a state."""
        known = self.linearisation(now)
        assert known is not None
        if self._gamma != now.gamma:
            self._preconditioner, self._gamma = known.preconditioner(now.gamma, now.exact), now.gamma
        return self._preconditioner

    def is_outdated(self, now: StepperState, y: np.ndarray) -> bool:
        """Whether the linearisation should be made anew for a step to y."""
        known, outgrown = self.linearisation(now), now.clock > OUTGROWN * now.linearised_clock
        if known is None:
            return outgrown
        old = now.steps >= now.linearised_at + known.hessian(now.exact).lifetime
        return old or (outgrown and not (now.exact and known.lasting)) or not known.serves_at(y)
