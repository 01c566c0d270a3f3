"""The stiff part of the Hessian of single points: whole if it is small enough, else by the own correlations alone.

By the own correlations of the escaped neurons of class y the Gauss-Newton Hessian of the mean cross-entropy is

    (1/N) sum_{i in class y} phi_y (1 - phi_y) A(i) A(i)^T,   A(i)[e, l] = sum_{p in P_{y,l}(x_i)} beta_{i,p} R'(beta_{i,p} c[e, y, l]),

with the softmax phi at x_i: classes are not coupled.

**As a whole.** Write J_i[e] for the gradient of g_{y_e}(x_i) by the correlations of neuron e (of class y_e), a (F,) vector over the features, and phi
for the softmax at x_i. The Hessian of the loss is

    (1/N) sum_i  phi_{y_e} (1[y_e = y_e'] - phi_{y_e'}) J_i[e] J_i[e']^T
                 + 1[e = e'] (phi_{y_e} - 1[y_i = y_e]) sum_p R''(a_{i,p,e}) x_i^(p) x_i^(p)^T,

a_{i,p,e} being what e reads in patch p. The second part is what holds a neuron still that reads noise of other classes: of the many patches of
noise all are equal, so it is a matrix of rank one for each noise pattern. Of that part only what is positive is kept: the rest is growth, which
steps resolve anyway. All other neurons are in the polynomial regime or dead; outputs hardly depend on them, and they are left out.
"""

from __future__ import annotations

import numpy as np

from mvsim.multi_view import piece_sizes
from mvsim.multi_view.activations import Activation
from mvsim.multi_view.diagnostics import softmax_gap
from mvsim.multi_view.kernels.limits import HESSIAN_LIFETIME
from mvsim.multi_view.kernels.shared_noise.escaped import Escaped
from mvsim.multi_view.kernels.shared_noise.layout import Layout
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


def unmixed_hessian(activation: Activation, layout: Layout, c: np.ndarray, escaped: np.ndarray, softmax: np.ndarray) -> Curvature | None:
    """Return the Hessian, or None if it has more than `HESSIAN_ROWS` rows."""
    F, R = c.shape[2], activation.elementwise()
    owner, neuron = np.nonzero(escaped)
    E, features = len(owner), np.arange(F)
    if E * F > piece_sizes.HESSIAN_ROWS:
        return None
    N, rest = len(layout.labels), layout.P - layout.signal.shape[1]
    correlations = c[owner, neuron]  # (E, F)
    read = layout.signal[:, :, None] * correlations.T[layout.feature]  # (N, S, E): in signal patches
    noise = layout.patterns @ correlations.T  # (G, E)
    slope = R.slope(read) * layout.signal[:, :, None]
    bend = R.bend(read) * layout.signal[:, :, None] ** 2

    J = (rest * R.slope(noise))[layout.pattern][:, :, None] * layout.patterns[layout.pattern][:, None, :]  # (N, E, F)
    np.add.at(J, (np.arange(N)[:, None, None], np.arange(E), layout.feature[:, :, None]), slope)
    phi, others = softmax[owner].T, _probability_of_others(softmax, owner).T  # (N, E)
    weighted = (phi[:, :, None] * J).reshape(N, -1)
    H = (-weighted.T @ weighted / N).reshape(E, F, E, F)
    for y in np.unique(owner):
        same = np.flatnonzero(owner == y)
        of_class, weight = J[:, same].reshape(N, -1), phi[:, same[0], None] * others[:, same[0], None]
        H[np.ix_(same, features, same, features)] = ((weight * of_class).T @ of_class / N).reshape(len(same), F, len(same), F)

    excess = np.where(layout.labels[:, None] == owner, -others, phi) / N  # (N, E)
    noise_bend = rest * R.bend(noise)
    for e in range(E):
        weight = np.bincount(layout.pattern, weights=excess[:, e], minlength=len(layout.patterns)) * noise_bend[:, e]
        H[e, :, e] += (np.maximum(weight, 0.0)[:, None] * layout.patterns).T @ layout.patterns
        diagonal = np.bincount(layout.feature.ravel(), weights=(excess[:, e, None] * bend[:, :, e]).ravel(), minlength=F)
        H[e, features, e, features] += np.maximum(diagonal, 0.0)
    index = np.arange(c.size).reshape(c.shape)[owner, neuron]
    return Curvature.of_border(index.ravel(), H.reshape(E * F, E * F), HESSIAN_LIFETIME)


def _probability_of_others(softmax: np.ndarray, owner: np.ndarray) -> np.ndarray:
    """Return (E, N): 1 - phi_y for the class of each neuron, as a sum.

    As a difference it is 1e-17 where it should be 1e-80. Such a curvature is far from 0 where steps are longer than 10^17: it would hide what is left
    of their equations.
    """
    return (np.arange(len(softmax)) != owner[:, None]).astype(np.float64) @ softmax
