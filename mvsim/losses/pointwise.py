"""What a loss is: a function of the outputs at one point and of its soft label."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar


class PointwiseLoss(ABC):
    """A loss l(g, t) of the outputs g at one point with soft label t; every array is (k, n), one column for each point.

    Arrays are float64 of any namespace of the array API standard, and so are results: subclasses ask `mvsim.numerics.namespaces.namespace_of` for it.

    The fastest kernels know `CrossEntropy` only; any other loss is summed by the generic sum (`mvsim.multi_view.kernels.sums`).
    """

    name: ClassVar[str]

    @abstractmethod
    def value(self, outputs: Any, targets: Any) -> Any:
        """Return (n,) losses."""

    @abstractmethod
    def residual(self, outputs: Any, targets: Any) -> Any:
        """Return (k, n): the derivative of the loss by each output."""

    @abstractmethod
    def curvature(self, outputs: Any, targets: Any, tangent: Any) -> Any:
        """Return (k, n): the second derivative of the loss applied to ``tangent``."""
