"""The vector field of a few neurons of each class, while the others rest."""

from __future__ import annotations

from typing import Any

import numpy as np

from mvsim.flow import Escaping, Field, Groups, Units
from mvsim.multi_view.objectives import Objective
from mvsim.multi_view.objectives.scales import Scales
from mvsim.numerics.namespaces import namespace_of
from mvsim.numerics.primitives import primitives_of
from mvsim.numerics.vectors import flat, integers_like

SOON = 0.8
"""Part of `Objective.stiff_from` from which on a neuron is counted among those that can be stiff, so that they seldom change."""

WORTHWHILE = 0.5
"""Part of the neurons of a class that may be stepped for it to be worth while to let the others rest."""


class FewNeurons(Groups):
    """The neurons of an objective: each is a group, and the own correlations of one view are alike.

    Parameters
    ----------
    objective : Objective
        J.
    scales : Scales
        Its scales.
    """

    def __init__(self, objective: Objective, scales: Scales) -> None:
        self._objective, self._shape = objective, objective.parameters.correlations_shape
        self._few: dict[int, tuple[Objective, Scales]] = {}
        k, m, _, V = self._shape
        xp = namespace_of(scales.own_index)
        self.alike = xp.reshape(xp.permute_dims(xp.reshape(scales.own_index, (k, m, V)), (0, 2, 1)), (k * V, m))

    def around(self, c: Any, wanted: Any, before: Any) -> Any | None:
        """Take the same number of neurons of every class: as many as the class that needs most."""
        xp = namespace_of(c)
        needed = self._objective.resident.escaped(c, SOON) | self._holding(wanted)
        count = int(xp.max(xp.sum(xp.astype(needed, xp.int64), axis=1)))
        if count > WORTHWHILE * self._shape[1]:
            return None
        first = -2 * xp.astype(needed, xp.int64) - xp.astype(self._holding(before), xp.int64)
        return flat(self._index(xp.sort(xp.argsort(first, axis=1, stable=True)[:, :count], axis=1)))

    def field(self, c: Any, positions: Any) -> Field:
        """Return J as a function of the correlations of these neurons; what shapes it is told as if there were no others.

        Products with its Hessian are not told: a flow would form the whole Hessian again at every mark, with the field.
        """
        xp, (k, _, _, V) = namespace_of(c), self._shape
        neurons = xp.reshape(positions, (k, -1, k * V))[:, :, 0] // (k * V) - self._shape[1] * integers_like(k, positions)[:, None]
        few, scales = self._with(neurons.shape[1])
        loss_of, resident = self._objective.resident.of_neurons(c, neurons), few.resident

        def shaped(x: Any) -> Any:
            return xp.reshape(x, few.parameters.correlations_shape)

        def loss_and_gradient(step: int, x: Any) -> tuple[float, Any]:
            loss, gradient = loss_of(xp.reshape(x, (k, -1, k * V)))
            return loss, flat(gradient)

        return Field(
            loss_and_gradient=loss_and_gradient,
            curvature=lambda x: resident.curvature(shaped(x)),
            units=lambda x: Units(*scales.units(shaped(x))),
            escaping=Escaping(scales.own_index, scales.own_thresholds, few.parameters.alpha),
            component=lambda i: name_of(int(positions[i]), self._shape),
            device=resident.device,
        )

    def _with(self, count: int) -> tuple[Objective, Scales]:
        if count not in self._few:
            few = self._objective.with_neurons(count)
            assert few is not None
            self._few[count] = few, Scales(few)
        return self._few[count]

    def _holding(self, positions: Any) -> Any:
        """Return (k, m): the neurons that have a correlation at some positions (w,)."""
        xp, (k, m, _, V) = namespace_of(positions), self._shape
        neurons = xp.unique_values(positions // (k * V))
        return xp.reshape(primitives_of(positions).lookup(neurons, integers_like(k * m, positions)) >= 0, (k, m))

    def _index(self, neurons: Any) -> Any:
        """Return (k, E, k V): where the correlations of neurons (k, E) are."""
        k, m, _, V = self._shape
        number = m * integers_like(k, neurons)[:, None] + neurons
        return k * V * number[:, :, None] + integers_like(k * V, neurons)


def name_of(position: int, shape: tuple[int, ...]) -> str:
    """Return the name of the correlation at a position in the raveled c of a shape."""
    return f"c[{', '.join(str(int(j)) for j in np.unravel_index(position, shape))}]"
