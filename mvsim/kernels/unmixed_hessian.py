"""The Hessian of the mean cross-entropy over unmixed points by the correlations of the escaped neurons, as a whole.

Write J_i[e] for the gradient of g_{y_e}(x_i) by the correlations of neuron e (of class y_e), a (2k,) vector over the features, and phi for the
softmax at x_i. The Hessian of the loss (1/N) sum_i -log phi_{y_i}(g(x_i)) is

    (1/N) sum_i  phi_{y_e} (1[y_e = y_e'] - phi_{y_e'}) J_i[e] J_i[e']^T  +  1[e = e'] (phi_{y_e} - 1[y_i = y_e]) sum_p R''(a_{i,p,e}) x_i^(p) x_i^(p)^T,

a_{i,p,e} being what e reads in patch p. The second part is what holds a neuron still that reads noise of other classes: of the many patches of
noise all are equal, so it is a matrix of rank one for each noise pattern. Of that part only what is positive is kept: the rest is growth, which
steps resolve anyway. All other neurons are in the polynomial regime or dead; outputs
hardly depend on them, and they are left out.
"""

from __future__ import annotations

import numpy as np

from mvsim.activation import smoothed_relu_derivative, smoothed_relu_second_derivative
from mvsim.curvature import Curvature
from mvsim.diagnostics import own_correlations
from mvsim.kernels.pairing import Layout
from mvsim.parameters import Parameters

LARGEST = 1000
"""Most coordinates: the matrix is factorised as a whole."""


def unmixed_hessian(parameters: Parameters, layout: Layout, c: np.ndarray, beyond: float, softmax: np.ndarray) -> Curvature | None:
    """Return the Hessian, or None if it has more than `LARGEST` rows.

    Parameters
    ----------
    parameters : Parameters
        rho and alpha are used.
    layout : Layout
        The data.
    c : numpy.ndarray
        (k, m, k, 2).
    beyond : float
        An own correlation above this has escaped.
    softmax : numpy.ndarray
        (k, N), phi_y(g(x_i)) on the points of the layout.
    """
    k, m = c.shape[:2]
    owner, neuron = np.nonzero(own_correlations(c).max(axis=2) > beyond)
    if 2 * k * len(owner) > LARGEST:
        return None
    if not len(owner):
        return Curvature.of_border(np.zeros(0, np.int64), np.zeros((0, 0)), lifetime=1)
    N, rest = len(layout.labels), layout.P - layout.signal.shape[1]
    correlations = c.reshape(k, m, 2 * k)[owner, neuron]  # (E, 2k)
    read = layout.signal[:, :, None] * correlations.T[layout.feature]  # (N, S, E): in signal patches
    noise = layout.patterns @ correlations.T  # (G, E)
    slope = smoothed_relu_derivative(read, parameters.rho, parameters.alpha) * layout.signal[:, :, None]
    bend = smoothed_relu_second_derivative(read, parameters.rho, parameters.alpha) * layout.signal[:, :, None] ** 2
    noise_slope = rest * smoothed_relu_derivative(noise, parameters.rho, parameters.alpha)
    noise_bend = rest * smoothed_relu_second_derivative(noise, parameters.rho, parameters.alpha)

    J = noise_slope[layout.pattern][:, :, None] * layout.patterns[layout.pattern][:, None, :]  # (N, E, 2k)
    points, neurons = np.arange(N)[:, None, None], np.arange(len(owner))
    np.add.at(J, (points, neurons, layout.feature[:, :, None]), slope)
    phi = softmax[owner].T  # (N, E)
    weighted = (phi[:, :, None] * J).reshape(N, -1)
    H = (-weighted.T @ weighted / N).reshape(len(owner), 2 * k, len(owner), 2 * k)
    excess = (phi - (layout.labels[:, None] == owner)) / N  # (N, E)
    for y in np.unique(owner):
        same = np.flatnonzero(owner == y)
        of_class = J[:, same].reshape(N, -1)
        H[np.ix_(same, range(2 * k), same, range(2 * k))] += ((phi[:, same[0], None] * of_class).T @ of_class / N).reshape(len(same), 2 * k, len(same), -1)
    for e in range(len(owner)):
        weight = np.maximum(np.bincount(layout.pattern, weights=excess[:, e], minlength=len(layout.patterns)) * noise_bend[:, e], 0.0)
        H[e, :, e] += (weight[:, None] * layout.patterns).T @ layout.patterns
        diagonal = np.bincount(layout.feature.ravel(), weights=(excess[:, e, None] * bend[:, :, e]).ravel(), minlength=2 * k)
        H[e, range(2 * k), e, range(2 * k)] += np.maximum(diagonal, 0.0)
    index = np.ravel_multi_index((owner[:, None], neuron[:, None], *np.divmod(np.arange(2 * k), 2)), c.shape)
    return Curvature.of_border(index.ravel(), H.reshape(2 * k * len(owner), -1), lifetime=1)
