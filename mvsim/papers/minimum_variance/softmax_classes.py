"""More than two classes: softmax regression with a bias on atoms, with smoothed labels or Mixup, minimised exactly."""

from __future__ import annotations

import numpy as np

MOST_STEPS, SETTLED = 200, 1e-13


def class_weights(points: np.ndarray, classes: np.ndarray, smoothing: float, lambdas: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the minimiser of least norm, and the norm of the gradient there.

    Parameters
    ----------
    points, classes : numpy.ndarray
        (n, D) and (n,): atoms of equal weight and their classes, from 0 on.
    smoothing : float
        Mass of the uniform law in the labels.
    lambdas, shares : numpy.ndarray
        (K,): the law of lambda; a point mass at 1 is no Mixup.

    Returns
    -------
    weights : numpy.ndarray
        (k, D + 1), the bias last: scores of the classes are weights @ (x, 1).
    """
    k = int(classes.max()) + 1
    targets = (1.0 - smoothing) * np.eye(k)[classes] + smoothing / k
    a, t = (
        (lambdas[:, None, None, None] * rows[:, None] + (1.0 - lambdas)[:, None, None, None] * rows).reshape(-1, rows.shape[1])
        for rows in (np.hstack([points, np.ones((len(points), 1))]), targets)
    )
    c = np.repeat(shares, len(points) ** 2) / len(points) ** 2
    w = np.zeros((k, a.shape[1]))
    for _ in range(MOST_STEPS):
        e = np.exp(a @ w.T - (a @ w.T).max(axis=1, keepdims=True))
        g = e / e.sum(axis=1, keepdims=True)
        gradient = ((c[:, None] * (g - t)).T @ a).ravel()
        curvature = np.einsum("n,ni,ij->nij", c, g, np.eye(k)) - np.einsum("n,ni,nj->nij", c, g, g)
        hessian = np.einsum("nij,na,nb->iajb", curvature, a, a, optimize=True).reshape(w.size, w.size)
        step = -np.linalg.lstsq(hessian, gradient, rcond=1e-12)[0]
        r = 2.0 * np.abs(a @ step.reshape(w.shape).T).max()
        w += (step if r < 0.1 else np.log1p(r) / r * step).reshape(w.shape)  # as in `minimisers`: the loss falls
        if r <= SETTLED * max(1.0, np.abs(w).max()):
            break
    return w, float(np.linalg.norm(gradient))
