"""The network evaluated on a set of points, batch by batch: what kernels make, and sums over points go through."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np


class Evaluation(ABC):
    """The network at some correlations c, and if wanted along a direction v, on a set of points, batch by batch.

    The caller goes through `batches` and asks for the outputs of each before it takes the next one. Meanwhile it may pull something back through the
    batch, at most once: with `pull_back`, or with `pull_back_tangent` if there is a direction. In the end it may ask for the `gradient`, once, if it
    has pulled back through at least one batch.

    Of one kernel only one evaluation is alive at a time: kernels use their memory again, so that the next one overwrites what this one needs.
    """

    @abstractmethod
    def batches(self) -> Iterator[Any]:
        """Yield every point once, in an order that depends only on the kernel and the points.

        A batch has what `mvsim.losses.points.Batch` has, ``first``, ``second`` and ``weight``, (n,) each, in whatever form suits the kernel.
        """

    @abstractmethod
    def targets(self, batch: Any) -> np.ndarray:
        """Return (k, n): the soft labels of a batch."""

    @abstractmethod
    def outputs(self, batch: Any) -> np.ndarray:
        """Return (k, n): g_y(z) on a batch."""

    @abstractmethod
    def tangents(self, batch: Any) -> np.ndarray:
        """Return (k, n): the derivative of the outputs along v."""

    @abstractmethod
    def pull_back(self, batch: Any, residual: np.ndarray) -> None:
        """Add sum_n residual[y, n] dg_y(z_n)/dc to the gradient."""

    @abstractmethod
    def pull_back_tangent(self, batch: Any, residual: np.ndarray, change: np.ndarray) -> None:
        """Add to the gradient the derivative of `pull_back` along v, where the residual moves by ``change``."""

    @abstractmethod
    def gradient(self) -> np.ndarray:
        """Return (k, m, F): the sum of all that has been pulled back. Nothing can be asked of the evaluation after it."""

    def visited(self, batch: Any) -> Any:
        """Return which columns of a batch are visited, as an index: others have weight 0, and what stands there means nothing."""
        return slice(None)

    def mean(self, batch: Any, values: np.ndarray) -> float:
        """Return the weighted sum of values (n,) over a batch."""
        return float(batch.weight @ values)

    def weighted(self, batch: Any, residual: np.ndarray) -> np.ndarray:
        """Return residual (k, n) times the weights of the points of a batch."""
        weighted: np.ndarray = batch.weight * residual
        return weighted
