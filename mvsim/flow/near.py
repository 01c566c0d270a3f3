"""What a stepper knows of a system near some y: the part that can be stiff, and an approximate inverse for its implicit equations."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from mvsim.flow.null_directions import LOST, NullDirections, Preconditioner
from mvsim.numerics.arrow_matrix import Curvature
from mvsim.numerics.namespaces import namespace_of
from mvsim.numerics.primitives import Places, primitives_of
from mvsim.numerics.vectors import flat, largest

MOST_COLUMNS = 1600
"""Most coordinates for which the whole Hessian is formed, one product for each. With one neuron of each class that can be stiff there are 2 k^2 of
them, so that it is formed up to k = 28, with two up to k = 20. Without it Midpoint Mixup at d = k^20, k = 20 (800 coordinates) did not get beyond its
first escape: steps stayed far shorter than the time to the next one."""

LIFETIME_OF_EXACT = 200
"""Steps for which it serves: it is made anew sooner where equations fail."""


@dataclass(frozen=True, eq=False)
class Near:
    """Linearisation of the system at y, restricted to coordinates that can be stiff.

    Attributes
    ----------
    curvature : Curvature
        The stiff part H of the Hessian by c.
    slope : array
        (n,) D = dy/dc, so that D H D^-1 is minus the Jacobian of y' where y is a straight function of c; elsewhere how D changes is left out.
    index : array
        (s,) the coordinates that can be stiff.
    rate : callable
        Their values (s,) -> their derivatives (s,), as if all other coordinates stood still.
    serves_at : callable
        y -> whether these are still all that can be stiff there.
    product : callable, optional
        v (n,) -> the whole Hessian by c times v.
    curved : array, optional
        Coordinates at which y is not a straight function of c; none by default.
    lasting : bool
        Whether the Hessian keeps its size as time goes on after an escape, see `mvsim.flow.base.Field`.
    neuron : array, optional
        (s,) integers: the neuron of each coordinate that can be stiff. Without it no direction without a force is looked for.
    """

    curvature: Curvature
    slope: Any
    index: Any
    rate: Callable[[Any], Any]
    serves_at: Callable[[Any], bool]
    product: Callable[[Any], Any] | None = None
    curved: Any = None
    lasting: bool = False
    neuron: Any = None

    @cached_property
    def places(self) -> Places:
        """The coordinates that can be stiff, to be written at."""
        return primitives_of(self.index).places(self.index)

    @cached_property
    def _straight(self) -> Any:
        """Those of the coordinates that can be stiff at which the chart is straight."""
        return self.index if self.curved is None else self.index[primitives_of(self.index).lookup(self.curved, self.index) < 0]

    @property
    def products_of_exact(self) -> float:
        """Products that the whole Hessian of the coordinates that can be stiff takes; infinite if it is not known, or of more than `MOST_COLUMNS`."""
        columns = self._straight.shape[0]
        return columns if self.product is not None and 0 < columns <= MOST_COLUMNS else math.inf

    def hessian(self, exactly: bool) -> Curvature:
        """Return the stiff part, or the whole Hessian of the coordinates that can be stiff, which has to have finitely many products."""
        return self._exact if exactly else self.curvature

    @cached_property
    def _exact(self) -> Curvature:
        """The whole Hessian of the coordinates that can be stiff, one product for each column.

        Where the chart is curved they are left out: there it changes with y itself, and makes up for what the Hessian says.
        """
        xp, index = namespace_of(self.slope), self._straight
        assert self.product is not None
        one, places = xp.zeros_like(self.slope), [primitives_of(index).places(index[j : j + 1]) for j in range(index.shape[0])]
        ones = xp.ones_like(self.slope[:1])
        H = xp.stack([self.product(place.written(one, ones))[index] for place in places])
        return Curvature.of_border(index, 0.5 * (H + xp.matrix_transpose(H)), LIFETIME_OF_EXACT)

    @cached_property
    def _null_directions(self) -> NullDirections:
        """Those of the whole Hessian, in the coordinates of its border."""
        whole = self._exact
        neuron = self.neuron[primitives_of(self.index).lookup(self.index, whole.border_index)]
        return NullDirections.of(whole.border, neuron)

    def preconditioner(self, gamma: float, exactly: bool = False) -> Preconditioner:
        """Return P^-1 with P = 1 + gamma D H D^-1, for vectors of the coordinates that can be stiff.

        H is what `hessian` says.

        Raises
        ------
        numpy.linalg.LinAlgError
            If P is singular to working precision, or singular values do not converge, on NumPy; elsewhere results are then not finite.
        """
        hessian, slope = self.hessian(exactly), self.slope[self.index]
        may_be_lost = exactly and self.neuron is not None and LOST < gamma * largest(flat(hessian.border)) < math.inf
        null = self._null_directions.hidden_at(gamma) if may_be_lost else None
        if null is None or not null.stiffness.shape[0]:
            solve = hessian.shifted(gamma).within(self.index).solve
            return lambda r, rest: slope * solve(r / slope)
        solve = replace(hessian, border=null.stiffened(hessian.border)).shifted(gamma).within(self.index).solve
        inverse = null.at_places(primitives_of(self.index).lookup(hessian.border_index, self.index)).inverse(solve)
        return lambda r, rest: slope * inverse(r / slope, rest / slope)
