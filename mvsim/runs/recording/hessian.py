"""What products with the Hessian of the training loss tell: its largest eigenvalue, and how fast the gradient turns."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from mvsim.multi_view.objectives import Objective
from mvsim.numerics.norm import norm
from mvsim.numerics.random_streams import stream

HESSIAN_EVERY = 20
"""Records between two of those at which products with the Hessian are taken: `SHARPNESS_PRODUCTS` and one more at most."""

SHARPNESS_PRODUCTS = 10


def sharpness(objective: Objective, c: np.ndarray, threshold: float, seed: int) -> float:
    """Return the largest eigenvalue of the Hessian at c, from below."""
    start = stream(seed, "power iteration").standard_normal(c.shape)
    active = np.where(c >= threshold, c, 0.0)
    if active.any():  # the steep directions move the neurons that have escaped along what they have learned
        start = active / np.linalg.norm(active) + 0.01 * start / np.linalg.norm(start)
    return largest_eigenvalue(lambda v: objective.hessian_vector_product(c, v), start, SHARPNESS_PRODUCTS)


def turning_rate(objective: Objective, c: np.ndarray, gradient: np.ndarray) -> float:
    """Return |H g| / |g| for the gradient g at c, NaN where it is 0."""
    size = norm(gradient)
    if not size > 0.0:
        return float("nan")
    return norm(objective.hessian_vector_product(c, gradient / size))


def faithful_learning_rate(turning_rates: Iterable[float], error: float) -> float:
    """Return the step size up to which gradient descent follows the gradient flow to a relative error, as far as turning rates are known.

    A step of size eta goes, to first order in eta, where the flow of c' = -g - (eta / 2) H g goes in that time: it follows another field,
    whose relative distance from -g is (eta / 2) |H g| / |g|. This is where eta = O(1 / poly(k)) is needed.
    """
    rates = [float(rate) for rate in turning_rates if rate > 0.0]
    return 2.0 * error / max(rates) if rates else float("inf")


def largest_eigenvalue(
    hessian_vector_product: Callable[[np.ndarray], np.ndarray], start: np.ndarray, products: int = 30, tolerance: float = 1e-2
) -> float:
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
            break
        v = w / norm
        if abs(estimate - previous) <= tolerance * abs(estimate):
            break
    return estimate
