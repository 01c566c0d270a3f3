"""The neurons that have escaped: their correlations, where these stand in c, and the rates at which outputs change with the own ones."""

from __future__ import annotations

import numpy as np

from mvsim.multi_view.activations import Activation
from mvsim.multi_view.kernels.shared_noise.layout import Layout
from mvsim.multi_view.kernels.shared_noise.loops.hessian import Readers


class Escaped:
    """The escaped neurons at some correlations. Every class has the same number of places: as many as the class with most escaped neurons needs.

    places                  E, the places of a class.
    real                    (k, E), which places are taken.
    c                       (k, E, F), correlations, 0 in places that are not taken.
    own_index, other_index  (k, E V) and (k, k, E V), coordinates of their correlations with the features of their own class and of each class; -1 in
                            places that are not taken.
    noise                   (k, E, G), what they read in a patch of noise.
    signal                  (N, V, patches of a view), the signal of the data by views.
    order, place, start     Points with those of one class together, where each point stands in that order, and where each class begins in it.
    """

    def __init__(self, activation: Activation, layout: Layout, c: np.ndarray, escaped: np.ndarray) -> None:
        self.activation, self.layout = activation, layout
        k, m, F = c.shape
        self.views = views = F // k
        by_class = c.reshape(k, m, k, views)
        self.places = int(escaped.sum(axis=1).max())
        neuron = np.argsort(~escaped, axis=1, kind="stable")[:, : self.places]
        self.real = np.take_along_axis(escaped, neuron, axis=1)
        classes = np.arange(k)
        self.c = c[classes[:, None], neuron] * self.real[..., None]
        index = np.arange(c.size).reshape(by_class.shape)[classes[:, None], neuron]
        index = np.where(self.real[..., None, None], index, -1)
        self.own_index = index[classes, :, classes].reshape(k, -1)
        self.other_index = index.transpose(0, 2, 1, 3).reshape(k, k, -1)
        self.noise = self.c @ layout.patterns.T
        self.signal = layout.signal.reshape(len(layout.labels), views, -1)
        self.order = np.argsort(layout.labels, kind="stable")
        self.place = np.argsort(self.order)
        self.start = np.searchsorted(layout.labels[self.order], np.arange(k + 1))

    def readers(self) -> Readers:
        """Return neurons and points in the form that compiled loops take."""
        layout = self.layout
        return Readers(
            order=self.order,
            place=self.place,
            start=self.start,
            labels=layout.labels,
            pattern=layout.pattern,
            feature=layout.feature,
            signal=layout.signal,
            count=self.real.sum(axis=1),
            c=self.c,
            noise=self.noise,
            over_scale=1.0 / self.activation.scale,
            activation=self.activation.compiled,
        )

    def own_rates(self) -> np.ndarray:
        """Return (N, E, V): how outputs at the points themselves change with the own correlations."""
        k, labels, signal = len(self.c), self.layout.labels, self.signal[:, None]
        c = self.c.reshape(k, self.places, k, self.views)[np.arange(k), :, np.arange(k)][labels]  # (N, E, V)
        return (self.activation.elementwise().slope(signal * c[..., None]) * signal).sum(axis=-1) * self.real[labels][..., None]
