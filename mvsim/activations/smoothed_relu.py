"""The smoothed ReLU of Definition 4.2 and its derivatives, branch-free.

With u = clip(z / rho, 0, 1):

    R(z)   = (rho / alpha) u^alpha + max(z - rho, 0)
    R'(z)  = u^(alpha - 1)
    R''(z) = (alpha - 1) u^(alpha - 2) / rho     for 0 < z < rho, else 0

For z <= 0, u = 0 gives R = 0; on [0, rho], R = z^alpha / (alpha rho^(alpha - 1)); for z >= rho, u = 1 gives
rho / alpha + z - rho = z - (1 - 1/alpha) rho: the three cases of the paper.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mvsim.arrays import real_array
from mvsim.checks import check_positive
from mvsim.echo import echo
from mvsim.errors import UsageError


def smoothed_relu(z: ArrayLike, rho: float, alpha: float) -> np.ndarray:
    """Return R(z) of Definition 4.2.

    Parameters
    ----------
    z : array_like
        Pre-activations, any shape, dimensionless.
    rho : float
        Threshold, > 0.
    alpha : float
        Power, >= 1 (1 is the ordinary ReLU).

    Returns
    -------
    numpy.ndarray
        R(z), the shape of ``z``.

    Raises
    ------
    UsageError
        If rho <= 0 or alpha < 1.
    """
    z, u = _scaled(z, rho, alpha)
    return (rho / alpha) * _power(u, alpha) + np.maximum(z - rho, 0.0)


def smoothed_relu_derivative(z: ArrayLike, rho: float, alpha: float) -> np.ndarray:
    """Return R'(z) = clip(z / rho, 0, 1)^(alpha - 1), with R'(z) = 0 for z <= 0; arguments as for `smoothed_relu`."""
    z, u = _scaled(z, rho, alpha)
    return np.where(z > 0.0, _power(u, alpha - 1.0), 0.0)


def smoothed_relu_second_derivative(z: ArrayLike, rho: float, alpha: float) -> np.ndarray:
    """Return R''(z), taken as 0 at the kinks z = 0 and z = rho; arguments as for `smoothed_relu`."""
    z, u = _scaled(z, rho, alpha)
    inside = (z > 0.0) & (z < rho)
    return np.where(inside, (alpha - 1.0) * _power(np.where(inside, u, 1.0), alpha - 2.0) / rho, 0.0)


def _scaled(z: ArrayLike, rho: float, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    check_positive("rho", rho)
    if check_positive("alpha", alpha) < 1.0:
        raise UsageError(f"alpha={echo(alpha)}: must be >= 1")
    z = real_array("z", z)
    return z, np.clip(z / rho, 0.0, 1.0)


def _power(u: np.ndarray, exponent: float) -> np.ndarray:
    """Return u^exponent: whole exponents by squaring, which is faster than pow."""
    if exponent < 0.0 or not float(exponent).is_integer():
        return u**exponent
    power, n = np.ones_like(u), int(exponent)
    while n:
        power = power * u if n % 2 else power
        u, n = u * u, n // 2
    return power
