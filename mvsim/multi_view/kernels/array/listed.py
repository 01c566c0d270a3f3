"""Points that are evaluated one by one: those of the data, and given mixed ones, in pieces of bounded size."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mvsim.losses import Points
from mvsim.losses.points import Batch, soft_labels
from mvsim.multi_view.activations import Activation
from mvsim.multi_view.kernels.array.device import Device
from mvsim.multi_view.kernels.array.term_sums import TermSums
from mvsim.multi_view.kernels.shared_noise.layout import Layout, listed_terms


class Piece(NamedTuple):
    """Some of the points: original indices, weights and soft labels (on the device), and the sums that their outputs are."""

    first: np.ndarray
    second: np.ndarray
    weight: Any
    targets: Any
    sums: TermSums


class Listed:
    """Single points, or listed pairs."""

    how = "neuron by neuron"

    def __init__(self, device: Device, layout: Layout, activation: Activation, points: Points, m: int) -> None:
        self._device, self._layout, self._activation = device, layout, activation.elementwise(device.xp)
        N, S = layout.signal.shape
        size = max(1, device.tile_bytes // (8 * 4 * S * m))
        self.pieces = [self._piece(batch) for batch in points.batches(N, size)]

    def _piece(self, batch: Batch) -> Piece:
        layout, place = self._layout, np.argsort(self._layout.order)
        first, second = place[batch.first], place[batch.second]
        terms = listed_terms(layout, first, second, batch.lam)
        targets = soft_labels(layout.k, layout.labels[first], layout.labels[second], batch.lam)
        sums = TermSums(self._device, terms, len(first), layout.features + len(layout.patterns), self._activation)
        return Piece(batch.first, batch.second, self._device.put(batch.weight), self._device.put(targets), sums)
