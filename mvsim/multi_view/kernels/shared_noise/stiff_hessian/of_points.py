"""The stiff part of the Hessian of single points: whole (`unmixed_hessian`) if it is small enough, else by the own correlations alone.

By the own correlations of the escaped neurons of class y the Gauss-Newton Hessian of the mean cross-entropy is

    (1/N) sum_{i in class y} phi_y (1 - phi_y) A(i) A(i)^T,   A(i)[e, l] = sum_{p in P_{y,l}(x_i)} beta_{i,p} R'(beta_{i,p} c[e, y, l]),

with the softmax phi at x_i: classes are not coupled.
"""

from __future__ import annotations

import numpy as np

from mvsim.multi_view.activations import Activation
from mvsim.multi_view.diagnostics import softmax_gap
from mvsim.multi_view.kernels.shared_noise.layout import Layout
from mvsim.multi_view.kernels.shared_noise.stiff_hessian.escaped import Escaped
from mvsim.multi_view.kernels.shared_noise.stiff_hessian.unmixed_hessian import unmixed_hessian
from mvsim.numerics.arrow_matrix import Curvature


def stiff_hessian_of_points(activation: Activation, layout: Layout, outputs: np.ndarray, c: np.ndarray, escaped: np.ndarray) -> Curvature:
    """Return the stiff part of the Hessian of single points at c (k, m, F), where their outputs are (k, N); ``escaped`` (k, m) are the neurons."""
    softmax = np.exp(outputs - outputs.max(axis=0))
    whole = unmixed_hessian(activation, layout, c, escaped, softmax / softmax.sum(axis=0))
    if whole is not None:
        return whole
    return _own_part(Escaped(activation, layout, c, escaped), softmax_gap(outputs, layout.labels))


def _own_part(escaped: Escaped, gap: np.ndarray) -> Curvature:
    """Return the Hessian by the own correlations; ``gap`` (N,) is 1 - phi of each point's class."""
    rates = escaped.own_rates().reshape(len(gap), -1)
    weight = gap * (1.0 - gap) / len(gap)
    k, size = escaped.own_index.shape
    border = np.zeros((k, size, k, size))
    for y in range(k):
        members = escaped.order[escaped.start[y] : escaped.start[y + 1]]
        border[y, :, y] = (rates[members] * weight[members, None]).T @ rates[members]
    return Curvature.of_border(escaped.own_index.ravel(), border.reshape(k * size, k * size))
