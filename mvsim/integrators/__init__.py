"""Time-steppers. To add one: write a file with a subclass of `Integrator` and list it in `INTEGRATORS`."""

from __future__ import annotations

from mvsim.integrators.base import Integrator, State
from mvsim.integrators.gradient_descent import GradientDescent

INTEGRATORS: dict[str, type[GradientDescent]] = {cls.name: cls for cls in (GradientDescent,)}

__all__ = ["INTEGRATORS", "GradientDescent", "Integrator", "State"]
