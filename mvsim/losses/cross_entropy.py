"""The cross-entropy of the outputs at one point. Arrays are (k, n): one column of outputs and one of soft labels t with sum 1 for each point."""

from __future__ import annotations

import numpy as np

from mvsim.losses.pointwise import PointwiseLoss


class CrossEntropy(PointwiseLoss):
    """l(g, t) = -sum_y t_y log phi_y(g), phi the softmax.

    dl/dg_y = phi_y - t_y (whose sum over y is 0), and the second derivative along dg is phi_y (dg_y - sum_s phi_s dg_s).

    Everything is written relative to the largest output g_top: with rest = sum_{s != top} exp(g_s - g_top),
    -log phi_top = log1p(rest) and 1 - phi_top = rest / (1 + rest), so a gap 1 - phi of 1e-300 keeps its digits.
    """

    name = "cross_entropy"

    def value(self, outputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Return (n,) losses."""
        drop, _, rest, _ = _relative_to_top(outputs)
        return np.log1p(rest) - (targets * drop).sum(axis=0)

    def residual(self, outputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Return (k, n): phi_y - t_y."""
        _, weights, rest, top = _relative_to_top(outputs)
        columns = np.arange(outputs.shape[1])
        residual = weights / (1.0 + rest) - targets
        residual[top, columns] = (1.0 - targets[top, columns]) - rest / (1.0 + rest)
        return residual

    def curvature(self, outputs: np.ndarray, targets: np.ndarray, tangent: np.ndarray) -> np.ndarray:
        """Return (k, n): phi_y (dg_y - sum_s phi_s dg_s)."""
        _, weights, rest, top = _relative_to_top(outputs)
        weights[top, np.arange(outputs.shape[1])] = 1.0
        softmax = weights / (1.0 + rest)
        relative = tangent - tangent[top, np.arange(outputs.shape[1])]
        return softmax * (relative - (softmax * relative).sum(axis=0))


def _relative_to_top(outputs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return g - g_top, exp of it with the top entry 0, the column sums of that, and the row of the top entry."""
    top = outputs.argmax(axis=0)
    columns = np.arange(outputs.shape[1])
    drop = outputs - outputs[top, columns]
    weights = np.exp(drop)
    weights[top, columns] = 0.0
    return drop, weights, weights.sum(axis=0), top
