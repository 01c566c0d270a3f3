"""A point of a trajectory, in correlations and in coordinates of the chart."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from mvsim.flow.chart import EscapeChart
from mvsim.flow.layout import Layout

CLIPPED = 0.1
"""Part of the largest correlation of its neuron by which one that is not on the chart moves at most while it waits."""


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


def carried_on(layout: Layout, chart: EscapeChart, at: Moment, w: np.ndarray, size: float, learned: np.ndarray) -> np.ndarray:
    """Return correlations (n,) a time ``size`` after a moment, with constant speeds w (n,) of their coordinates, of neurons that are not stiff.

    ``learned`` (k V,) says which views have escaped: their clocks go at most half of the way to the threshold. What is not on the chart moves by
    `CLIPPED` at most.
    """
    u, b = at.u + size * w, layout.threshold
    charted = np.zeros(layout.size, bool)
    charted[chart.index] = True
    u = np.where(charted & layout.is_own & learned[layout.view] & (at.u < b), np.minimum(u, 0.5 * (at.u + b)), u)
    most = CLIPPED * layout.largest_of_neurons(at.c)
    return np.asarray(chart.to_c(np.where(charted, u, at.u + np.clip(size * w, -most, most))))
