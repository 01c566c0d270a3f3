"""CVODE of SUNDIALS as an oracle of the gradient flow: from a state to given times, with nothing of mvsim but the gradient.

It has none of what the flow of mvsim is made of: no chart, no clock, no preconditioner, no resting neurons, no part of the gradient. So it needs
many more gradients, and is for small problems; its Jacobian is dense, by differences.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from sksundae.cvode import CVODE

from mvsim.numerics.blas_threads import library_was_loaded, one_blas_thread


class FailedError(Exception):
    """CVODE gave up; the message is its reason."""


def follow(
    gradient: Callable[[np.ndarray], np.ndarray],
    c: np.ndarray,
    times: Sequence[float],
    rtol: float = 1e-7,
    atol: float = 1e-9,
    most_steps: int = 200_000,
) -> np.ndarray:
    """Return the states of c' = -gradient(c) at some times.

    Parameters
    ----------
    gradient : callable
        c -> the gradient of a loss, the shape of c.
    c : numpy.ndarray
        The state at time 0, any shape.
    times : sequence of float
        Increasing, > 0.
    rtol, atol : float
        Tolerances of one step, relative to each entry of c and absolute.
    most_steps : int
        Steps to one of the times after which it is given up.

    Returns
    -------
    numpy.ndarray
        (number of times, *shape of c).

    Raises
    ------
    FailedError
        If CVODE fails.
    """

    def rate(t: float, y: np.ndarray, out: np.ndarray) -> None:
        slope = gradient(y.reshape(c.shape)).ravel()
        if not np.isfinite(slope).all():  # with values that are not finite CVODE may never return
            raise FailedError(f"the gradient is not finite at t = {t:.6g}")
        np.negative(slope, out=out)

    solver = CVODE(rate, method="BDF", rtol=rtol, atol=atol, max_num_steps=most_steps)
    library_was_loaded()
    with one_blas_thread():
        solution = solver.solve(np.array([0.0, *times]), c.ravel().astype(float))
    if not solution.success:
        raise FailedError(f"CVODE: {str(solution.message).rstrip('.')}")
    return np.asarray(solution.y)[1:].reshape(len(times), *c.shape)


def crossing_times(states: np.ndarray, times: Sequence[float], threshold: float) -> np.ndarray:
    """Return when each entry of the states (number of times, ...) first passes a threshold, linear between two times; inf where it does not."""
    above = states >= threshold
    first = above.argmax(axis=0)
    inside = above.any(axis=0) & (first > 0)
    after, before = (np.take_along_axis(states, np.maximum(index, 0)[None], axis=0)[0] for index in (first, first - 1))
    t = np.asarray(times, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = t[first - 1] + (threshold - before) / (after - before) * (t[first] - t[first - 1])
    return np.where(inside, crossing, np.where(above[0], t[0], np.inf))
