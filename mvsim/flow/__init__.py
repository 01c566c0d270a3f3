"""Time-steppers. To add one: write a file with a subclass of `Integrator` and list it in `INTEGRATORS`."""

from __future__ import annotations

from mvsim.flow.base import Escaping, Field, Groups, Integrator, Part, State, Units, Visit
from mvsim.flow.escapes import EscapeFollower
from mvsim.flow.flow import GradientFlow
from mvsim.flow.flow_integrator import LAST_TIME, FlowIntegrator
from mvsim.flow.gradient_descent import GradientDescent

INTEGRATORS: dict[str, type[GradientDescent] | type[FlowIntegrator]] = {cls.name: cls for cls in (GradientFlow, EscapeFollower, GradientDescent)}

__all__ = [
    "INTEGRATORS",
    "LAST_TIME",
    "EscapeFollower",
    "Escaping",
    "Field",
    "FlowIntegrator",
    "GradientDescent",
    "GradientFlow",
    "Groups",
    "Integrator",
    "Part",
    "State",
    "Units",
    "Visit",
]
