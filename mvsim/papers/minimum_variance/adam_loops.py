"""Training of a logistic regression by the paper's protocol, compiled: Adam on mini-batches, many runs side by side."""

# ruff: noqa: NPY002 - in compiled code each thread has a generator of its own, which np.random.seed seeds for the run at hand

from __future__ import annotations

import math

import numpy as np
from numba import njit, prange

FIRST_DECAY, SECOND_DECAY, TINY = 0.9, 0.999, 1e-8
"""The standard constants of Adam: decay of the mean gradient and of the mean square, and what is added to its root."""


@njit(parallel=True)
def adam_runs(points, targets, data_set, start, penalty, smoothing, alpha, rates, batch, records, seeds):  # type: ignore[no-untyped-def]
    """Train R runs and return the weights at some steps, (R, len(records), d).

    Parameters
    ----------
    points, targets : numpy.ndarray
        (S, N, d) and (S, N): S data sets; targets are 0 and 1.
    data_set, smoothing, alpha, rates, seeds : numpy.ndarray
        (R,) each: the data set, the mass of a flipped label, alpha of lambda ~ Beta(alpha, alpha) (0: no Mixup), the learning rate, and a seed for
        the order of the points and for lambda.
    start, penalty : numpy.ndarray
        (R, d): the first weights, and the decay of each weight.
    batch : int
        Points of a step. Under Mixup one lambda and one random matching serve all points of a step, as in the code of its authors.
    records : numpy.ndarray
        Steps after which the weights are kept, ascending.
    """
    runs, d = start.shape
    n = points.shape[1]
    kept = np.empty((runs, len(records), d))
    for run in prange(runs):
        np.random.seed(seeds[run])
        x, y = points[data_set[run]], targets[data_set[run]]
        w, mean, square = start[run].copy(), np.zeros(d), np.zeros(d)
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
            lam = np.random.beta(alpha[run], alpha[run]) if alpha[run] > 0.0 else 1.0
            partner = np.random.permutation(batch) if alpha[run] > 0.0 else np.arange(batch)
            for i in range(batch):
                other = partner[i]
                score = lam * scores[i] + (1.0 - lam) * scores[other]
                target = lam * y[mine[i]] + (1.0 - lam) * y[mine[other]]
                target = smoothing[run] + (1.0 - 2.0 * smoothing[run]) * target
                slope = (1.0 / (1.0 + math.exp(-score)) - target) / batch
                slopes[i] += lam * slope
                slopes[other] += (1.0 - lam) * slope
            gradient = penalty[run] * w
            for i in range(batch):
                for j in range(d):
                    gradient[j] += slopes[i] * x[mine[i], j]
            for j in range(d):
                mean[j] = FIRST_DECAY * mean[j] + (1.0 - FIRST_DECAY) * gradient[j]
                square[j] = SECOND_DECAY * square[j] + (1.0 - SECOND_DECAY) * gradient[j] ** 2
                unbiased = math.sqrt(square[j] / (1.0 - SECOND_DECAY**step))
                w[j] -= rates[run] * mean[j] / (1.0 - FIRST_DECAY**step) / (unbiased + TINY)
            if step == records[record]:
                kept[run, record] = w
                record += 1
    return kept
