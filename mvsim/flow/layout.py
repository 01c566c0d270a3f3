"""Which neuron, class and view each correlation belongs to."""

from __future__ import annotations

import math

import numpy as np

from mvsim.flow.base import Escaping
from mvsim.flow.chart import EscapeChart

FLOOR = 0.002
"""Part of its threshold below which the power law of a correlation goes on along its tangent."""

LEARNED = 1.5
"""Factor of its threshold beyond which the largest own correlation of a view has escaped, so that others of that view no longer decide anything."""

PROMISING = 0.6
"""Part of the median of the largest initial own correlations, from which on an off-diagonal one can escape."""


class Layout:
    """Indices of the raveled correlations c of shape (k, m, k, V).

    Parameters
    ----------
    shape : tuple of int
        That shape.
    escaping : Escaping
        The own correlations, in order of class, neuron and view.

    Attributes
    ----------
    size : int
        n.
    own : numpy.ndarray
        (k m V,) positions of own correlations.
    is_own : numpy.ndarray
        (n,) bool.
    threshold, of_views : numpy.ndarray
        (n,) b: where each correlation escapes; (k V,) that of the own correlations of each view.
    alpha : float
        Power of the activation.
    neuron, label, view : numpy.ndarray
        (n,) number of the neuron among all k m, of its class, and of the class and view among all k V.
    """

    def __init__(self, shape: tuple[int, ...], escaping: Escaping) -> None:
        self.shape, self.size, self.own, self.alpha = shape, math.prod(shape), escaping.positions, escaping.alpha
        self.is_own = np.zeros(self.size, bool)
        self.is_own[self.own] = True
        self.threshold = np.full(self.size, escaping.threshold.max())
        self.threshold[self.own] = escaping.threshold
        self.of_views = escaping.threshold.reshape(shape[0], shape[1], -1)[:, 0].ravel()
        self.features = math.prod(shape[2:])
        index = np.arange(self.size)
        self.neuron, self.label = index // self.features, index // (self.features * shape[1])
        self.view = self.label * shape[3] + index % shape[3]

    def largest_own(self, c: np.ndarray) -> np.ndarray:
        """Return (k V,): the largest own correlation of every view."""
        return c[self.own].reshape(self.shape[0], self.shape[1], -1).max(axis=1).ravel()

    def learned(self, c: np.ndarray) -> np.ndarray:
        """Return (k V,) bool: the views that have escaped."""
        return self.largest_own(c) > LEARNED * self.of_views

    def is_begun(self, learned: np.ndarray) -> np.ndarray:
        """Return (k,) bool: whether a view of each class has escaped, where those of (k V,) have."""
        return np.asarray(np.any(learned.reshape(self.shape[0], -1), axis=1))

    def is_open(self, learned: np.ndarray) -> np.ndarray:
        """Return (n,) bool: whether a view of the class of each correlation is still to escape; ``learned`` (k V,) says which have escaped."""
        return np.asarray(~np.all(learned.reshape(self.shape[0], -1), axis=1))[self.label]

    def largest_of_neurons(self, c: np.ndarray) -> np.ndarray:
        """Return (n,): the largest modulus in the neuron of each correlation."""
        return np.repeat(np.abs(c).reshape(-1, self.features).max(axis=1), self.features)

    def chart(self, c: np.ndarray) -> EscapeChart:
        """Return the chart of what can escape by its own power law: own correlations above 0, and off-diagonal ones that are as large.

        Noise pulls off-diagonal correlations of a neuron as a signal pulls its own ones, with the same power alpha - 1; one that escapes carries the
        own ones up with it.
        """
        candidates = np.flatnonzero((c > PROMISING * np.median(self.largest_own(c))) & ~self.is_own)
        index = np.concatenate([self.own, candidates])
        return EscapeChart.at(c, index, self.threshold[index], self.alpha)

    def law(self, index: np.ndarray) -> EscapeChart:
        """Return the power law of some correlations (a,), for vectors that hold these alone, whatever their values."""
        return EscapeChart(np.arange(index.size), FLOOR * self.threshold[index], self.threshold[index], self.alpha)
