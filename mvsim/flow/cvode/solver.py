"""CVODE, the solver of SUNDIALS for stiff equations, on a field in the coordinates of a chart."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mvsim.base.extras import load_extra
from mvsim.flow.cvode.muted import this_thread_muted
from mvsim.flow.newton import DIFFERENCE
from mvsim.flow.system import ChartedField
from mvsim.numerics.arrow_matrix import Curvature, Shifted
from mvsim.numerics.blas_threads import one_blas_thread

KRYLOV = 20
"""Most products of one linear solve."""

VECTORS = KRYLOV + 22
"""Vectors that CVODE holds: a basis for each product and three more, 6 for the past, and 13 for y, its weights, corrections and what is at work."""

BEYOND = 1e300
"""A time that is never reached: where a step ends is for the step size and for the end of the segment to decide."""


def library() -> Any:
    """Return the module `sksundae.cvode`, which is loaded here so that nothing else needs it.

    Raises
    ------
    UsageError
        If it is not installed.
    """
    return load_extra("sksundae.cvode", "scikit-sundae", "cvode", "integrator='cvode'", "use integrator flow")


class SolverFailedError(Exception):
    """CVODE gave up a step; the message is its reason."""


class Solver:
    """Steps of CVODE from time 0 to the end of a span: backward differentiation formulas, Newton's method and preconditioned GMRES.

    The error weights of CVODE are rtol |y| + atol. Its rtol is 0 here, and atol are the tolerances at the start, which stay the same for all steps.

    Parameters
    ----------
    system : ChartedField
        What is integrated.
    y : numpy.ndarray
        (n,) the start.
    tolerance : numpy.ndarray
        (n,) allowed errors.
    first : float
        Size of the first step.
    span : float
        Time at which the last step ends.
    """

    def __init__(self, system: ChartedField, y: np.ndarray, tolerance: np.ndarray, first: float, span: float) -> None:
        self._system, self._tolerance, self._span = system, tolerance, span
        self._curvature: Curvature | None = None
        self._shifted: Shifted | None = None
        self._slope = np.ones_like(y)
        cvode = library()
        self._solver = cvode.CVODE(
            self._rate,
            method="BDF",
            linsolver="gmres",
            krylov_dim=KRYLOV,
            rtol=0.0,
            atol=tolerance,
            first_step=first,
            jactimes=cvode.CVODEJacTimes(None, self._product),
            precond=cvode.CVODEPrecond(self._set_up, self._solve),
        )
        self._solver.init_step(0.0, y)

    def step(self) -> tuple[float, np.ndarray]:
        """Take one step; return the time since the start and y (n,).

        Raises
        ------
        SolverFailedError
            If the solver fails.
        DivergedError
            If the field cannot be evaluated. The solver is of no use after that.
        """
        with one_blas_thread(), this_thread_muted():  # on failure, the library prints what its result tells as well
            result = self._solver.step(BEYOND, method="onestep", tstop=self._span)
        if not result.success:
            raise SolverFailedError(f"CVODE: {str(result.message).rstrip('.')}")
        return float(result.t), np.array(result.y)

    def _rate(self, t: float, y: np.ndarray, out: np.ndarray) -> None:
        """Write y' to out. What cannot be evaluated raises: with values that are not finite CVODE may never return."""
        out[:] = self._system.rate(y)

    def _product(self, t: float, y: np.ndarray, rate: np.ndarray, v: np.ndarray, out: np.ndarray) -> None:
        """Write the derivative of the rate along v to out: a difference quotient of our own, whose points are closer than CVODE's."""
        size = math.sqrt(float(np.mean((v / self._tolerance) ** 2)))
        if size == 0.0:
            out[:] = 0.0
            return
        step = DIFFERENCE / size
        out[:] = (self._system.rate(y + step * v) - rate) / step

    def _set_up(self, t: float, y: np.ndarray, rate: np.ndarray, still_good: bool, renewed: list[int], gamma: float) -> None:
        """Factorise I + gamma H; the H of last time is kept where CVODE says that it will do."""
        keep = still_good and self._curvature is not None
        if not keep:
            self._curvature, self._slope = self._system.curvature(y), self._system.slope(y)
        renewed[0] = int(not keep)
        self._shifted = None if self._curvature is None else self._curvature.shifted(gamma)

    def _solve(self, t: float, y: np.ndarray, rate: np.ndarray, r: np.ndarray, out: np.ndarray, gamma: float, delta: float, side: int) -> None:
        """Write z to out, (I + gamma D H D^-1) z = r; D = dy/dc turns the Hessian by c into one by y."""
        out[:] = r if self._shifted is None else self._slope * self._shifted.solve(r / self._slope)
