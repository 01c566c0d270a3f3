"""The change of each correlation that affects the outputs, in which a time-stepper measures errors; and the thresholds of escape.

The loss of a point is exp(-margin) once it is small, so outputs have to be resolved absolutely. A correlation c[y, r, s, l] enters the outputs
g_y at the rates sum_p R'(a_p) x^(p)[s, l] <= R'(A) G, where

    G[s, l] = max_i sum_p |x_i^(p)[s, l]|      (the total of the feature in a point)
    A[y, r] = max_p |x^(p)|_1 max |c[y, r]|    (an upper bound of |<w, x^(p)>|).

So a change of 1 / (R'(A) G) changes no output by more than 1. Where residuals are small the unit has to be smaller. A neuron of class y that has
escaped is pulled by the points of its class with the residual eps, the mean of 1 - phi_y; on noise in points of other classes it comes to
rest where (n / rho)^(alpha - 1) ~ eps, and a change must be small beside that n: the unit is multiplied by min(1, `AT_REST` eps^(1 / (alpha - 1))).
A linear model has no such balance, and R' = 1 everywhere.
Mixed points keep residuals of order 1. Besides, no correlation is resolved better than relative to itself (own ones, beyond the threshold of
escape) or to a tenth of the neuron's largest one (all others).
"""

from __future__ import annotations

import numpy as np

from mvsim.diagnostics import class_mean, softmax_gap
from mvsim.objectives.base import Objective

AT_REST = 10.0
"""With rtol = 1e-3 an equilibrium is resolved to 1 %."""

_OTHERS = 0.1
"""Part of the largest correlation of a neuron to which the others are resolved."""


class Scales:
    """Scales of one objective.

    Parameters
    ----------
    objective : Objective
        Its data, activation and residuals decide.
    """

    def __init__(self, objective: Objective) -> None:
        self._objective = objective
        self._totals = objective.data.feature_totals()
        self._patch = objective.data.largest_patch()

    def thresholds(self) -> np.ndarray:
        """Return (k, V): the own correlation at which the activation becomes linear, or at which this feature alone makes an output of 1."""
        b, alpha = self._objective.linear_from, self._objective.parameters.alpha
        return b * np.minimum(1.0, np.maximum(b * self._totals, 1e-300) ** (-1.0 / alpha))

    def units(self, c: np.ndarray) -> np.ndarray:
        """Return (k, m, k, V): the change of each correlation that counts as 1, > 0."""
        p = self._objective.parameters
        largest = np.abs(c).max(axis=(2, 3), keepdims=True)
        steepest = np.clip(self._patch * largest / p.rho, 0.0, 1.0) ** (p.alpha - 1.0)
        rest = np.minimum(1.0, AT_REST * self._residuals(c) ** (1.0 / max(p.alpha - 1.0, 1.0)))[:, None, None, None]
        relative = np.broadcast_to(_OTHERS * largest, c.shape).copy()
        classes = np.arange(p.k)
        relative[classes, :, classes] = np.maximum(np.abs(c[classes, :, classes]), self.thresholds()[:, None])
        return np.minimum(relative, rest / np.maximum(steepest * self._totals, 1e-300))

    def _residuals(self, c: np.ndarray) -> np.ndarray:
        """Return (k,): the mean of 1 - phi_y over the points of each class, 1 where points are mixed, there are none, or nothing escapes."""
        labels, k = self._objective.data.labels, len(c)
        if self._objective.mixes or not self._objective.has_escapes:
            return np.ones(k)
        gap = class_mean(softmax_gap(self._objective.outputs(c), labels), labels, k)
        return np.where(np.isnan(gap), 1.0, np.clip(gap, 1e-300, 1.0))
