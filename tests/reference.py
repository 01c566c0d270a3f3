"""The slow, obvious oracle: every definition written as loops over points, neurons and patches in full R^{P x d}.

Nothing here knows of correlation coordinates, codebooks or kernels. A point is an array ``x`` of shape (P, d), the weights are an array
``weights`` of shape (k, m, d), ``features`` has shape (k, V, d). Formulas and their numbers are those of the Midpoint Mixup paper
(Definitions 4.1, 4.2 and 4.5, Equations 2.1 to 2.3, Calculations A.6, A.9 and A.10).

Every function up to the gradients also takes complex weights: the branch of the activation is chosen on the real part, so
``imag(f(w + i h u)) / h`` with a tiny h is the directional derivative of f along u without any subtraction.

A new objective gets its two definitions here and one line in ``REFERENCES``; the tests find it by its name.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

COMPLEX_STEP = 1e-30


def smoothed_relu(z, rho, alpha):
    """R(z) of Section 4.1 by its three cases."""
    if z.real <= 0:
        return 0 * z
    if z.real <= rho:
        return z**alpha / (alpha * rho ** (alpha - 1))
    return z - (1 - 1 / alpha) * rho


def smoothed_relu_derivative(z, rho, alpha):
    """R'(z), each of the three cases differentiated."""
    if z.real <= 0:
        return 0 * z
    if z.real <= rho:
        return z ** (alpha - 1) / rho ** (alpha - 1)
    return 1 + 0 * z


def outputs(weights, x, rho, alpha):
    """g_y(x) for every class y (Definition 4.2)."""
    k, m, _ = weights.shape
    g = np.zeros(k, dtype=weights.dtype)
    for y in range(k):
        for r in range(m):
            for patch in x:
                g[y] += smoothed_relu(np.dot(weights[y, r], patch), rho, alpha)
    return g


def output_gradient(weights, x, y, r, rho, alpha):
    """Gradient of g_y(x) with respect to w_{y,r} (Calculation A.6)."""
    total = np.zeros(weights.shape[2], dtype=weights.dtype)
    for patch in x:
        total = total + smoothed_relu_derivative(np.dot(weights[y, r], patch), rho, alpha) * patch
    return total


def log_softmax(g):
    """log phi_y(g) for every class y.

    The largest output is taken out first, so that no exponential overflows; its own exponential is then 1, and log(1 + the others) keeps
    the digits of a loss of 1e-300.
    """
    top = max(range(len(g)), key=lambda s: g[s].real)
    shifted = g - g[top]
    others = 0.0
    for s in range(len(g)):
        if s != top:
            others = others + np.exp(shifted[s])
    return shifted - np.log1p(others)


def softmax(g):
    """phi_y(g) for every class y (Equation 2.1)."""
    return np.exp(log_softmax(g))


def residual(label, phi, y):
    """1[label = y] - phi_y; for the label itself 1 - phi_y is the sum of the others, so that a gap of 1e-300 keeps its digits."""
    if label != y:
        return -phi[y]
    return sum(phi[s] for s in range(len(phi)) if s != y)


def mixed_point(x_i, x_j, lam):
    """z_{i,j} = lam x_i + (1 - lam) x_j, patch by patch."""
    return lam * x_i + (1 - lam) * x_j


def erm_loss(weights, points, labels, rho, alpha):
    """J(g) of Equation 2.1."""
    N = len(points)
    total = 0
    for x, label in zip(points, labels, strict=True):
        total = total + log_softmax(outputs(weights, x, rho, alpha))[label]
    return -total / N


def erm_gradient(weights, points, labels, rho, alpha):
    """Gradient of J (Calculation A.9), shape (k, m, d)."""
    k, m, _ = weights.shape
    N = len(points)
    gradient = np.zeros_like(weights)
    for x, label in zip(points, labels, strict=True):
        phi = softmax(outputs(weights, x, rho, alpha))
        for y in range(k):
            for r in range(m):
                gradient[y, r] -= residual(label, phi, y) * output_gradient(weights, x, y, r, rho, alpha) / N
    return gradient


def midpoint_loss(weights, points, labels, rho, alpha):
    """J_MM(g): all N^2 ordered pairs, a point with itself included."""
    N = len(points)
    total = 0
    for i in range(N):
        for j in range(N):
            log_phi = log_softmax(outputs(weights, mixed_point(points[i], points[j], 0.5), rho, alpha))
            total = total + log_phi[labels[i]] + log_phi[labels[j]]
    return -total / (2 * N**2)


def midpoint_gradient(weights, points, labels, rho, alpha):
    """Gradient of J_MM (Calculation A.10), shape (k, m, d)."""
    k, m, _ = weights.shape
    N = len(points)
    gradient = np.zeros_like(weights)
    for i in range(N):
        for j in range(N):
            z = mixed_point(points[i], points[j], 0.5)
            phi = softmax(outputs(weights, z, rho, alpha))
            for y in range(k):
                both = residual(labels[i], phi, y) + residual(labels[j], phi, y)
                for r in range(m):
                    gradient[y, r] -= both * output_gradient(weights, z, y, r, rho, alpha) / (2 * N**2)
    return gradient


def listed_loss(weights, points, labels, rho, alpha, mixtures):
    """Mean of -lam log phi_{y_i}(g(z)) - (1 - lam) log phi_{y_j}(g(z)) over given mixtures (i, j, lam)."""
    total = 0
    for i, j, lam in mixtures:
        log_phi = log_softmax(outputs(weights, mixed_point(points[i], points[j], lam), rho, alpha))
        total = total + lam * log_phi[labels[i]] + (1 - lam) * log_phi[labels[j]]
    return -total / len(mixtures)


def listed_gradient(weights, points, labels, rho, alpha, mixtures):
    """Gradient of ``listed_loss``: Calculation A.9 applied to both terms of every mixture, shape (k, m, d)."""
    k, m, _ = weights.shape
    gradient = np.zeros_like(weights)
    for i, j, lam in mixtures:
        z = mixed_point(points[i], points[j], lam)
        phi = softmax(outputs(weights, z, rho, alpha))
        for y in range(k):
            both = lam * residual(labels[i], phi, y) + (1 - lam) * residual(labels[j], phi, y)
            for r in range(m):
                gradient[y, r] -= both * output_gradient(weights, z, y, r, rho, alpha) / len(mixtures)
    return gradient


def all_pairs(N, lam):
    """All N^2 ordered pairs, a point with itself included, at one lam."""
    return [(i, j, lam) for i in range(N) for j in range(N)]


def mixup_loss(weights, points, labels, rho, alpha, lam):
    """J_M(g) of Equation 2.2 for a law of lambda that is the point mass at ``lam``."""
    return listed_loss(weights, points, labels, rho, alpha, all_pairs(len(points), lam))


def mixup_gradient(weights, points, labels, rho, alpha, lam):
    """Gradient of ``mixup_loss``, shape (k, m, d)."""
    return listed_gradient(weights, points, labels, rho, alpha, all_pairs(len(points), lam))


THREE_NODES = [(0.5 - 0.15**0.5, 5 / 18), (0.5, 8 / 18), (0.5 + 0.15**0.5, 5 / 18)]
"""Nodes and weights on [0, 1] of the quadrature of Gauss and Legendre with three nodes, exact for powers up to 5."""


def uniform_mixup_loss(*arguments):
    """J_M(g) of Equation 2.2 for lambda uniform on [0, 1], the expectation by quadrature."""
    return sum(weight * mixup_loss(*arguments, lam) for lam, weight in THREE_NODES)


def uniform_mixup_gradient(*arguments):
    """Gradient of ``uniform_mixup_loss``, shape (k, m, d)."""
    return sum(weight * mixup_gradient(*arguments, lam) for lam, weight in THREE_NODES)


def hessian_vector_product(gradient, weights, direction, *arguments):
    """Complex-step derivative of ``gradient(weights, *arguments)`` along ``direction`` (both of shape (k, m, d))."""
    return np.imag(gradient(weights + 1j * COMPLEX_STEP * direction, *arguments)) / COMPLEX_STEP


class Reference(NamedTuple):
    """The definition of an objective, whether on copies of one point it must equal ERM (true of every law of lambda), its options."""

    loss: Callable
    gradient: Callable
    equals_erm_on_copies: bool
    options: dict


REFERENCES = {
    "erm": Reference(erm_loss, erm_gradient, True, {}),
    "midpoint": Reference(midpoint_loss, midpoint_gradient, True, {}),
    "mixup": Reference(uniform_mixup_loss, uniform_mixup_gradient, True, {"nodes": 3}),
}


def reference(name):
    """The reference of the objective ``name``."""
    if name not in REFERENCES:
        raise LookupError(f"objective {name!r} has no reference: add its loss and gradient as loops to REFERENCES in {__file__}")
    return REFERENCES[name]


# ---- diagnostics --------------------------------------------------------------------------------------------------------------------


def correlations(weights, features):
    """c[y, r, s, l] = <w_{y,r}, v_{s,l}>; also projects a gradient on the features."""
    k, m, _ = weights.shape
    c = np.zeros((k, m, len(features), len(features[0])))
    for y in range(k):
        for r in range(m):
            for s in range(len(features)):
                for view in range(len(features[s])):
                    c[y, r, s, view] = np.dot(weights[y, r], features[s, view])
    return c


def orthogonal_part(weights, features):
    """The part of every weight vector (or gradient) that is orthogonal to all features, shape (k, m, d)."""
    rest = weights.copy()
    for y in range(weights.shape[0]):
        for r in range(weights.shape[1]):
            for s in range(len(features)):
                for view in range(len(features[s])):
                    rest[y, r] -= np.dot(weights[y, r], features[s, view]) * features[s, view]
    return rest


def with_view_alone(x, y, kept, features):
    """x' of Definition 4.5: x with every instance of v_{y,l}, l other than ``kept``, replaced by the zero vector."""
    for view, v in enumerate(features[y]):
        if view != kept:
            x = np.array([patch - np.dot(patch, v) * v for patch in x])
    return x


def feature_is_learned(weights, x, y, view, features, rho, alpha):
    """Definition 4.5 on one point: class y alone has the largest output once the other views are gone; a tie is not a win."""
    g = outputs(weights, with_view_alone(x, y, view, features), rho, alpha)
    return all(g[y] > g[s] for s in range(len(g)) if s != y)


def max_correlation(c, y, view):
    """Lambda_{y,l} = max_r <w_{y,r}, v_{y,l}>."""
    return max(c[y, r, y, view] for r in range(c.shape[1]))


def signal_strength(patches, labels, y, view, alpha):
    """S_{y,l} = (1/N) sum over points of class y and patches p in P_{y,l} of beta_{i,p}^alpha, from coefficients (N, P, k, V)."""
    total = 0.0
    for x, label in zip(patches, labels, strict=True):
        if label == y:
            for patch in x:
                if patch[y, view] > 0:
                    total += patch[y, view] ** alpha
    return total / len(labels)


def active_neurons(c, y, view, threshold):
    """B_{y,l}: the neurons r with <w_{y,r}, v_{y,l}> >= threshold."""
    return {r for r in range(c.shape[1]) if c[y, r, y, view] >= threshold}


def total_correlation(c, y, view, threshold):
    """C_{y,l} = sum over B_{y,l} of <w_{y,r}, v_{y,l}>."""
    return sum(c[y, r, y, view] for r in active_neurons(c, y, view, threshold))


# ---- from feature coordinates to R^d ------------------------------------------------------------------------------------------------


def orthonormal_features(k, d, rng, views=2):
    """Orthonormal vectors in R^d by Gram-Schmidt, every projection taken out twice to stay orthogonal to rounding; (k, views, d)."""
    basis = []
    for _ in range(views * k):
        v = rng.standard_normal(d)
        for _ in range(2):
            for u in basis:
                v = v - np.dot(v, u) * u
        basis.append(v / np.sqrt(np.dot(v, v)))
    return np.array(basis).reshape(k, views, d)


def embed(c, features, rng):
    """Weights in R^d with correlations ``c`` and a random part of about the size of the initial weights orthogonal to all features."""
    k, m = c.shape[:2]
    d = features.shape[2]
    weights = rng.standard_normal((k, m, d)) / np.sqrt(d)
    weights = orthogonal_part(orthogonal_part(weights, features), features)
    for y in range(k):
        for r in range(m):
            for s in range(k):
                for view in range(len(features[s])):
                    weights[y, r] += c[y, r, s, view] * features[s, view]
    return weights


def embed_patches(patches, features):
    """Points (N, P, d) whose patches have the feature coefficients ``patches`` (N, P, k, V)."""
    N, P, k, _ = patches.shape
    points = np.zeros((N, P, features.shape[2]))
    for i in range(N):
        for p in range(P):
            for s in range(k):
                for view in range(len(features[s])):
                    points[i, p] += patches[i, p, s, view] * features[s, view]
    return points
