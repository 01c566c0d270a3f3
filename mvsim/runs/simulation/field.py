"""The vector field of an objective, in the form that integrators take: of all neurons, or of a few of each class while the others rest."""

from __future__ import annotations

import numpy as np

from mvsim.flow import Escaping, Field, Groups, Part, Units
from mvsim.multi_view.objectives import Objective
from mvsim.multi_view.objectives.scales import Scales


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


SOON = 0.8
"""Part of `Objective.stiff_from` from which on a neuron is counted among those that can be stiff, so that they seldom change."""

WORTHWHILE = 0.5
"""Part of the neurons of a class that may be stepped for it to be worth while to let the others rest."""


class FewNeurons(Groups):
    """The neurons of an objective: each is a group, and the own correlations of one view are alike."""

    def __init__(self, objective: Objective, scales: Scales) -> None:
        self._objective, self._shape = objective, objective.parameters.correlations_shape
        self._few: dict[int, tuple[Objective, Scales]] = {}
        k, m, _, V = self._shape
        self.alike = scales.own_index.reshape(k, m, V).transpose(0, 2, 1).reshape(k * V, m)

    def around(self, c: np.ndarray, required: np.ndarray, before: np.ndarray) -> np.ndarray | None:
        """Take the same number of neurons of every class: as many as the class that needs most."""
        needed = self._objective.escaped(c, SOON) | self._holding(required)
        count = needed.sum(axis=1).max()
        if count > WORTHWHILE * self._shape[1]:
            return None
        first = -2 * needed.astype(int) - self._holding(before)
        return self._index(np.sort(np.argsort(first, axis=1, stable=True)[:, :count], axis=1)).ravel()

    def field(self, c: np.ndarray, positions: np.ndarray) -> Field:
        k, m, _, V = self._shape
        return self.few(c, positions.reshape(k, -1, k * V)[:, :, 0] // (k * V) - m * np.arange(k)[:, None])

    def few(self, c: np.ndarray, neurons: np.ndarray) -> Field:
        """Return J as a function of the correlations of these neurons; what shapes it is told as if there were no others.

        Products with its Hessian are not told: a flow would form the whole Hessian again at every mark, with the field.
        """
        k, _, _, V = self._shape
        index = self._index(neurons).ravel()
        few, scales = self._with(neurons.shape[1])
        loss_of = self._objective.of_neurons(c, neurons)

        def shaped(x: np.ndarray) -> np.ndarray:
            return x.reshape(few.parameters.correlations_shape)

        def loss_and_gradient(step: int, x: np.ndarray) -> tuple[float, np.ndarray]:
            loss, gradient = loss_of(x.reshape(k, -1, k * V))
            return loss, gradient.ravel()

        return Field(
            loss_and_gradient=loss_and_gradient,
            curvature=lambda x: few.curvature(shaped(x)),
            units=lambda x: Units(*scales.units(shaped(x))),
            escaping=Escaping(scales.own_index, scales.own_thresholds, few.parameters.alpha),
            component=lambda i: name_of(int(index[i]), self._shape),
        )

    def _with(self, count: int) -> tuple[Objective, Scales]:
        if count not in self._few:
            few = self._objective.with_neurons(count)
            assert few is not None
            self._few[count] = few, Scales(few)
        return self._few[count]

    def _holding(self, positions: np.ndarray) -> np.ndarray:
        """Return (k, m): the neurons that have a correlation at some positions (w,)."""
        k, m, _, V = self._shape
        holding = np.zeros(k * m, dtype=bool)
        holding[positions // (k * V)] = True
        return holding.reshape(k, m)

    def _index(self, neurons: np.ndarray) -> np.ndarray:
        """Return (k, E, k V): where the correlations of neurons (k, E) are."""
        k, m, _, V = self._shape
        return k * V * (m * np.arange(k)[:, None] + neurons)[:, :, None] + np.arange(k * V)


def name_of(position: int, shape: tuple[int, ...]) -> str:
    """Return the name of the correlation at a position in the raveled c of a shape."""
    return f"c[{', '.join(str(int(j)) for j in np.unravel_index(position, shape))}]"
