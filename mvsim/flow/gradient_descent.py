"""Gradient descent as the paper has it: full batch, fixed learning rate (Equation 4.2)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np
import pydantic

from mvsim.base.echo import quantity
from mvsim.base.errors import DivergedError, UsageError
from mvsim.base.inputs import check_positive
from mvsim.flow.base import Deviation, Field, Integrator, State, Visit, next_log_mark

MOST_STEPS = 1e15
"""Beyond this nobody waits, and steps could not be counted exactly."""


class GradientDescent(Integrator):
    """c <- c - eta grad J(c) (Equation 4.2), literally; time is eta times the number of steps."""

    name = "gd"
    option = "learning_rate"
    letter = "eta"
    learning_rate: float

    def __init__(
        self,
        field: Field,
        learning_rate: Annotated[float | None, pydantic.Field(description="step size eta > 0; default 6 k")] = None,
    ) -> None:
        super().__init__(field)
        self.learning_rate = self.check_option(field.learning_rate if learning_rate is None else learning_rate)

    @staticmethod
    def check_option(value: Any) -> float:
        return check_positive("eta", value)

    def options(self) -> dict[str, Any]:
        return {"name": self.name, "learning_rate": self.learning_rate}

    def deviations(self) -> list[Deviation]:
        """Name the step size: the theorems ask for eta = O(1/poly(k)), here it need only be below 2 / lambda_max."""
        value = f"{self.learning_rate:g}"
        return [Deviation("eta", value, "O(1/poly(k))", f"eta = {value} where the theorems ask for O(1/poly(k))")]

    def horizon(self, t_end: float | None) -> float:
        if t_end is None:
            return self.field.affordable * self.learning_rate
        return self.check_steps(t_end, self.learning_rate)

    @staticmethod
    def check_steps(t_end: float, value: float) -> float:
        if t_end / value > MOST_STEPS:
            raise UsageError(f"eta={value:g}, t_end={t_end:g}: more than {MOST_STEPS:g} steps; use a larger eta or a smaller t_end")
        return t_end

    def steps_until(self, t_end: float) -> int:
        """Return the number of steps that reach t_end > 0: one at least, also where the quotient is no double."""
        return max(1, math.ceil(t_end / self.learning_rate * (1.0 - 1e-12)))

    def is_mark(self, state: State) -> bool:
        return state.step == 0 or next_log_mark(state.step - 1) == state.step

    def trajectory(self, state: State, t_end: float) -> Iterator[Visit]:
        last = self.steps_until(t_end)
        while state.step < last:
            with np.errstate(over="ignore", invalid="ignore"):  # the next lines name what numpy would only warn of
                c = state.c - self.learning_rate * self.gradient(state)
            if not np.isfinite(c).all():
                raise DivergedError(self._too_large(f"the correlations are not finite after step {state.step + 1}"))
            state = State(state.step + 1, (state.step + 1) * self.learning_rate, c, state.evaluations + 1, math.nan, math.nan)
            yield Visit(state, mark=self.is_mark(state) or state.step == last, resumable=True)

    def gradient(self, state: State) -> Any:
        """Return the gradient at a state."""
        try:
            return self.field.loss_and_gradient(state.step, state.c)[1]
        except DivergedError as error:
            raise DivergedError(self._too_large(f"after step {state.step} {error}")) from None

    def _too_large(self, what: str) -> str:
        return f"eta={self.learning_rate:g}: {what}; use a smaller step size (the run's sharpness tells the limit 2 / lambda_max)"

    def clock(self, state: State) -> str:
        return f"{quantity(state.step, 'step')} of gradient descent with eta = {self.learning_rate:g}"
