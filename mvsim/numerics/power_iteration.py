"""The largest eigenvalue of the Hessian of the loss, which limits the step size of gradient descent: eta < 2 / lambda_max."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def largest_eigenvalue(
    hessian_vector_product: Callable[[np.ndarray], np.ndarray], start: np.ndarray, products: int = 30, tolerance: float = 1e-2
) -> tuple[float, np.ndarray]:
    """Estimate lambda_max by power iteration.

    The Rayleigh quotient v.Hv / v.v of the last iterate is returned: never more than the largest eigenvalue, so a step size above 2 over
    it is certainly above the limit. Plain iteration finds the eigenvalue of largest modulus, which early in training is negative (growth in the
    polynomial regime); whenever the quotient is negative the Hessian is shifted by |Hv|, which leaves the largest eigenvalue ahead.
    """
    v = start / np.linalg.norm(start)
    estimate, shift = 0.0, 0.0
    for _ in range(products):
        product = hessian_vector_product(v)
        previous, estimate = estimate, float(np.vdot(v, product))
        if estimate < 0.0:
            shift = max(shift, float(np.linalg.norm(product)))
        w = product + shift * v
        norm = np.linalg.norm(w)
        if not norm > 0.0:
            return estimate, v
        v = w / norm
        if abs(estimate - previous) <= tolerance * abs(estimate):
            break
    return estimate, v
