"""What integrators of the gradient flow c' = -grad J(c) have in common: their option, how far they go, how they depart from the theorems."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
import pydantic

from mvsim.base.counted import counted
from mvsim.base.echo import echo
from mvsim.base.errors import UsageError
from mvsim.flow.base import Field, Integrator, State
from mvsim.multi_view.parameters import Deviation

RTOL = 1e-3
"""Relative tolerance unless another is given."""

POWER_OF_RTOL = 0.17
"""Gradients are predicted to grow as rtol^-`POWER_OF_RTOL`. The gradients in the study flow_accuracy grow more slowly under ERM, and faster under
Midpoint Mixup."""

LAST_TIME = 1e250
"""Time at which the flow is left unless another is given; escapes take of the order of (rho / c(0))^(alpha - 2)."""

Rtol = Annotated[float | None, pydantic.Field(description=f"relative error that one step may make, 1e-10 to 0.1; default {RTOL:g}")]


class FlowIntegrator(Integrator):
    """Follows c' = -grad J(c) to within a relative tolerance.

    Parameters
    ----------
    field : Field
        What is followed.
    rtol : float, optional
        Relative error that one step may make.

    Raises
    ------
    UsageError
        If rtol is out of its domain, or the loss is drawn afresh at every step.
    """

    option = "rtol"
    letter = "rtol"
    usual: ClassVar[float] = RTOL
    follows_flow = True

    called: ClassVar[str]
    """How it is called in a sentence."""

    def __init__(self, field: Field, rtol: Rtol = None) -> None:
        super().__init__(field)
        if not field.fixed:
            raise UsageError(
                f"integrator={self.name!r}: the loss is drawn afresh at every step, so there is no flow; use integrator gd, or redraw once"
            )
        self.rtol = self.check_option(self.usual if rtol is None else rtol)

    @staticmethod
    def check_option(value: Any) -> float:
        """Return a relative tolerance as a float, or raise `UsageError`."""
        if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)) or not 1e-10 <= value <= 0.1:
            raise UsageError(f"rtol={echo(value)}: must be a number from 1e-10 to 0.1")
        return float(value)

    def options(self) -> dict[str, Any]:
        """Return what fixes the steps."""
        return {"name": self.name, "rtol": self.rtol}

    def deviations(self) -> list[Deviation]:
        """Name the limit."""
        return [Deviation("eta", "0", "O(1/poly(k))", "gradient flow, the limit of gradient descent for eta -> 0")]

    @classmethod
    def relative_gradients(cls, value: float | None) -> float:
        """Return the gradients that it takes with a relative tolerance, over those at the default one."""
        return max(1.0, (RTOL / (value or RTOL)) ** POWER_OF_RTOL)

    def horizon(self, t_end: float | None) -> float:
        """Return the time to stop at, by default `LAST_TIME`."""
        return LAST_TIME if t_end is None else t_end

    def clock(self, state: State) -> str:
        """Say how many steps and evaluations."""
        return f"{counted(state.step, 'step')} and {counted(state.evaluations, 'gradient')} of {self.called} with rtol = {self.rtol:g}"
