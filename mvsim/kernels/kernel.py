"""What every kernel offers. A kernel is bound to one data set and knows neurons; losses know only outputs."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from mvsim.linalg.arrow_matrix import Curvature
from mvsim.losses import Points, PointwiseLoss


class Kernel(ABC):
    """Outputs, loss, gradient and Hessian-vector product on one data set, in correlation coordinates c of shape (k, m, k, 2)."""

    name: str

    @abstractmethod
    def outputs(self, c: np.ndarray) -> np.ndarray:
        """Return (k, N): g_y(x_i) on the unmixed points."""

    @abstractmethod
    def loss(self, c: np.ndarray, points: Points, pointwise: PointwiseLoss) -> float:
        """Return the weighted sum of the pointwise loss over ``points``."""

    @abstractmethod
    def loss_and_gradient(self, c: np.ndarray, points: Points, pointwise: PointwiseLoss) -> tuple[float, np.ndarray]:
        """Return the loss and its gradient by c, (k, m, k, 2)."""

    @abstractmethod
    def hessian_vector_product(self, c: np.ndarray, v: np.ndarray, points: Points, pointwise: PointwiseLoss) -> np.ndarray:
        """Return the derivative of the gradient along v, (k, m, k, 2)."""

    def curvature(self, c: np.ndarray, points: Points, pointwise: PointwiseLoss, beyond: float) -> Curvature | None:
        """Return the stiff part of the Hessian as far as this kernel can tell it cheaply, None if it cannot.

        ``beyond`` is the own correlation above which a neuron counts as escaped.
        """
        return None

    @abstractmethod
    def describe(self, points: Points) -> str:
        """Say in words which algorithm serves these points."""
