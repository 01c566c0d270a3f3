"""The cross-entropy of the outputs at one point. Arrays are (k, n): one column of outputs and one of soft labels t with sum 1 for each point."""

from __future__ import annotations

from typing import Any

from array_api_compat import device

from mvsim.losses.pointwise import PointwiseLoss
from mvsim.numerics.namespaces import namespace_of


class CrossEntropy(PointwiseLoss):
    """l(g, t) = -sum_y t_y log phi_y(g), phi the softmax.

    dl/dg_y = phi_y - t_y (whose sum over y is 0), and the second derivative along dg is phi_y (dg_y - sum_s phi_s dg_s).

    Everything is written relative to the largest output g_top: with rest = sum_{s != top} exp(g_s - g_top),
    -log phi_top = log1p(rest) and 1 - phi_top = rest / (1 + rest), so a gap 1 - phi of 1e-300 keeps its digits.
    """

    name = "cross_entropy"

    def value(self, outputs: Any, targets: Any) -> Any:
        drop, _, rest, _ = _relative_to_top(outputs)
        xp = namespace_of(outputs)
        return xp.log1p(rest) - xp.sum(targets * drop, axis=0)

    def residual(self, outputs: Any, targets: Any) -> Any:
        _, weights, rest, top = _relative_to_top(outputs)
        xp = namespace_of(outputs)
        of_top = xp.broadcast_to((rest / (1.0 + rest))[None, :], outputs.shape)
        return xp.where(top, (1.0 - targets) - of_top, weights / (1.0 + rest) - targets)

    def curvature(self, outputs: Any, targets: Any, tangent: Any) -> Any:
        xp = namespace_of(outputs)
        _, weights, rest, top = _relative_to_top(outputs)
        softmax = xp.where(top, xp.ones_like(weights), weights) / (1.0 + rest)
        relative = tangent - xp.sum(xp.where(top, tangent, xp.zeros_like(tangent)), axis=0)
        return softmax * (relative - xp.sum(softmax * relative, axis=0))


def _relative_to_top(outputs: Any) -> tuple[Any, Any, Any, Any]:
    """Return g - g_top, exp of it with the top entry 0, the column sums of that, and where the top entry stands, (k, n) bool."""
    xp = namespace_of(outputs)
    top = xp.arange(outputs.shape[0], device=device(outputs))[:, None] == xp.argmax(outputs, axis=0)[None, :]
    drop = outputs - xp.max(outputs, axis=0)
    weights = xp.where(top, xp.zeros_like(drop), xp.exp(drop))
    return drop, weights, xp.sum(weights, axis=0), top
