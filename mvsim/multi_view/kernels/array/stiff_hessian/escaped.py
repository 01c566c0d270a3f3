"""The neurons that have escaped: their correlations, and where these stand in c (`mvsim.multi_view.kernels.shared_noise.stiff_hessian.escaped`)."""

from __future__ import annotations

from typing import Any

from mvsim.multi_view.activations import Activation
from mvsim.multi_view.kernels.array.device import Device


class Escaped:
    """The escaped neurons at some correlations. Every class has the same number of places: as many as the class with most escaped neurons needs.

    k, places, views        Classes, E places of a class, and V views.
    real                    (k, E) doubles, 1 where a place is taken, else 0.
    c                       (k, E, F), correlations, 0 in places that are not taken.
    noise                   (k, E, G), what they read in a patch of noise.
    own_index, other_index  (k, E V) and (k, k, E V), coordinates of their correlations with the features of their own class and of each class; -1 in
                            places that are not taken.
    """

    def __init__(self, device: Device, activation: Activation, patterns: Any, c: Any, escaped: Any) -> None:
        xp, (k, m, F) = device.xp, c.shape
        which = xp.astype(escaped, xp.int64)
        self._xp, self.activation, self.k, self.views, self.places = xp, activation.elementwise(xp), k, F // k, int(xp.max(xp.sum(which, axis=1)))
        neuron = xp.argsort(1 - which, axis=1, stable=True)[:, : self.places]
        taken = xp.take_along_axis(which, neuron, axis=1)
        self.real = xp.astype(taken, xp.float64)
        rows = xp.reshape(m * device.integers(k)[:, None] + neuron, (-1,))
        by_neuron = xp.reshape(xp.take(xp.reshape(c, (k * m, F)), rows, axis=0), (k, self.places, F))
        self.c = by_neuron * self.real[:, :, None]
        self.noise = xp.matmul(self.c, xp.matrix_transpose(patterns))
        index = F * xp.reshape(rows, (k, self.places, 1)) + device.integers(F)
        index = xp.reshape(xp.where(taken[:, :, None] > 0, index, xp.full_like(index, -1)), (k, self.places, k, self.views))
        self.other_index = xp.reshape(xp.permute_dims(index, (0, 2, 1, 3)), (k, k, self.places * self.views))
        self.own_index = xp.take(xp.reshape(self.other_index, (k * k, -1)), (k + 1) * device.integers(k), axis=0)

    def of_class(self, y: int) -> tuple[Any, Any]:
        """Return (E, k, V) and (E, G): correlations and what is read in noise, of the neurons of one class."""
        return self._xp.reshape(self.c[y, :, :], (self.places, self.k, self.views)), self.noise[y, :, :]
