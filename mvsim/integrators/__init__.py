"""Time-steppers. To add one: write a file with a subclass of `Integrator` and list it in `INTEGRATORS`."""

from __future__ import annotations

from mvsim.integrators.base import Escaping, Field, Groups, Integrator, Part, State, Units, Visit
from mvsim.integrators.cvode import CvodeFlow
from mvsim.integrators.flow import GradientFlow
from mvsim.integrators.flow_integrator import LAST_TIME, FlowIntegrator
from mvsim.integrators.gradient_descent import GradientDescent

INTEGRATORS: dict[str, type[GradientDescent] | type[FlowIntegrator]] = {cls.name: cls for cls in (GradientFlow, GradientDescent, CvodeFlow)}

__all__ = [
    "INTEGRATORS",
    "LAST_TIME",
    "CvodeFlow",
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
