"""Lower bounds of the excess loss by the variance of the outputs, for any model: soft labels, Mixup.

Let g(x) be the probabilities of a model, t the soft label, and let everything be conditioned on what fixes t: on y, or on (lambda, y_1, y_2). The
excess is the loss minus the entropy of the target, E KL(t | g), where E KL(t | g) = E sum t_i log(t_i / g_i).

(a) -log has second derivative 1 / g^2 >= 1 on (0, 1], so E[-log g_i] >= -log E g_i + Var(g_i) / 2. The remaining sum t_i log(t_i / E g_i) is >= 0.
    Hence excess >= E sum t_i Var(g_i | .) / 2.
(b) KL(t | g) >= |t - g|_1^2 / 2 (Pinsker), and |v|_1^2 >= 2 |v|_2^2 where the entries of v add up to 0. So excess >= E |t - g|^2, and as t is fixed
    by the condition E |t - g|^2 >= E sum Var(g_i | .).

Both hold without augmentation as well, so they do not tell the methods apart: what does is that the excess itself is small where t is soft.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import xlogy

from mvsim.losses.mixing_laws import law_from
from mvsim.papers.minimum_variance.distribution import Distribution

NODES = 16
"""Quadrature nodes of each uniform coordinate; a continuous law of lambda has twice as many."""


@dataclass(frozen=True)
class OutputVariance:
    """The loss of a model and its lower bounds.

    Attributes
    ----------
    loss, entropy : float
        Cross-entropy, and the entropy of the targets.
    weighted_variance : float
        Bound (a), E sum t_i Var(g_i | .) / 2.
    squared_error, variance : float
        Bound (b), E |t - g|^2, and E sum Var(g_i | .), which is below it.
    """

    loss: float
    entropy: float
    weighted_variance: float
    squared_error: float
    variance: float

    @property
    def excess(self) -> float:
        """Loss minus entropy of the targets."""
        return self.loss - self.entropy


def output_variance(
    distribution: Distribution, model: Callable[[np.ndarray], np.ndarray], smoothing: float = 0.0, mixing: Any = None, nodes: int = NODES
) -> OutputVariance:
    """Return the excess loss of a model, and what its output variance says of it.

    Parameters
    ----------
    distribution : Distribution
        The law of the data.
    model : callable
        Takes points (n, coordinates), those of X_L first, and returns the probabilities of classes +1 and -1, (n, 2).
    smoothing, mixing
        As for `minimiser`.
    nodes : int
        Quadrature nodes of each uniform coordinate.
    """
    conditions = _conditions(distribution, smoothing, mixing, nodes)
    return bounds((share, np.array([target, 1.0 - target]), model(points), weights) for share, target, points, weights in conditions)


def bounds(conditions: Iterable[tuple[float, np.ndarray, np.ndarray, np.ndarray]]) -> OutputVariance:
    """Return the same from what is known of each condition: its probability, the label (k,), and probabilities g (n, k) with weights (n,)."""
    loss = entropy = weighted = squared = variance = 0.0
    for share, t, g, weights in conditions:
        spread = weights @ (g - weights @ g) ** 2
        loss -= share * float(weights @ xlogy(t, g).sum(axis=1))
        entropy -= share * float(xlogy(t, t).sum())
        weighted += share * float(t @ spread) / 2.0
        squared += share * float(weights @ ((t - g) ** 2).sum(axis=1))
        variance += share * float(spread.sum())
    return OutputVariance(loss, entropy, weighted, squared, variance)


def _conditions(distribution: Distribution, smoothing: float, mixing: Any, nodes: int) -> Iterator[tuple[float, float, np.ndarray, np.ndarray]]:
    """Yield the probability of each condition, the label that it fixes, and the points (n, coordinates) with weights that then are left."""
    points, classes, weights = distribution.nodes(nodes, grouped=False)
    own = [
        (share, target, points[classes == y], weights[classes == y] / share)
        for y, share, target in ((1, distribution.prior, 1.0 - smoothing), (-1, 1.0 - distribution.prior, smoothing))
    ]
    if mixing is None:
        yield from own
        return
    for lam, probability in law_from(mixing).folded_quadrature(2 * nodes):
        for share_1, target_1, points_1, weights_1 in own:
            for share_2, target_2, points_2, weights_2 in own:
                mixed = lam * points_1[:, None] + (1.0 - lam) * points_2
                share = probability * share_1 * share_2
                yield share, lam * target_1 + (1.0 - lam) * target_2, mixed.reshape(-1, points.shape[1]), np.outer(weights_1, weights_2).ravel()
