"""Midpoint Mixup: the mean loss of the midpoints of all N^2 ordered pairs, by default the cross-entropy."""

from __future__ import annotations

from mvsim.losses import AllPairs, Points
from mvsim.multi_view.objectives.base import Objective


class Midpoint(Objective):
    """J_MM(g) = -(1/2N^2) sum_{i,j} [ log phi_{y_i}(g(z_ij)) + log phi_{y_j}(g(z_ij)) ],  z_ij = (x_i + x_j) / 2.

    That is the cross-entropy with soft label t_y = (1[y_i = y] + 1[y_j = y]) / 2. Its derivative by g_y(z_ij) is phi_y - t_y, so
    (Calculation A.10)

        grad_{w_{y,r}} J_MM = -(1/2N^2) sum_{i,j} (1[y_i = y] + 1[y_j = y] - 2 phi_y(g(z_ij))) grad_{w_{y,r}} g_y(z_ij).

    The pairs i = j are included: z_ii = x_i.
    """

    name = "midpoint"
    mixes = True

    @property
    def points(self) -> tuple[tuple[float, Points], ...]:
        return ((1.0, AllPairs(0.5)),)
