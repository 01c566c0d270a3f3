"""A second, independent way to minimise: atoms in a list, loops over points and pairs, a general optimiser, then bisection-free root finding."""

import math

import numpy as np
from scipy.optimize import minimize, root


def sp(s):
    return max(s, 0.0) + math.log1p(math.exp(-abs(s)))


def listed(distribution):
    """(x, y, probability) of every atom."""
    out = []
    for y, share in ((1, distribution.prior), (-1, 1.0 - distribution.prior)):
        low, high = distribution.L[y], distribution.H[y]
        for a, p in zip(low.points, low.weights, strict=True):
            for b, q in zip(high.points, high.weights, strict=True):
                out.append((np.concatenate([a, b]), y, share * p * q))
    return out


def terms(distribution, smoothing, lambdas, bias):
    """(point, soft label, weight) of every term of the loss; ``lambdas`` is a list of (lambda, probability), or None."""
    atoms = [(np.append(x, 1.0) if bias else x, 1.0 - smoothing if y > 0 else smoothing, p) for x, y, p in listed(distribution)]
    if lambdas is None:
        return atoms
    out = []
    for x, t, p in atoms:
        for x2, t2, p2 in atoms:
            for lam, share in lambdas:
                out.append((lam * x + (1 - lam) * x2, lam * t + (1 - lam) * t2, p * p2 * share))
    return out


def slow_minimiser(distribution, decay=0.0, smoothing=0.0, lambdas=None, bias=False):
    """w (with the bias last) and the loss."""
    all_terms = terms(distribution, smoothing, lambdas, bias)
    size = len(all_terms[0][0])
    penalised = np.ones(size)
    if bias:
        penalised[-1] = 0.0

    def loss(w):
        total = 0.5 * decay * float(penalised @ w**2)
        for a, t, c in all_terms:
            s = float(a @ w)
            total += c * (t * sp(-s) + (1.0 - t) * sp(s))
        return total

    def gradient(w):
        total = decay * penalised * w
        for a, t, c in all_terms:
            s = float(a @ w)
            total = total + c * (1.0 / (1.0 + math.exp(-s)) - t) * a
        return total

    start = minimize(loss, np.zeros(size), jac=gradient, method="BFGS", options={"gtol": 1e-7}).x
    w = root(gradient, start, tol=1e-14).x
    return w, loss(w)
