"""The squared error of the outputs at one point. Arrays are (k, n): one column of outputs and one of soft labels for each point."""

from __future__ import annotations

import numpy as np

from mvsim.losses.pointwise import PointwiseLoss


class SquaredError(PointwiseLoss):
    """l(g, t) = |g - t|^2 / 2, with dl/dg_y = g_y - t_y and the second derivative dg_y along dg. Its minimum is at g = t."""

    name = "squared_error"

    def value(self, outputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Return (n,) losses."""
        loss: np.ndarray = 0.5 * ((outputs - targets) ** 2).sum(axis=0)
        return loss

    def residual(self, outputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Return (k, n): g_y - t_y."""
        return outputs - targets

    def curvature(self, outputs: np.ndarray, targets: np.ndarray, tangent: np.ndarray) -> np.ndarray:
        """Return (k, n): dg_y."""
        return tangent.copy()
