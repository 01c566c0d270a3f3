"""How the problem of a run departs from what the theorems assume."""

from __future__ import annotations

from mvsim.multi_view.parameters import Deviation, Parameters
from mvsim.multi_view.parameters.regime import given_points

OF_THE_NETWORK = frozenset({"d", "m", "rho", "alpha"})
"""Departures that are about the network and its start; all others of parameters are about their distribution of points."""


def departures_of_problem(parameters: Parameters, own_points: bool) -> list[Deviation]:
    """Return the departures of parameters and points."""
    deviations = parameters.deviations()
    if not own_points:
        return deviations
    return [given_points(parameters.described.assumption), *(one for one in deviations if one.name in OF_THE_NETWORK)]
