"""Sums over lists in a fixed order: of entries that belong to the same output, and over neurons of R at listed patches.

**Entries** are sorted by output on the host. The table has a row for each output: the places of its entries, and beyond the last one the place of a
zero, so that all rows have the same width. A sum is then a gather and a sum over the last axis. Where few outputs have most entries the table is
mostly zeros; the lists of this kernel are spread evenly.

**Terms** (`mvsim.multi_view.kernels.shared_noise.layout.Terms`). A term t names two columns f_t, s_t of the correlations of a neuron (with features,
then with noise patterns), coefficients a_t, b_t, an output n_t and how often it counts:

    g[y, n]          = sum_{t: n_t = n} times_t sum_r R(z[y, r, t]),        z[y, r, t] = a_t c[y, r, f_t] + b_t c[y, r, s_t]
    dg               = sum_t times_t sum_r R'(z) dz
    adjoint at D     = sum_t times_t D[y, n_t] R'(z) (a_t at f_t, b_t at s_t)                                        (Calculation A.6)
    its derivative   = sum_t times_t (dD R'(z) + D R''(z) dz) (a_t at f_t, b_t at s_t)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mvsim.multi_view.activations import Elementwise
from mvsim.multi_view.kernels.array.device import Device
from mvsim.multi_view.kernels.shared_noise.layout import Terms


class PaddedSum:
    """Sums of entries by output.

    width  The largest number of entries of an output.
    """

    def __init__(self, device: Device, output: np.ndarray, count: int) -> None:
        self._device, self._count = device, count
        order, sizes = np.argsort(output, kind="stable"), np.bincount(output, minlength=count)
        self.width = int(sizes.max(initial=0))
        rank = np.arange(len(output)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        table = np.full((count, self.width), len(output))
        table[output[order], rank] = order
        self._table = device.put(table)

    def __call__(self, values: Any) -> Any:
        """Return (..., count): the sums of values (..., n)."""
        device, xp = self._device, self._device.xp
        if not self.width:
            return device.zeros(*values.shape[:-1], self._count)
        with_zero = xp.concat([values, device.zeros(*values.shape[:-1], 1)], axis=-1)
        return xp.sum(device.take(with_zero, self._table, values.ndim - 1), axis=-1)


class TermSums:
    """The sums over one list of terms."""

    def __init__(self, device: Device, terms: Terms, outputs: int, columns: int, activation: Elementwise) -> None:
        self._device, self._activation, self._shape = device, activation, (outputs, columns)
        self._first, self._second, self._point = (device.put(index) for index in (terms.first, terms.second, terms.point))
        self._a, self._b, self._times = (device.put(value) for value in (terms.a, terms.b, terms.times))
        self._by_point = PaddedSum(device, terms.point, outputs)
        self._by_column = PaddedSum(device, np.concatenate([terms.first, terms.second]), columns)
        self._doubles = 2 * len(terms.point) + columns * self._by_column.width

    def values(self, columns: Any) -> Any:
        """Return (k, outputs): g at columns (k, m, columns)."""
        return self._summed(columns, lambda y: self._activation.value(self._read(columns[y, :, :])))

    def tangents(self, columns: Any, moves: Any) -> Any:
        """Return (k, outputs): dg where the columns move."""
        return self._summed(columns, lambda y: self._activation.slope(self._read(columns[y, :, :])) * self._read(moves[y, :, :]))

    def pull_back(self, columns: Any, D: Any) -> Any:
        """Return (k, m, columns): the adjoint at D (k, outputs)."""
        weight = self._of_terms(D)
        return self._spread(columns, lambda y: self._activation.slope(self._read(columns[y, :, :])) * weight[y, None, :])

    def pull_back_tangent(self, columns: Any, moves: Any, D: Any, dD: Any) -> Any:
        """Return (k, m, columns): the derivative of `pull_back` along (moves, dD)."""
        weight, change = self._of_terms(D), self._of_terms(dD)

        def by_pre_activation(y: slice) -> Any:
            z, dz = self._read(columns[y, :, :]), self._read(moves[y, :, :])
            return self._activation.slope(z) * change[y, None, :] + self._activation.bend(z) * dz * weight[y, None, :]

        return self._spread(columns, by_pre_activation)

    def _read(self, columns: Any) -> Any:
        """Return (k, m, terms): z."""
        xp = self._device.xp
        return self._a * xp.take(columns, self._first, axis=2) + self._b * xp.take(columns, self._second, axis=2)

    def _of_terms(self, D: Any) -> Any:
        return self._times * self._device.xp.take(D, self._point, axis=1)

    def _pieces(self, columns: Any) -> list[slice]:
        return self._device.pieces(columns.shape[0], columns.shape[1] * self._doubles)

    def _summed(self, columns: Any, of_classes: Callable[[slice], Any]) -> Any:
        """Return (k, outputs): the sums by output of times_t sum_r of what is given for slices of classes."""
        xp = self._device.xp
        sums = [self._times * xp.sum(of_classes(y), axis=1) for y in self._pieces(columns)]
        return self._by_point(xp.concat(sums, axis=0))

    def _spread(self, columns: Any, by_pre_activation: Callable[[slice], Any]) -> Any:
        """Return (k, m, columns): the sums by column of what is given for slices of classes."""
        xp, rows = self._device.xp, []
        for y in self._pieces(columns):
            w = by_pre_activation(y)
            rows.append(self._by_column(xp.concat([self._a * w, self._b * w], axis=-1)))
        return xp.concat(rows, axis=0)
