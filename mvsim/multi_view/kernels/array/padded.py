"""Sums over the entries of a list that belong to the same output, in a fixed order.

Entries are sorted by output on the host. The table has a row for each output: the places of its entries, and beyond the last one the place of a zero,
so that all rows have the same width. A sum is then a gather and a sum over the last axis. Where few outputs have most entries the table is mostly
zeros; the lists of this kernel are spread evenly.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mvsim.multi_view.kernels.array.device import Device


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
