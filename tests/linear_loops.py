"""Section 3 written as loops, slow and obvious: linear models on the data of Definition 3.1. Nothing here knows kernels or matrix products.

``x`` is a list of N points, each a (k, 2) array of coefficients in one patch; ``c`` is a (k, k, 2) array, c[y, s, l] = <w_y, v_{s,l}>.
"""

import math

import numpy as np


def outputs(c, z):
    """g_y(z) = sum_{s,l} c[y, s, l] z[s, l] for every class y."""
    k = len(c)
    return [sum(c[y][s][view] * z[s][view] for s in range(k) for view in range(2)) for y in range(k)]


def log_softmax(g):
    """log phi_y(g) for every class y."""
    top = max(g)
    total = math.log(sum(math.exp(value - top) for value in g))
    return [value - top - total for value in g]


def mixup_loss(c, x, labels, lam):
    """J_M at one lambda: the mean over all N^2 ordered pairs; 1/2 is Midpoint Mixup, 1 is ERM."""
    N, total = len(x), 0.0
    for i in range(N):
        for j in range(N):
            z = lam * x[i] + (1.0 - lam) * x[j]
            log_phi = log_softmax(outputs(c, z))
            total -= lam * log_phi[labels[i]] + (1.0 - lam) * log_phi[labels[j]]
    return total / N**2


def mixup_gradient(c, x, labels, lam):
    """Gradient of `mixup_loss` by c (Calculation A.10 with weights lam and 1 - lam)."""
    N, k = len(x), len(c)
    gradient = np.zeros_like(c)
    for i in range(N):
        for j in range(N):
            z = lam * x[i] + (1.0 - lam) * x[j]
            log_phi = log_softmax(outputs(c, z))
            for y in range(k):
                gradient[y] -= (lam * (labels[i] == y) + (1.0 - lam) * (labels[j] == y) - math.exp(log_phi[y])) * z
    return gradient / N**2
