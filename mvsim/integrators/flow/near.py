"""What a stepper knows of a system near some y: the part that can be stiff, and an approximate inverse for its implicit equations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mvsim.linalg.arrow_matrix import Curvature
from mvsim.linalg.primitives import Places, primitives_of


@dataclass(frozen=True, eq=False)
class Near:
    """The system near some y.

    Attributes
    ----------
    curvature : Curvature
        The stiff part H of the Hessian by c.
    slope : array
        (n,) D = dy/dc, so that D H D^-1 is minus the Jacobian of y'.
    index : array
        (s,) the coordinates that can be stiff.
    rate : callable
        Their values (s,) -> their derivatives (s,), as if all other coordinates stood still.
    serves_at : callable
        y -> whether these are still all that can be stiff there.
    """

    curvature: Curvature
    slope: Any
    index: Any
    rate: Callable[[Any], Any]
    serves_at: Callable[[Any], bool]

    @cached_property
    def places(self) -> Places:
        """The coordinates that can be stiff, to be written at."""
        return primitives_of(self.index).places(self.index)

    def preconditioner(self, gamma: float) -> Callable[[Any], Any]:
        """Return P^-1 with P = 1 + gamma D H D^-1, for vectors (s,), or many (p, s), of the coordinates that can be stiff.

        Raises
        ------
        numpy.linalg.LinAlgError
            If P is singular to working precision, on NumPy; elsewhere results are then not finite.
        """
        shifted = self.curvature.shifted(gamma).within(self.index)
        slope = self.slope[self.index]
        return lambda r: slope * shifted.solve(r / slope)
