"""Linear systems by GMRES (Saad and Schultz, SIAM J. Sci. Stat. Comput. 7, 1986)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mvsim.numerics.norm import length

Operator = Callable[[np.ndarray], np.ndarray]


def gmres(product: Operator, r: np.ndarray, tolerance: float, most: int) -> tuple[np.ndarray, bool]:
    """Return x with |r - A x| <= tolerance in the 2-norm, starting from 0, and whether it was reached with ``most`` products.

    ``product`` is v (n,) -> A v (n,), r is (n,), the tolerance absolute, > 0. Where a product is not finite, x is NaN.
    """
    norm = length(r)
    if norm <= tolerance or not np.isfinite(norm):
        return np.zeros_like(r), norm <= tolerance
    basis, hessenberg, residual = [r / norm], np.zeros((most + 1, most)), norm
    for j in range(most):
        w = product(basis[j])
        size = length(w)
        if not np.isfinite(size):
            return np.full_like(r, np.nan), False
        for i, v in enumerate(basis):
            hessenberg[i, j] = v @ w
            w = w - hessenberg[i, j] * v
        if length(w) < 0.1 * size:  # cancellation has left w not orthogonal: once more is enough
            for i, v in enumerate(basis):
                again = v @ w
                hessenberg[i, j] += again
                w = w - again * v
        hessenberg[j + 1, j] = length(w)
        target = np.zeros(j + 2)
        target[0] = norm
        coordinates, *_ = np.linalg.lstsq(hessenberg[: j + 2, : j + 1], target, rcond=None)
        residual = float(np.linalg.norm(target - hessenberg[: j + 2, : j + 1] @ coordinates))
        if residual <= tolerance or not hessenberg[j + 1, j] > 0.0:
            break
        basis.append(w / hessenberg[j + 1, j])
    return coordinates @ np.stack(basis[: len(coordinates)]), residual <= tolerance
