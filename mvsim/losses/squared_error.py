"""The squared error of the outputs at one point. Arrays are (k, n): one column of outputs and one of soft labels for each point."""

from __future__ import annotations

from typing import Any

from mvsim.losses.pointwise import PointwiseLoss
from mvsim.numerics.namespaces import namespace_of


class SquaredError(PointwiseLoss):
    """l(g, t) = |g - t|^2 / 2, with dl/dg_y = g_y - t_y and the second derivative dg_y along dg. Its minimum is at g = t."""

    name = "squared_error"

    def value(self, outputs: Any, targets: Any) -> Any:
        return 0.5 * namespace_of(outputs).sum((outputs - targets) ** 2, axis=0)

    def residual(self, outputs: Any, targets: Any) -> Any:
        return outputs - targets

    def curvature(self, outputs: Any, targets: Any, tangent: Any) -> Any:
        return tangent + 0.0
