"""The signal patches of two points that coincide, as gathers: what is summed over them belongs to a pair of points or to a feature."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mvsim.multi_view.kernels.array.pairs import Pairs
from mvsim.multi_view.kernels.array.stiff_hessian.escaped import Escaped


class Side(NamedTuple):
    """One of the two patches of each meeting.

    beta            (M,) signal.
    feature         (M,) its feature.
    label, pattern  (M,) class and noise pattern of the point.
    """

    beta: Any
    feature: Any
    label: Any
    pattern: Any


class Coincidences(NamedTuple):
    """Meetings of patch p of point i with patch q of point j.

    first, second  The patches p of i and q of j.
    """

    first: Side
    second: Side

    @staticmethod
    def of(pairs: Pairs, i: np.ndarray, p: np.ndarray, j: np.ndarray, q: np.ndarray) -> Coincidences:
        """Put the meetings where the pairs are."""
        layout, put = pairs.layout, pairs.device.put
        sides = (
            Side(put(layout.signal[at, patch]), put(layout.feature[at, patch]), put(layout.labels[at]), put(layout.pattern[at]))
            for at, patch in ((i, p), (j, q))
        )
        return Coincidences(*sides)


def entries_of(pairs: Pairs, escaped: Escaped, label: Any, feature: Any, pattern: Any) -> tuple[Any, Any, Any]:
    """Return (M, E) each, of the neurons of the class of each meeting: correlations with a feature, what is read in a pattern, 1 for real places."""
    xp, (k, E, F), G = pairs.device.xp, escaped.c.shape, pairs.G
    c = xp.reshape(xp.permute_dims(escaped.c, (0, 2, 1)), (k * F, E))
    noise = xp.reshape(xp.permute_dims(escaped.noise, (0, 2, 1)), (k * G, E))
    return xp.take(c, F * label + feature, axis=0), xp.take(noise, G * label + pattern, axis=0), xp.take(escaped.real, label, axis=0)
