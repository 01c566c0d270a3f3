"""The vector field of an objective, in the form that integrators take."""

from __future__ import annotations

import numpy as np

from mvsim.integrators import Escaping, Field, Part
from mvsim.objectives import Objective
from mvsim.objectives.scales import Scales

SOON = 0.8
"""Part of `mvsim.objectives.Objective.stiff_from` from which on a neuron is counted among those that can be stiff, so that they seldom change."""


def field_of(objective: Objective, eta: float = 1.0, affordable: int = 10_000) -> Field:
    """Return c' = -grad J(c) of an objective.

    Parameters
    ----------
    objective : Objective
        J.
    eta : float, optional
        A step size that gradient descent can be expected to be stable with.
    affordable : int, optional
        Default limit on gradient evaluations where no t_end is given.
    """
    p, scales = objective.parameters, Scales(objective)
    shape = p.correlations_shape
    y, r, view = np.indices((p.k, p.m, p.V)).reshape(3, -1)
    own = np.ravel_multi_index((y, r, y, view), shape)

    def loss_and_gradient(step: int, c: np.ndarray) -> tuple[float, np.ndarray]:
        objective.begin_step(step)
        return objective.loss_and_gradient(c)

    def part(c: np.ndarray) -> Part:
        """Choose the neurons that have escaped or soon will, of each class as many as the class with most of them has."""
        soon = objective.escaped(c, SOON)
        neurons = np.argsort(~soon, axis=1, kind="stable")[:, : int(soon.sum(axis=1).max())]
        chosen = np.zeros_like(soon)
        np.put_along_axis(chosen, neurons, True, axis=1)
        index = np.arange(c.size).reshape(p.k, p.m, -1)[np.arange(p.k)[:, None], neurons]
        of_neurons = objective.of_neurons(c, neurons)

        def loss_and_gradient(x: np.ndarray) -> tuple[float, np.ndarray]:
            loss, gradient = of_neurons(x.reshape(index.shape))
            return loss, gradient.ravel()

        return Part(index.ravel(), loss_and_gradient, lambda c: not (objective.escaped(c) & ~chosen).any())

    def component(i: int) -> str:
        return f"c[{', '.join(str(int(j)) for j in np.unravel_index(i, shape))}]"

    return Field(
        loss_and_gradient=loss_and_gradient,
        curvature=objective.curvature,
        scale=scales.units,
        escaping=Escaping(own, scales.thresholds()[y, view], p.alpha),
        component=component,
        part=part,
        learning_rate=eta,
        affordable=affordable,
        fixed=objective.fixed,
    )
