"""Empirical risk: the mean loss of the training points, by default the cross-entropy."""

from __future__ import annotations

from mvsim.losses import Points, Unmixed
from mvsim.multi_view.objectives.base import Objective


class Erm(Objective):
    """J(g) = -(1/N) sum_i log phi_{y_i}(g(x_i)).

    Calculation A.9: the derivative of -log phi_{y_i}(g(x_i)) by g_y(x_i) is phi_y(g(x_i)) - 1[y_i = y], so

        grad_{w_{y,r}} J = -(1/N) sum_i (1[y_i = y] - phi_y(g(x_i))) grad_{w_{y,r}} g_y(x_i).
    """

    name = "erm"
    mixes = False

    @property
    def points(self) -> tuple[tuple[float, Points], ...]:
        return ((1.0, Unmixed()),)
