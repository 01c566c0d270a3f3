"""What is known of a system near some place: its linearisation, the preconditioner made of it, and when they are too old."""

from __future__ import annotations

import math
from typing import Any

from mvsim.flow.interface import System
from mvsim.flow.near import Near
from mvsim.flow.null_directions import Preconditioner
from mvsim.flow.stepper_state import StepperState

OUTGROWN = 6.0
"""Growth of the clock after which the system is linearised anew. Residuals, and with them the Hessian, fall as the time since an escape grows. With
a Hessian that is far too large an iteration takes small steps, and ends because they are small: with a whole Hessian that was kept for tens of steps,
honest runs of ERM err by more than their replay allows. The whole Hessian of a loss that keeps its residuals is kept for all of its time: made anew
at each such growth, it takes most of the gradients of Midpoint Mixup at d = k^20 (`docs/time-stepper-designs.md`)."""


class Known:
    """The linearisation and the preconditioner, formed again only when a state names another place or another gamma."""

    def __init__(self, system: System) -> None:
        self._system = system
        self._place: Any = None
        self._near: Near | None = None
        self._gamma = math.nan

    def near(self, now: StepperState) -> Near | None:
        """Return what is known where a state was linearised."""
        if self._place is not now.linearised:
            self._place, self._near, self._gamma = now.linearised, self._system.near(now.linearised), math.nan
        return self._near

    def products_of_lasting(self, now: StepperState) -> float:
        """Return how many products the whole Hessian takes where a state was linearised; 0 if it is not known, or ages (`Near.lasting`)."""
        near = self.near(now)
        return near.products_of_exact if near is not None and near.lasting and math.isfinite(near.products_of_exact) else 0.0

    def preconditioner(self, now: StepperState) -> Preconditioner:
        """Return the preconditioner of a state."""
        near = self.near(now)
        assert near is not None
        if self._gamma != now.gamma:
            self._preconditioner, self._gamma = near.preconditioner(now.gamma, now.exact), now.gamma
        return self._preconditioner

    def is_outdated(self, now: StepperState, y: Any) -> bool:
        """Whether that should be made anew for a step to y."""
        near, outgrown = self.near(now), now.clock > OUTGROWN * now.linearised_clock
        if near is None:
            return outgrown
        old = now.steps >= now.linearised_at + near.hessian(now.exact).lifetime
        return old or (outgrown and not (now.exact and near.lasting)) or not near.serves_at(y)
