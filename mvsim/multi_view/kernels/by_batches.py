"""The evaluation of a network that holds all pre-activations of a batch of mixed points in memory.

With a[y, r, n, p] = <w_{y,r}, z_n^(p)>, whatever stores the mixed points z,

    outputs    g_y(z_n)               = sum_r sum_p R(a[y, r, n, p])
    tangents   along v                = sum_r sum_p R'(a) da,             da = <v_{y,r}, z_n^(p)>
    gradient   sum_n D[y, n] dg_y/dc  = sum_n sum_p D[y, n] R'(a) z_n^(p)                                    (Calculation A.6)
    Hessian    its derivative along v = sum_n sum_p (dD R'(a) + D R''(a) da) z_n^(p)

where D[y, n] is the derivative of the weighted loss by g_y(z_n) (Calculations A.9, A.10) and dD its derivative along the change of outputs. What a
kernel has to say is how points are mixed, and the two products with them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from mvsim.losses import Points
from mvsim.losses.points import Batch
from mvsim.multi_view.activations import Activation
from mvsim.multi_view.kernels.evaluation import Evaluation


class BatchEvaluation(Evaluation):
    """What is wanted of the current batch only is in memory: its mixed points z and pre-activations a and da."""

    def __init__(self, labels: np.ndarray, activation: Activation, c: np.ndarray, points: Points, v: np.ndarray | None, size: int) -> None:
        self._labels, self._activation, self._size = labels, activation.elementwise(), max(1, size)
        self._c, self._points, self._v = c, points, v
        self._gradient = np.zeros_like(c)

    @abstractmethod
    def _mixed(self, batch: Batch) -> Any:
        """Return the mixed points of a batch."""

    @abstractmethod
    def _pre_activations(self, z: Any, weights: np.ndarray) -> np.ndarray:
        """Return (k, m, n, P): the products of weights (k, m, F) with the patches of mixed points."""

    @abstractmethod
    def _pulled_back(self, z: Any, by_pre_activation: np.ndarray) -> np.ndarray:
        """Return (k, m, F): the adjoint of `_pre_activations` at (k, m, n, P)."""

    def batches(self) -> Iterator[Batch]:
        for large in self._points.batches(len(self._labels), self._size):
            for start in range(0, len(large.first), self._size):
                batch = large.part(slice(start, start + self._size))
                self._z = self._mixed(batch)
                self._a = self._pre_activations(self._z, self._c)
                if self._v is not None:
                    self._da = self._pre_activations(self._z, self._v)
                yield batch

    def targets(self, batch: Batch) -> np.ndarray:
        return batch.soft_labels(self._labels, len(self._c))

    def outputs(self, batch: Batch) -> np.ndarray:
        return self._activation.value(self._a).sum(axis=(1, 3))

    def tangents(self, batch: Batch) -> np.ndarray:
        return (self._activation.slope(self._a) * self._da).sum(axis=(1, 3))

    def pull_back(self, batch: Batch, residual: np.ndarray) -> None:
        self._gradient += self._pulled_back(self._z, residual[:, None, :, None] * self._activation.slope(self._a))

    def pull_back_tangent(self, batch: Batch, residual: np.ndarray, change: np.ndarray) -> None:
        slope, bend = self._activation.slope(self._a), self._activation.bend(self._a)
        moved = change[:, None, :, None] * slope + residual[:, None, :, None] * bend * self._da
        self._gradient += self._pulled_back(self._z, moved)

    def gradient(self) -> np.ndarray:
        return self._gradient
