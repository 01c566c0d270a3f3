"""The three losses of the paper at once, for points with weights: cross-entropy with soft labels, on the points or on mixed pairs, plus weight decay.

A point a with soft label t (the mass of class +1) and weight c adds c [t sp(-s) + (1 - t) sp(s)], where s = <a, w>, sp(s) = log(1 + e^s).
Its derivatives by s are c [(1 - t) sg(s) - t sg(-s)] and c sg(s) sg(-s), sg(s) = 1 / (1 + e^-s); in this form nothing cancels for t = 0, 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

FITS = 50_000_000
"""Mixed points that are held in memory at once (400 MB an array)."""


@dataclass(frozen=True)
class CrossEntropy:
    """The loss as a function of w."""

    points: np.ndarray  # (n, D)
    targets: np.ndarray  # (n,) the mass of class +1 in the label
    weights: np.ndarray  # (n,), adding up to 1
    penalty: np.ndarray  # (D,): the loss has the term sum_j penalty_j w_j^2 / 2

    def value(self, w: np.ndarray) -> float:
        """Return the loss, weight decay included."""
        return float(self.weights @ _loss(self.points @ w, self.targets) + w @ (self.penalty * w) / 2.0)

    def derivatives(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the gradient (D,) and the Hessian (D, D)."""
        slope, curvature = _derivatives(self.points @ w, self.targets)
        hessian = (self.points.T * (self.weights * curvature)) @ self.points
        return self.points.T @ (self.weights * slope) + self.penalty * w, hessian + np.diag(self.penalty)


@dataclass(frozen=True)
class MixupCrossEntropy(CrossEntropy):
    """The same on lambda a_i + (1 - lambda) a_j with label lambda t_i + (1 - lambda) t_j, over all ordered pairs, i = j included.

    (i, j) at lambda and (j, i) at 1 - lambda are the same point: only the symmetrised law of lambda matters. Scores are mixed instead of points, so
    a pair costs the same in any dimension.
    """

    lambdas: np.ndarray  # (K,)
    shares: np.ndarray  # (K,) their probabilities

    def value(self, w: np.ndarray) -> float:
        scores = self.points @ w
        mixed = np.abs(self._mixed(scores))
        softplus = np.tensordot(self.shares, np.log1p(np.exp(-mixed)) + mixed / 2.0, axes=1)  # of s, less s / 2
        first, second = (self.shares @ weight for weight in (self.lambdas, 1.0 - self.lambdas))
        own, both = (self.shares @ weight for weight in (self.lambdas**2 + (1.0 - self.lambdas) ** 2, 2.0 * self.lambdas * (1.0 - self.lambdas)))
        mean_score, mean_target = self.weights @ scores, self.weights @ self.targets
        linear = (first + second) * mean_score / 2.0 - own * (self.weights @ (self.targets * scores)) - both * mean_target * mean_score
        return float(self.weights @ softplus @ self.weights + linear + w @ (self.penalty * w) / 2.0)

    def derivatives(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        signed = np.tanh(self._mixed(self.points @ w / 2.0))  # sg(s) = (1 + signed) / 2, sg(s) sg(-s) = (1 - signed^2) / 4
        first, second = self.lambdas, 1.0 - self.lambdas
        moments = self.shares * np.stack([first, second])
        slopes = (moments.sum(axis=1)[:, None, None] + np.tensordot(moments, signed, axes=1)) / 2.0
        slopes -= (moments @ first)[:, None, None] * self.targets[:, None] + (moments @ second)[:, None, None] * self.targets
        moments = self.shares * np.stack([first * first, first * second, second * second])
        np.square(signed, out=signed)
        curvatures = (moments.sum(axis=1)[:, None, None] - np.tensordot(moments, signed, axes=1)) / 4.0
        pairs = np.outer(self.weights, self.weights)
        by_score = (pairs * slopes[0]).sum(axis=1) + (pairs * slopes[1]).sum(axis=0)
        own = (pairs * curvatures[0]).sum(axis=1) + (pairs * curvatures[2]).sum(axis=0)
        both = pairs * curvatures[1]
        hessian = (self.points.T * own) @ self.points + self.points.T @ (both + both.T) @ self.points
        return self.points.T @ by_score + self.penalty * w, hessian + np.diag(self.penalty)

    def _mixed(self, values: np.ndarray) -> np.ndarray:
        """Return lambda_k values_i + (1 - lambda_k) values_j, (K, n, n)."""
        lam = self.lambdas[:, None, None]
        return lam * values[:, None] + (1.0 - lam) * values


def _loss(scores: np.ndarray, targets: np.ndarray) -> np.ndarray:
    return targets * np.logaddexp(0.0, -scores) + (1.0 - targets) * np.logaddexp(0.0, scores)


def _derivatives(scores: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    positive, negative = expit(scores), expit(-scores)
    return (1.0 - targets) * positive - targets * negative, positive * negative
