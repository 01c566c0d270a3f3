"""Points laid out by class, so that the features of a class are an axis and no index is needed to find them.

All points of class s have the same features (s, l) in their signal patches, so the signal of a data set is an array over classes s, views l,
patches p of a view and places a of points within their class. Classes with fewer points than the largest have places that are not taken: their
signal is 0, and what is computed there is dropped by the way back.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mvsim.multi_view.kernels.array.device import Device
from mvsim.multi_view.kernels.shared_noise.layout import Layout


class ByClass:
    """The signal by class, and the two ways between places of classes and another order of points, the slots.

    classes, views, patches, places: Lengths of the axes s, l, p and a.
    signal: (s, l, p, a) on the device.
    low, high: (s, l) range of the signal of each feature; low > high where no point has it.
    """

    def __init__(self, device: Device, layout: Layout, slot_of_point: np.ndarray, slots: int) -> None:
        N, S = layout.signal.shape
        self.classes, self.views = layout.k, layout.features // layout.k
        self.patches = S // self.views
        order = np.argsort(layout.labels, kind="stable")
        sizes = np.bincount(layout.labels, minlength=layout.k)
        self.places = int(sizes.max())
        place = np.empty(N, np.int64)
        place[order] = np.arange(N) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        signal = np.zeros((self.classes, self.views, self.patches, self.places))
        by_view = layout.signal.reshape(N, self.views, self.patches)
        signal[layout.labels, :, :, place] = by_view
        self.low = np.full((self.classes, self.views), np.inf)
        self.high = np.full((self.classes, self.views), -np.inf)
        np.minimum.at(self.low, layout.labels, by_view.min(axis=2))
        np.maximum.at(self.high, layout.labels, by_view.max(axis=2))
        self._device, self.signal = device, device.put(signal)
        place_of_point = layout.labels * self.places + place
        to_slots = np.full(slots, self.classes * self.places)  # beyond the last place stands a zero
        to_slots[slot_of_point] = place_of_point
        to_places = np.full(self.classes * self.places, slots)
        to_places[place_of_point] = slot_of_point
        self._to_slots, self._to_places = device.put(to_slots), device.put(to_places)

    def in_slots(self, values: Any) -> Any:
        """Return (k, G, slots) for values (k, s, G, a)."""
        xp = self._device.xp
        k, classes, patterns, places = values.shape
        flat = xp.reshape(xp.permute_dims(values, (0, 2, 1, 3)), (k, patterns, classes * places))
        return xp.take(self._with_zero(flat), self._to_slots, axis=2)

    def in_classes(self, values: Any) -> Any:
        """Return (k, s, G, a) for values (k, G, slots)."""
        xp = self._device.xp
        k, patterns, _ = values.shape
        places = xp.take(self._with_zero(values), self._to_places, axis=-1)  # 0 where none is taken
        return xp.permute_dims(xp.reshape(places, (k, patterns, self.classes, self.places)), (0, 2, 1, 3))

    def _with_zero(self, values: Any) -> Any:
        return self._device.xp.concat([values, self._device.zeros(*values.shape[:-1], 1)], axis=-1)
