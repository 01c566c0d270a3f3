"""The vector field of an objective, in the form that integrators take."""

from __future__ import annotations

import numpy as np

from mvsim.flow import Escaping, Field, Part, Units
from mvsim.multi_view.objectives import Objective
from mvsim.multi_view.objectives.scales import Scales
from mvsim.runs.simulation.few_neurons import SOON, FewNeurons, name_of


def field_of(objective: Objective, eta: float = 1.0, affordable: int = 10_000) -> Field:
    """Return c' = -grad J(c) of an objective."""
    p, scales = objective.parameters, Scales(objective)
    with_few = objective.with_neurons(1) is not None and objective.has_escapes and not objective.weight_decay
    groups = FewNeurons(objective, scales) if with_few else None
    features = p.k * p.V

    def loss_and_gradient(step: int, c: np.ndarray) -> tuple[float, np.ndarray]:
        objective.begin_step(step)
        return objective.loss_and_gradient(c)

    def part(c: np.ndarray) -> Part:
        """Choose the neurons that have escaped or soon will, of each class as many as the class with most of them has."""
        soon = objective.escaped(c, SOON)
        neurons = np.argsort(~soon, axis=1, stable=True)[:, : soon.sum(axis=1).max()]
        chosen = (neurons[:, :, None] == np.arange(p.m)).any(axis=1)
        index = features * (p.m * np.arange(p.k)[:, None] + neurons)[:, :, None] + np.arange(features)
        of_neurons = objective.of_neurons(c, neurons)

        def loss_and_gradient(x: np.ndarray) -> tuple[float, np.ndarray]:
            loss, gradient = of_neurons(x.reshape(index.shape))
            return loss, gradient.ravel()

        return Part(index.ravel(), loss_and_gradient, lambda c: not (objective.escaped(c) & ~chosen).any())

    return Field(
        loss_and_gradient=loss_and_gradient,
        curvature=objective.curvature,
        units=lambda c: Units(*scales.units(c)),
        escaping=Escaping(scales.own_index, scales.own_thresholds, p.alpha),
        component=lambda i: name_of(i, p.correlations_shape),
        part=part,
        product=objective.hessian_vector_product,
        groups=groups,
        few=None if groups is None else groups.few,
        learning_rate=eta,
        affordable=affordable,
        fixed=objective.fixed,
        lasting=objective.mixes,
    )
