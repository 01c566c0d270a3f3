"""Linear systems by GMRES (Saad and Schultz, SIAM J. Sci. Stat. Comput. 7, 1986)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mvsim.numerics.namespaces import namespace_of
from mvsim.numerics.vectors import dot, length, like

Operator = Callable[[Any], Any]


def gmres(product: Operator, r: Any, tolerance: float, most: int) -> tuple[Any, bool]:
    """Return x with |r - A x| <= tolerance in the 2-norm, starting from 0, and whether it was reached with ``most`` products.

    Where a product is not finite, x is NaN. The basis is where r is; the numbers of the small problem are on the host.

    Parameters
    ----------
    product : callable
        v (n,) -> A v (n,).
    r : array
        (n,) right-hand side.
    tolerance : float
        Absolute, > 0.
    most : int
        Most products.
    """
    xp, norm = namespace_of(r), length(r)
    if norm <= tolerance or not np.isfinite(norm):
        return xp.zeros_like(r), norm <= tolerance
    basis, hessenberg, residual = [r / norm], np.zeros((most + 1, most)), norm
    for j in range(most):
        w = product(basis[j])
        size = length(w)
        if not np.isfinite(size):
            return xp.full_like(r, np.nan), False
        for i, v in enumerate(basis):
            hessenberg[i, j] = dot(v, w)
            w = w - float(hessenberg[i, j]) * v
        if length(w) < 0.1 * size:  # cancellation has left w not orthogonal: once more is enough
            for i, v in enumerate(basis):
                again = dot(v, w)
                hessenberg[i, j] += again
                w = w - again * v
        hessenberg[j + 1, j] = length(w)
        target = np.zeros(j + 2)
        target[0] = norm
        coordinates, *_ = np.linalg.lstsq(hessenberg[: j + 2, : j + 1], target, rcond=None)
        residual = float(np.linalg.norm(target - hessenberg[: j + 2, : j + 1] @ coordinates))
        if residual <= tolerance or not hessenberg[j + 1, j] > 0.0:
            break
        basis.append(w / float(hessenberg[j + 1, j]))
    return xp.matmul(like(coordinates, r), xp.stack(basis[: len(coordinates)])), residual <= tolerance
