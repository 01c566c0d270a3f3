"""A two-layer ReLU network on the digits with an identifying pixel: in place of the residual networks of the paper.

It is trained by L-BFGS on all points at once. Under Mixup each training point is mixed with `PARTNERS` others, drawn once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from mvsim.papers.minimum_variance.digits import Split

WIDTH, STEPS, PARTNERS = 32, 200, 4
"""Neurons, steps of L-BFGS, and partners of each point under Mixup."""


@dataclass(frozen=True)
class Network:
    """x -> v . relu(W x + b) + a, with the columns of biases last in ``first`` (width, pixels + 1) and ``second`` (width + 1,)."""

    first: np.ndarray
    second: np.ndarray

    @classmethod
    def of(cls, w: np.ndarray, pixels: int) -> Network:
        """Return the network of a flat vector."""
        return cls(w[: WIDTH * (pixels + 1)].reshape(WIDTH, pixels + 1), w[WIDTH * (pixels + 1) :])

    def hidden(self, x: np.ndarray) -> np.ndarray:
        """Return what the neurons give, (n, width)."""
        return np.maximum(x @ self.first[:, :-1].T + self.first[:, -1], 0.0)

    def scores(self, x: np.ndarray) -> np.ndarray:
        """Return the logits (n,) of class +1."""
        return np.asarray(self.hidden(x) @ self.second[:-1] + self.second[-1])

    def test_error(self, data: Split) -> float:
        """Return the share of test points on the wrong side."""
        return float((self.scores(data.x_test) * data.y_test <= 0.0).mean())

    def output_variance(self, data: Split) -> float:
        """Return E Var(g | y) of the probability g of class +1 on the training data."""
        g = expit(self.scores(data.x))
        return float(sum((data.y == y).mean() * g[data.y == y].var() for y in (1, -1)))

    def reliance(self, data: Split) -> float:
        """Return the share of training points that change side where the identifying pixel is that of the other class."""
        x = data.x.copy()
        x[:, 0] -= 2.0 * data.gamma * data.y
        return float((self.scores(x) * self.scores(data.x) <= 0.0).mean())


def loss_and_gradient(w: np.ndarray, x: np.ndarray, t: np.ndarray, decay: float) -> tuple[float, np.ndarray]:
    """Return the mean cross-entropy of soft labels t (n,) with (decay / 2) |weights|^2, biases left out, and its gradient."""
    net = Network.of(w, x.shape[1])
    hidden, scores = net.hidden(x), net.scores(x)
    kept = Network(net.first * (np.arange(x.shape[1] + 1) < x.shape[1]), net.second * (np.arange(WIDTH + 1) < WIDTH))
    loss = (t * np.logaddexp(0.0, -scores) + (1.0 - t) * np.logaddexp(0.0, scores)).mean()
    back = (expit(scores) - t) / len(t)
    inner = np.outer(back, net.second[:-1]) * (hidden > 0.0)
    first = np.hstack([inner.T @ x, inner.sum(axis=0)[:, None]]) + decay * kept.first
    second = np.append(hidden.T @ back, back.sum()) + decay * kept.second
    return float(loss + decay / 2.0 * ((kept.first**2).sum() + (kept.second**2).sum())), np.concatenate([first.ravel(), second])


def train_network(data: Split, method: str, strength: float, seed: int) -> Network:
    """Return the network that a method trains; strengths are those of `mvsim.papers.minimum_variance.training.Protocol`."""
    rng, (n, pixels) = np.random.default_rng([seed, 3]), data.x.shape
    x, t = data.x, (data.y + 1.0) / 2.0
    if method == "smoothing":
        t = (1.0 - strength) * t + strength / 2.0
    if method == "mixup" and strength > 0.0:
        i, j = np.tile(np.arange(n), PARTNERS), rng.integers(0, n, n * PARTNERS)
        lam = rng.beta(strength, strength, n * PARTNERS)
        x, t = lam[:, None] * x[i] + (1.0 - lam)[:, None] * x[j], lam * t[i] + (1.0 - lam) * t[j]
    start = rng.normal(size=WIDTH * (pixels + 1) + WIDTH + 1) / np.sqrt(pixels)
    decay = strength if method == "decay" else 0.0
    found = minimize(loss_and_gradient, start, (x, t, decay), "L-BFGS-B", jac=True, options={"maxiter": STEPS})
    return Network.of(found.x, pixels)
