"""What a stepper knows of a system near some y: the part that can be stiff, and an approximate inverse for its implicit equations."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mvsim.flow.null_directions import LOST, NullDirections, Preconditioner
from mvsim.numerics.arrow_matrix import Curvature
from mvsim.numerics.indexing import lookup
from mvsim.numerics.norm import largest

MOST_COLUMNS = 1600
"""Most coordinates for which the whole Hessian is formed, one product for each: 2 k^2 with one neuron of each class that can be stiff. Without it
Midpoint Mixup at d = k^20, k = 20 does not get beyond its first escape."""

LIFETIME_OF_EXACT = 200
"""Steps for which it serves: it is made anew sooner where equations fail."""


@dataclass(frozen=True, eq=False)
class Linearisation:
    """Linearisation of the system at y, restricted to coordinates that can be stiff."""

    curvature: Curvature  # The stiff part H of the Hessian by c
    # (n,) D = dy/dc, so that D H D^-1 is minus the Jacobian of y' where y is a straight function of c; elsewhere how D changes is left out
    slope: np.ndarray
    index: np.ndarray  # (s,) the coordinates that can be stiff
    rate: Callable[[np.ndarray], np.ndarray]  # Their values (s,) -> their derivatives (s,), as if all other coordinates stood still
    serves_at: Callable[[np.ndarray], bool]  # y -> whether these are still all that can be stiff there
    product: Callable[[np.ndarray], np.ndarray] | None = None  # v (n,) -> the whole Hessian by c times v
    curved: np.ndarray | None = None  # Coordinates at which y is not a straight function of c; none by default
    lasting: bool = False  # See `mvsim.flow.base.Field`
    # (s,) integers: the neuron of each coordinate that can be stiff. Without it no direction without a force is looked for.
    neuron: np.ndarray | None = None

    @cached_property
    def _straight(self) -> np.ndarray:
        """Those of the coordinates that can be stiff at which the chart is straight."""
        return self.index if self.curved is None else self.index[lookup(self.curved, self.index) < 0]

    @property
    def products_of_exact(self) -> float:
        """Products that the whole Hessian of the coordinates that can be stiff takes; infinite if it is not known, or of more than `MOST_COLUMNS`."""
        columns = len(self._straight)
        return columns if self.product is not None and 0 < columns <= MOST_COLUMNS else math.inf

    def hessian(self, exactly: bool) -> Curvature:
        """Return the stiff part of the Hessian, or all of it for the coordinates that can be stiff, which has to have finitely many products."""
        return self._exact if exactly else self.curvature

    @cached_property
    def _exact(self) -> Curvature:
        """The whole Hessian of the coordinates that can be stiff, one product for each column.

        Where the chart is curved they are left out: there it changes with y itself, and makes up for what the Hessian says.
        """
        assert self.product is not None
        index, columns = self._straight, np.empty((len(self._straight), len(self._straight)))
        for column, position in zip(columns, index, strict=True):
            unit = np.zeros_like(self.slope)
            unit[position] = 1.0
            column[:] = self.product(unit)[index]
        return Curvature.of_border(index, 0.5 * (columns + columns.T), LIFETIME_OF_EXACT)

    @cached_property
    def _null_directions(self) -> NullDirections:
        """Those of the whole Hessian, in the coordinates of its border."""
        assert self.neuron is not None
        whole = self._exact
        return NullDirections.of(whole.border, self.neuron[lookup(self.index, whole.border_index)])

    def preconditioner(self, gamma: float, exactly: bool = False) -> Preconditioner:
        """Return P^-1 with P = 1 + gamma D H D^-1, H as `hessian` says, for the coordinates that can be stiff; raise `numpy.linalg.LinAlgError`."""
        hessian, slope = self.hessian(exactly), self.slope[self.index]
        may_be_lost = exactly and self.neuron is not None and LOST < gamma * largest(hessian.border) < math.inf
        null = self._null_directions.hidden_at(gamma) if may_be_lost else None
        if null is None or not len(null.stiffness):
            solve = hessian.shifted(gamma).within(self.index).solve
            return lambda r, rest: slope * solve(r / slope)
        solve = replace(hessian, border=null.stiffened(hessian.border)).shifted(gamma).within(self.index).solve
        inverse = null.at_places(lookup(hessian.border_index, self.index)).inverse(solve)
        return lambda r, rest: slope * inverse(r / slope, rest / slope)
