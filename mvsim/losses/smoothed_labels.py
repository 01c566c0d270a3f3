"""A pointwise loss of labels of which a part is spread evenly over all classes: label smoothing."""

from __future__ import annotations

from typing import Any

from mvsim.losses.pointwise import PointwiseLoss


class SmoothedLabels(PointwiseLoss):
    """l(g, (1 - a) t + a / k) for a loss l, the mass a of the uniform law, and soft labels t over k classes.

    Smoothing the label of a mixed point is the same as mixing smoothed labels, as both are linear. Of the cross-entropy

        l(g, (1 - a) t + a / k) = l(g, t) + a sum_y (t_y - 1/k) g_y,   whose derivative by g_y is phi_y - (1 - a) t_y - a / k.
    """

    name = "smoothed_labels"

    def __init__(self, loss: PointwiseLoss, mass: float) -> None:
        self.loss, self.mass = loss, mass

    def _smoothed(self, targets: Any) -> Any:
        return (1.0 - self.mass) * targets + self.mass / targets.shape[0]

    def value(self, outputs: Any, targets: Any) -> Any:
        return self.loss.value(outputs, self._smoothed(targets))

    def residual(self, outputs: Any, targets: Any) -> Any:
        return self.loss.residual(outputs, self._smoothed(targets))

    def curvature(self, outputs: Any, targets: Any, tangent: Any) -> Any:
        return self.loss.curvature(outputs, self._smoothed(targets), tangent)
