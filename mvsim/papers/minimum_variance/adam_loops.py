"""Training of a logistic regression by the paper's protocol, compiled: Adam on mini-batches. Threads may do several runs at a time."""

# ruff: noqa: NPY002 - compiled, each thread has a generator of its own, which np.random.seed seeds

from __future__ import annotations

import math

import numpy as np
from numba import njit

FIRST_DECAY, SECOND_DECAY, TINY = 0.9, 0.999, 1e-8
"""The standard constants of Adam: decay of the mean gradient and of the mean square, and what is added to its root."""


@njit(nogil=True)
def adam(x, y, w, penalty, smoothing, alpha, rate, batch, records, seed):  # type: ignore[no-untyped-def]
    """Train one run on points x (N, d) with targets y (N,) from 0 to 1, and return the weights at some steps, (len(records), d).

    w (d,) are the first weights, ``penalty`` (d,) the decay of each, ``smoothing`` the mass of a flipped label, lambda ~ Beta(alpha, alpha), 0 for no
    Mixup. One lambda and one random matching serve all ``batch`` points of a step, as in the code of the authors of Mixup.
    """
    np.random.seed(seed)
    n, d = x.shape
    kept = np.empty((len(records), d))
    w, mean, square = w.copy(), np.zeros(d), np.zeros(d)
    order, at, record = np.random.permutation(n), 0, 0
    scores, slopes = np.empty(batch), np.empty(batch)
    for step in range(1, records[-1] + 1):
        if at + batch > n:
            order, at = np.random.permutation(n), 0
        mine = order[at : at + batch]
        at += batch
        for i in range(batch):
            score = 0.0
            for j in range(d):
                score += x[mine[i], j] * w[j]
            scores[i] = score
            slopes[i] = 0.0
        lam = np.random.beta(alpha, alpha) if alpha > 0.0 else 1.0
        partner = np.random.permutation(batch) if alpha > 0.0 else np.arange(batch)
        for i in range(batch):
            other = partner[i]
            score = lam * scores[i] + (1.0 - lam) * scores[other]
            target = lam * y[mine[i]] + (1.0 - lam) * y[mine[other]]
            target = smoothing + (1.0 - 2.0 * smoothing) * target
            slope = (1.0 / (1.0 + math.exp(-score)) - target) / batch
            slopes[i] += lam * slope
            slopes[other] += (1.0 - lam) * slope
        gradient = penalty * w
        for i in range(batch):
            for j in range(d):
                gradient[j] += slopes[i] * x[mine[i], j]
        for j in range(d):
            mean[j] = FIRST_DECAY * mean[j] + (1.0 - FIRST_DECAY) * gradient[j]
            square[j] = SECOND_DECAY * square[j] + (1.0 - SECOND_DECAY) * gradient[j] ** 2
            root = math.sqrt(square[j] / (1.0 - SECOND_DECAY**step))
            w[j] -= rate * mean[j] / (1.0 - FIRST_DECAY**step) / (root + TINY)
        if step == records[record]:
            kept[record] = w
            record += 1
    return kept
