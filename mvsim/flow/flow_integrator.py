"""What integrators of the gradient flow c' = -grad J(c) have in common: their option, how far they go, how they depart from the theorems."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
import pydantic

from mvsim.base.echo import echo, quantity
from mvsim.base.errors import UsageError
from mvsim.flow.arrays import pack
from mvsim.flow.base import Deviation, Field, Integrator, State

RTOL = 1e-3
"""Relative tolerance unless another is given."""

POWER_OF_RTOL = 0.17
"""Gradients are predicted to grow as rtol^-`POWER_OF_RTOL`: more slowly under ERM, faster under Midpoint Mixup."""

LAST_TIME = 1e250
"""Time at which the flow is left unless another is given; escapes take of the order of (rho / c(0))^(alpha - 2)."""

Rtol = Annotated[
    float | None, pydantic.Field(description=f"relative error that one step may make, 1e-10 to 0.1; default {RTOL:g}, with escapes 0.005")
]


class FlowIntegrator(Integrator):
    """Follows c' = -grad J(c) to within a relative tolerance; refuses a loss that is drawn afresh at every step."""

    option = "rtol"
    letter = "rtol"
    usual: ClassVar[float] = RTOL
    follows_flow = True
    share_of_gradients: ClassVar[float] = 1.0  # how many it takes over those of the flow, both at their usual tolerance

    called: ClassVar[str]  # in a sentence

    def __init__(self, field: Field, rtol: Rtol = None) -> None:
        super().__init__(field)
        if not field.fixed:
            raise UsageError(
                f"integrator={self.name!r}: the loss is drawn afresh at every step, so there is no flow; use integrator gd, or redraw once"
            )
        self.rtol = self.check_option(self.usual if rtol is None else rtol)

    @staticmethod
    def check_option(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)) or not 1e-10 <= value <= 0.1:
            raise UsageError(f"rtol={echo(value)}: must be a number from 1e-10 to 0.1")
        return float(value)

    def options(self) -> dict[str, Any]:
        return {"name": self.name, "rtol": self.rtol}

    def deviations(self) -> list[Deviation]:
        return [Deviation("eta", "0", "O(1/poly(k))", "gradient flow, the limit of gradient descent for eta -> 0")]

    @classmethod
    def relative_gradients(cls, value: float | None) -> float:
        return cls.share_of_gradients * max(1.0, (cls.usual / (value or cls.usual)) ** POWER_OF_RTOL)

    def is_mark(self, state: State) -> bool:
        return state.memory is None or state.memory.marked == state.step

    def pack(self, memory: Any) -> dict[str, np.ndarray]:
        return {} if memory is None else pack(memory)

    def horizon(self, t_end: float | None) -> float:
        return LAST_TIME if t_end is None else t_end

    def clock(self, state: State) -> str:
        return f"{quantity(state.step, 'step')} and {quantity(state.evaluations, 'gradient')} of {self.called} with rtol = {self.rtol:g}"
