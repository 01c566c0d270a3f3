"""The stiff part of the Hessian of single points: whole (`whole`) if it is small enough, else by the own correlations alone.

By the own correlations of the escaped neurons of class y it is, as in `mvsim.multi_view.kernels.shared_noise.stiff_hessian.of_points`,

    (1/N) sum_{i in class y} phi_y (1 - phi_y) A(i) A(i)^T,   A(i)[e, l] = sum_p beta_{i,l,p} R'(beta_{i,l,p} c[e, y, l]).
"""

from __future__ import annotations

from typing import Any

from mvsim.multi_view.diagnostics import softmax_gap
from mvsim.multi_view.kernels.array.stiff_hessian.escaped import Escaped
from mvsim.multi_view.kernels.array.stiff_hessian.whole import Points, whole_hessian
from mvsim.numerics.arrow_matrix import Curvature
from mvsim.numerics.namespaces import flat, namespace_of


def stiff_hessian_of_points(points: Points, c: Any, which: Any, escaped: Escaped, outputs: Any) -> Curvature:
    """Return the stiff part of the Hessian of the mean cross-entropy of single points."""
    whole = whole_hessian(points, escaped.activation, c, which, outputs)
    return _own_part(points, escaped, outputs) if whole is None else whole


def _own_part(points: Points, escaped: Escaped, outputs: Any) -> Curvature:
    """Return the Hessian by the own correlations."""
    xp, (k, size), (N, views, _) = namespace_of(outputs), escaped.own_index.shape, points.signal.shape
    if not size:
        return Curvature.nothing(outputs)
    gap = softmax_gap(outputs, points.labels)
    by_class = xp.reshape(escaped.c, (k, escaped.places, k, views))
    own = xp.stack([by_class[y, :, y, :] for y in range(k)])  # (k, E, V)
    read = xp.take(own, points.labels, axis=0)[:, :, :, None] * points.signal[:, None, :, :]  # (N, E, V, p)
    rates = xp.sum(escaped.activation.slope(read) * points.signal[:, None, :, :], axis=3) * xp.take(escaped.real, points.labels, axis=0)[:, :, None]
    rates = xp.reshape(rates, (N, size))
    weighted = points.of_class[:, :, None] * (gap * (1.0 - gap) / N)[:, None] * rates  # (k, N, E V)
    within = xp.matmul(xp.matrix_transpose(weighted), rates)
    identity = xp.eye(k, dtype=xp.float64, device=points.device.place)
    border = within[:, :, None, :] * identity[:, None, :, None]
    return Curvature.of_border(flat(escaped.own_index), xp.reshape(border, (k * size, k * size)))
