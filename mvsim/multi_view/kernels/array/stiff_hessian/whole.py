"""The Hessian of the mean cross-entropy over unmixed points by the correlations of the escaped neurons, as a whole.

As in `mvsim.multi_view.kernels.shared_noise.stiff_hessian.unmixed_hessian`, J_i[e] (F,) being the gradient of g_{y_e}(x_i) by the correlations of
neuron e,

    (1/N) sum_i  phi_{y_e} (1[y_e = y_e'] - phi_{y_e'}) J_i[e] J_i[e']^T
                 + 1[e = e'] (phi_{y_e} - 1[y_i = y_e]) sum_p R''(a_{i,p,e}) x_i^(p) x_i^(p)^T,

of whose second part only what is positive is kept. All patches of noise of a point are equal, and its signal has the features of its class, so that

    J_i[e][s, l] = (P - S) R'(n_e,h_i) x_h_i[s, l] + 1[y_i = s] sum_p beta_{i,l,p} R'(beta_{i,l,p} c[e, s, l]).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mvsim.multi_view.activations import Elementwise
from mvsim.multi_view.kernels import limits
from mvsim.multi_view.kernels.devices import Device
from mvsim.multi_view.kernels.shared_noise.layout import Layout
from mvsim.numerics.arrow_matrix import Curvature
from mvsim.numerics.namespaces import flat, integers_like, namespace_of


class Points:
    """The points of a layout on a device.

    Attributes
    ----------
    signal : array
        (N, V, p).
    labels, pattern : array
        (N,).
    patterns : array
        (G, F).
    of_class, of_pattern : array
        (k, N) and (G, N) doubles, 1 where a point has the class or the pattern, else 0.
    order : array
        (N,) original index of each point.
    rest : int
        Patches of noise of a point.
    """

    def __init__(self, device: Device, layout: Layout) -> None:
        self.device, (N, S) = device, layout.signal.shape
        self.signal = device.put(layout.signal.reshape(N, layout.features // layout.k, -1))
        self.labels, self.pattern, self.patterns, self.order = (
            device.put(each) for each in (layout.labels, layout.pattern, layout.patterns, layout.order)
        )
        self.of_class = device.put((layout.labels == np.arange(layout.k)[:, None]).astype(np.float64))
        self.of_pattern = device.put((layout.pattern == np.arange(len(layout.patterns))[:, None]).astype(np.float64))
        self.rest = layout.P - S


def whole_hessian(points: Points, activation: Elementwise, c: Any, which: Any, outputs: Any) -> Curvature | None:
    """Return the Hessian, or None if it has more than `limits.HESSIAN_ROWS` rows; arguments as for `stiff_hessian_of_points`."""
    xp, (k, m, F) = namespace_of(c), c.shape
    escaped = xp.nonzero(flat(which))[0]  # y m + r
    E, (N, views, _) = escaped.shape[0], points.signal.shape
    if E * F > limits.HESSIAN_ROWS:
        return None
    owner = escaped // m
    correlations = xp.take(xp.reshape(c, (k * m, F)), escaped, axis=0)  # (E, F)
    noise = xp.matmul(points.patterns, xp.matrix_transpose(correlations))  # (G, E)
    of_own_class = xp.take(xp.permute_dims(xp.reshape(correlations, (E, k, views)), (1, 0, 2)), points.labels, axis=0)  # (N, E, V)
    beta = points.signal[:, None, :, :]
    read = beta * of_own_class[:, :, :, None]  # (N, E, V, p): in signal patches
    slope, bend = (xp.sum(each, axis=3) for each in (activation.slope(read) * beta, activation.bend(read) * beta**2))

    on_noise = xp.take((points.rest * activation.slope(noise))[:, :, None] * points.patterns[:, None, :], points.pattern, axis=0)
    of_class = xp.matrix_transpose(points.of_class)  # (N, k)
    J = on_noise + xp.reshape(of_class[:, None, :, None] * slope[:, :, None, :], (N, E, F))
    softmax = _softmax(outputs)
    phi, others = (xp.matrix_transpose(each) for each in (xp.take(softmax, owner, axis=0), _probability_of_others(softmax, owner)))  # (N, E)
    J, weighted = xp.reshape(J, (N, E * F)), xp.reshape(phi[:, :, None] * J, (N, E * F))
    same = xp.astype(owner[:, None] == owner[None, :], xp.float64)
    by_others = xp.reshape((phi * others)[:, :, None] * xp.reshape(J, (N, E, F)), (N, E * F))
    within = xp.reshape(xp.matmul(xp.matrix_transpose(by_others), J), (E, F, E, F)) * same[:, None, :, None]
    between = xp.reshape(xp.matmul(xp.matrix_transpose(weighted), weighted), (E, F, E, F)) * (1.0 - same)[:, None, :, None]
    H = (within - between) / N

    excess = xp.where(xp.take(of_class, owner, axis=1) > 0.0, -others, phi) / N  # (N, E)
    by_pattern = xp.maximum(xp.matmul(points.of_pattern, excess) * points.rest * activation.bend(noise), 0.0)  # (G, E)
    of_noise = xp.matmul(xp.matrix_transpose(xp.permute_dims(by_pattern, (1, 0))[:, :, None] * points.patterns), points.patterns)  # (E, F, F)
    by_class = xp.matmul(points.of_class, xp.reshape(excess[:, :, None] * bend, (N, E * views)))  # (k, E V)
    of_signal = xp.reshape(xp.permute_dims(xp.reshape(by_class, (k, E, views)), (1, 0, 2)), (E, F))
    one = xp.eye(E, dtype=xp.float64, device=points.device.place)
    within = of_noise + xp.maximum(of_signal, 0.0)[:, :, None] * xp.eye(F, dtype=xp.float64, device=points.device.place)
    H = H + within[:, :, None, :] * one[:, None, :, None]
    index = F * escaped[:, None] + integers_like(F, escaped)
    return Curvature.of_border(flat(index), xp.reshape(H, (E * F, E * F)), limits.HESSIAN_LIFETIME)


def _probability_of_others(softmax: Any, owner: Any) -> Any:
    """Return (E, N): 1 - phi_y for the class of each neuron, as a sum; as a difference it is 1e-17 where it should be 1e-80."""
    xp = namespace_of(softmax)
    return xp.matmul(xp.astype(owner[:, None] != integers_like(softmax.shape[0], owner), xp.float64), softmax)


def _softmax(outputs: Any) -> Any:
    """Return (k, N): phi."""
    xp = namespace_of(outputs)
    weights = xp.exp(outputs - xp.max(outputs, axis=0))
    return weights / xp.sum(weights, axis=0)
