"""What a stepper knows of a system near some y: the part that can be stiff, and an approximate inverse for its implicit equations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mvsim.linalg.arrow_matrix import Curvature


@dataclass(frozen=True, eq=False)
class Near:
    """The system near some y.

    Attributes
    ----------
    curvature : Curvature
        The stiff part H of the Hessian by c.
    slope : numpy.ndarray
        (n,) D = dy/dc, so that D H D^-1 is minus the Jacobian of y'.
    index : numpy.ndarray
        (s,) the coordinates that can be stiff.
    rate : callable
        Their values (s,) -> their derivatives (s,), as if all other coordinates stood still.
    serves_at : callable
        y -> whether these are still all that can be stiff there.
    """

    curvature: Curvature
    slope: np.ndarray
    index: np.ndarray
    rate: Callable[[np.ndarray], np.ndarray]
    serves_at: Callable[[np.ndarray], bool]

    def preconditioner(self, gamma: float) -> Callable[[np.ndarray], np.ndarray]:
        """Return P^-1 with P = 1 + gamma D H D^-1, for vectors (s,), or many (p, s), of the coordinates that can be stiff.

        Raises
        ------
        numpy.linalg.LinAlgError
            If P is singular to working precision.
        """
        shifted, slope = self.curvature.shifted(gamma).within(self.index), self.slope[self.index]
        return lambda r: slope * shifted.solve(r / slope)
