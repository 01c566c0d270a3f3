"""What a loss is: a function of the outputs at one point and of its soft label."""

from __future__ import annotations

from typing import Protocol

import numpy as np


class PointwiseLoss(Protocol):
    """A loss of the outputs g(z) at one point with soft label t; every array is (k, n), one column for each point.

    The fastest kernels, and the preconditioner of the gradient flow, know `CrossEntropy` only; any other loss goes without.
    """

    def value(self, outputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Return (n,) losses."""

    def residual(self, outputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Return (k, n): the derivative of the loss by each output."""

    def curvature(self, outputs: np.ndarray, targets: np.ndarray, tangent: np.ndarray) -> np.ndarray:
        """Return (k, n): the second derivative of the loss applied to ``tangent``."""
