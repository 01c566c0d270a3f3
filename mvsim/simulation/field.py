"""The vector field of an objective, in the form that integrators take."""

from __future__ import annotations

import numpy as np

from mvsim.integrators import Escaping, Field
from mvsim.objectives import Objective
from mvsim.objectives.scales import Scales


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

    def component(i: int) -> str:
        return f"c[{', '.join(str(int(j)) for j in np.unravel_index(i, shape))}]"

    return Field(
        loss_and_gradient=loss_and_gradient,
        curvature=objective.curvature,
        scale=scales.units,
        escaping=Escaping(own, scales.thresholds()[y, view], p.alpha),
        component=component,
        learning_rate=eta,
        affordable=affordable,
        fixed=objective.fixed,
    )
