"""The change of each correlation that affects the outputs, in which a time-stepper measures errors; and the thresholds of escape.

The loss of a point is exp(-margin) once it is small, so outputs have to be resolved absolutely. A correlation c[y, r, s, l] enters the outputs
g_y at the rates sum_p R'(a_p) x^(p)[s, l] <= R'(A) G, where

    G[s, l] = max_i sum_p |x_i^(p)[s, l]|      (the total of the feature in a point)
    A[y, r] = max_p |x^(p)|_1 max |c[y, r]|    (an upper bound of |<w, x^(p)>|).

So a change of 1 / (R'(A) G) changes no output by more than 1. Where residuals are small the unit has to be smaller. A neuron of class y that has
escaped is pulled by the points of its class with the residual eps, the mean of 1 - phi_y. Its pre-activation n on noise in points of other classes
comes to rest where (n / rho)^(alpha - 1) ~ eps. An iteration finds the solution of the equation of a step only where n is told apart from 0: for it
the unit is multiplied by min(1, `BALANCE` eps^(1 / (alpha - 1))), so that a change is small beside n. What a step adds to the error of n is forgotten
in a time that is short beside later steps, and n adds n R'(n) G ~ n eps to an output: for it that factor to the power `STEP_POWER` is small
enough. With the finer unit for both, more gradients are taken for the same margins (`docs/time-stepper-designs.md`).
A linear model has no such balance, and R' = 1 everywhere.
Mixed points keep residuals of order 1. Besides, every correlation is resolved at least relative to itself (own ones, beyond the threshold of
escape) or to a tenth of the neuron's largest one (all others).
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from mvsim.multi_view.diagnostics import class_mean, softmax_gap
from mvsim.multi_view.objectives.base import Objective

BALANCE = 10.0
"""With rtol = 1e-3 the equation of a step resolves an equilibrium to 1 %."""

STEP_POWER, MOST_OF_STEP = 0.5, 30.0
"""For the error of a step: power of that factor, and how many times the factor it is at most. Where it is coarser by much more, what a step may leave
behind can be too far from the equilibrium for the next equation to be solved. `docs/time-stepper-designs.md` compares other values."""

_OTHERS = 0.1
"""Part of the largest correlation of a neuron to which the others are resolved."""


class Scales:
    """Scales of one objective."""

    def __init__(self, objective: Objective) -> None:
        self._objective, self._patch, self._totals = objective, objective.data.largest_patch(), objective.data.feature_totals()

    def thresholds(self) -> np.ndarray:
        """Return (k, V): the own correlation b from which the activation is linear, or b (b G)^(-1/alpha) if outputs grow before."""
        b, alpha = self._objective.linear_from, self._objective.parameters.alpha
        return b * np.minimum(1.0, np.maximum(b * self._totals, 1e-300) ** (-1.0 / alpha))

    def units(self, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (k, m, k, V) each, > 0: the changes of each correlation that count as 1, for the error of a step and for its equation."""
        p, size = self._objective.parameters, np.abs(c)
        largest = size.max(axis=(2, 3), keepdims=True)
        steepest = np.minimum(np.maximum(self._patch * largest / p.rho, 0.0), 1.0) ** (p.alpha - 1.0)
        equilibrium = BALANCE * self._residuals(c) ** (1.0 / max(p.alpha - 1.0, 1.0))
        relative = np.broadcast_to(_OTHERS * largest, c.shape).flatten()
        relative[self.own_index] = np.maximum(size.ravel()[self.own_index], self.own_thresholds)
        absolute = 1.0 / np.maximum(steepest * self._totals, 1e-300)

        def unit(rest: np.ndarray) -> np.ndarray:
            return np.minimum(relative.reshape(c.shape), np.minimum(rest, 1.0)[:, None, None, None] * absolute)

        return unit(np.minimum(equilibrium**STEP_POWER, MOST_OF_STEP * equilibrium)), unit(equilibrium)

    def _residuals(self, c: np.ndarray) -> np.ndarray:
        """Return (k,): the mean of 1 - phi_y over the points of each class, 1 where points are mixed, there are none, or nothing escapes."""
        k, labels = self._objective.parameters.k, self._objective.data.labels
        if self._objective.mixes or not self._objective.has_escapes:
            return np.ones(k)
        gap = class_mean(softmax_gap(self._objective.outputs(c), labels), labels, k)
        return np.where(np.isnan(gap), 1.0, np.minimum(np.maximum(gap, 1e-300), 1.0))

    @cached_property
    def own_thresholds(self) -> np.ndarray:
        """(k m V,) the thresholds of the own correlations."""
        return np.broadcast_to(self.thresholds()[:, None, :], self._shape_of_own).ravel()

    @cached_property
    def own_index(self) -> np.ndarray:
        """(k m V,) where own correlations are in the raveled c."""
        y, r, view = np.indices(self._shape_of_own).reshape(3, -1)
        return np.ravel_multi_index((y, r, y, view), self._objective.parameters.correlations_shape)

    @property
    def _shape_of_own(self) -> tuple[int, int, int]:
        p = self._objective.parameters
        return p.k, p.m, p.V
