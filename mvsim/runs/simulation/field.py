"""The vector field of an objective, in the form that integrators take."""

from __future__ import annotations

from typing import Any

from mvsim.flow import Escaping, Field, Part, Units
from mvsim.multi_view.objectives import Objective
from mvsim.multi_view.objectives.scales import Scales
from mvsim.numerics.namespaces import namespace_of
from mvsim.numerics.vectors import flat, integers_like
from mvsim.runs.simulation.few_neurons import SOON, FewNeurons, name_of


def field_of(objective: Objective, eta: float = 1.0, affordable: int = 10_000) -> Field:
    """Return c' = -grad J(c) of an objective, on the device of its kernel.

    Parameters
    ----------
    objective : Objective
        J.
    eta : float, optional
        A step size that gradient descent can be expected to be stable with.
    affordable : int, optional
        Default limit on gradient evaluations where no t_end is given.
    """
    p, scales, resident = objective.parameters, Scales(objective), objective.resident

    def loss_and_gradient(step: int, c: Any) -> tuple[float, Any]:
        objective.begin_step(step)
        return resident.loss_and_gradient(c)

    def part(c: Any) -> Part:
        """Choose the neurons that have escaped or soon will, of each class as many as the class with most of them has."""
        xp = namespace_of(c)
        soon = xp.astype(resident.escaped(c, SOON), xp.int64)
        neurons = xp.argsort(1 - soon, axis=1, stable=True)[:, : int(xp.max(xp.sum(soon, axis=1)))]
        chosen = xp.any(neurons[:, :, None] == integers_like(p.m, neurons), axis=1)
        features = p.k * p.V
        index = features * (p.m * integers_like(p.k, neurons)[:, None] + neurons)[:, :, None] + integers_like(features, neurons)
        of_neurons = resident.of_neurons(c, neurons)

        def loss_and_gradient(x: Any) -> tuple[float, Any]:
            loss, gradient = of_neurons(xp.reshape(x, index.shape))
            return loss, flat(gradient)

        return Part(flat(index), loss_and_gradient, lambda c: not bool(xp.any(resident.escaped(c) & ~chosen)))

    return Field(
        loss_and_gradient=loss_and_gradient,
        curvature=resident.curvature,
        units=lambda c: Units(*scales.units(c)),
        escaping=Escaping(scales.own_index, scales.own_thresholds, p.alpha),
        component=lambda i: name_of(i, p.correlations_shape),
        part=part,
        product=resident.hessian_vector_product,
        groups=None if objective.with_neurons(1) is None or not objective.has_escapes else FewNeurons(objective, scales),
        learning_rate=eta,
        affordable=affordable,
        fixed=objective.fixed,
        lasting=objective.mixes,
        device=resident.device,
    )
