"""A point of a trajectory, in correlations and in coordinates of the chart."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from mvsim.flow.chart import EscapeChart


class Moment:
    """Correlations c and their velocity v, (n,) each.

    Parameters
    ----------
    chart : EscapeChart
        The chart.
    c, v : numpy.ndarray
        (n,) each.
    """

    def __init__(self, chart: EscapeChart, c: np.ndarray, v: np.ndarray) -> None:
        self._chart, self.c, self.v = chart, c, v

    @cached_property
    def u(self) -> np.ndarray:
        """(n,) the coordinates: y on the chart, c elsewhere."""
        return np.asarray(self._chart.to_y(self.c))

    @cached_property
    def slope(self) -> np.ndarray:
        """(n,) du/dc."""
        return np.asarray(self._chart.slope(self.c))

    @cached_property
    def w(self) -> np.ndarray:
        """(n,) u', which is constant where a correlation escapes by its own law with a constant force."""
        return self.slope * self.v
