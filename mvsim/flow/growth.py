"""No step of an implicit formula may be longer than what grows takes to grow.

Along an eigenvector of the Hessian with a negative eigenvalue -lambda a disturbance grows as e^(lambda t). Backward Euler multiplies it by
1 / (1 - h lambda) in a step: for h lambda < 1 it grows, too fast; for h lambda > 1 the sign changes, and for h lambda > 2 it is damped. So a formula
that is stable for everything that decays also damps what grows, and a step that is too long passes over an escape as if it had not been there: no
error test sees it, as the end of the step is a solution of its equation with a small error estimate.

The velocity tells it. In a step of h from (c0, v0) to (c1, v1), what grows alone has v1 - v0 = lambda (c1 - c0), so that
h (v1 - v0) / (c1 - c0) measures h lambda.
"""

from __future__ import annotations

import numpy as np

MOST = 1.0
"""Largest h lambda of one step."""


def outgrows(h: float, moved: np.ndarray, gained: np.ndarray, counts: np.ndarray) -> bool:
    """Whether a step is longer than the growth time of what grows in it.

    Parameters
    ----------
    h : float
        Its size.
    moved, gained : numpy.ndarray
        (n,) by how much coordinates and their velocities differ at its ends.
    counts : numpy.ndarray
        (n,) least motion of each coordinate that counts.
    """
    return bool(((np.abs(moved) > counts) & (h * gained * np.sign(moved) > MOST * np.abs(moved))).any())
