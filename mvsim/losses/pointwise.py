"""What a loss is: a function of the outputs at one point and of its soft label."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np


class PointwiseLoss(ABC):
    """A loss l(g, t) of the outputs g at one point with soft label t; every array is (k, n), one column for each point.

    The fastest kernels know `CrossEntropy` only; any other loss is summed by the generic sum (`mvsim.kernels.sums`). Runs train by the cross-entropy:
    of other losses `mvsim.objective` gives values, gradients and Hessian-vector products.
    """

    name: ClassVar[str]

    @abstractmethod
    def value(self, outputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Return (n,) losses."""

    @abstractmethod
    def residual(self, outputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Return (k, n): the derivative of the loss by each output."""

    @abstractmethod
    def curvature(self, outputs: np.ndarray, targets: np.ndarray, tangent: np.ndarray) -> np.ndarray:
        """Return (k, n): the second derivative of the loss applied to ``tangent``."""
