"""The compiled kernel for arbitrary patches: streams over neurons and bands of rows, so its memory is bounded whatever the number of pairs.

For one neuron (y, r) the pre-activations of all patches are a[i, p] = <w_{y,r}, x_i^(p)>, an (N, P) array, and every pair needs
sum_p R(lam a[i, p] + (1 - lam) a[j, p]). A band of rows i holds the outputs of all classes for its pairs; the pre-activations are formed
again for each band, once for the outputs and once for the gradient, which costs 2k multiply-adds where a row of the band costs N activations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from mvsim.data import Dataset
from mvsim.kernels import _compiled as compiled
from mvsim.kernels.base import Kernel, PointwiseLoss
from mvsim.kernels.points import Points, Unmixed, soft_labels
from mvsim.kernels.threads import check_threads, run_ranges
from mvsim.parameters import Parameters

_BAND_BYTES = 2**25


@dataclass(frozen=True)
class _Band:
    """Rows i0 .. i1 - 1 of the matrix of mixed points, with which columns to visit and the soft labels and weights of all its entries."""

    i0: int
    i1: int
    lam: float
    visit: int
    targets: np.ndarray
    weight: np.ndarray


class NumbaDenseKernel(Kernel):
    """Any patches, in bounded memory."""

    name = "dense"

    def __init__(self, parameters: Parameters, data: Dataset, threads: int | None) -> None:
        self.threads = check_threads(threads)
        self.labels = data.labels
        patches = data.to_patches()
        self.N, self.P, self.k = patches.shape[:3]
        self._x = patches.reshape(self.N * self.P, 2 * self.k)
        self._activation = (parameters.rho, parameters.alpha, compiled.power_tag(parameters.alpha))

    def describe(self, points: Points) -> str:
        """Say in words which algorithm serves these points."""
        return f"numba: arbitrary patches, streamed over neurons in bands of rows, {self.threads} threads"

    def outputs(self, c: np.ndarray) -> np.ndarray:
        """Return (k, N): g_y(x_i) on the unmixed points."""
        return np.concatenate([self._values(c, band) for band in self._bands(Unmixed())], axis=1)

    def loss(self, c: np.ndarray, points: Points, pointwise: PointwiseLoss) -> float:
        """Return the weighted sum of the pointwise loss over ``points``."""
        return float(sum(band.weight @ pointwise.value(self._values(c, band), band.targets) for band in self._bands(points)))

    def loss_and_gradient(self, c: np.ndarray, points: Points, pointwise: PointwiseLoss) -> tuple[float, np.ndarray]:
        """Return the loss and its gradient by c, (k, m, k, 2)."""
        loss, gradient = 0.0, np.zeros_like(c)
        for band in self._bands(points):
            g = self._values(c, band)
            loss += float(band.weight @ pointwise.value(g, band.targets))
            residual = self._square(band.weight * pointwise.residual(g, band.targets), band)

            def add(y: int, r: int, a: np.ndarray, band: _Band = band, residual: np.ndarray = residual) -> None:
                out = np.zeros_like(a)
                compiled.band_pull_back(a, band.i0, band.i1, band.lam, band.visit, residual[y], out, *self._activation)
                gradient[y, r] += (out.ravel() @ self._x).reshape(self.k, 2)

            self._for_each_neuron(add, c)
        return loss, gradient

    def hessian_vector_product(self, c: np.ndarray, v: np.ndarray, points: Points, pointwise: PointwiseLoss) -> np.ndarray:
        """Return the derivative of the gradient along v, (k, m, k, 2)."""
        product = np.zeros_like(c)
        for band in self._bands(points):
            g, dg = self._values(c, band), self._tangents(c, v, band)
            residual = self._square(band.weight * pointwise.residual(g, band.targets), band)
            change = self._square(band.weight * pointwise.curvature(g, band.targets, dg), band)

            def add(y: int, r: int, a: np.ndarray, da: np.ndarray, band: _Band = band, D: np.ndarray = residual, dD: np.ndarray = change) -> None:
                out = np.zeros_like(a)
                compiled.band_pull_back_tangent(a, da, band.i0, band.i1, band.lam, band.visit, D[y], dD[y], out, *self._activation)
                product[y, r] += (out.ravel() @ self._x).reshape(self.k, 2)

            self._for_each_neuron(add, c, v)
        return product

    def _values(self, c: np.ndarray, band: _Band) -> np.ndarray:
        """Return (k, n): the outputs of the entries of the band."""
        g = self._square(np.zeros((self.k, band.weight.size)), band)

        def add(y: int, r: int, a: np.ndarray) -> None:
            compiled.band_values(a, band.i0, band.i1, band.lam, band.visit, g[y], *self._activation)

        self._for_each_neuron(add, c)
        return g.reshape(self.k, -1)

    def _tangents(self, c: np.ndarray, v: np.ndarray, band: _Band) -> np.ndarray:
        """Return (k, n): the derivative of the outputs along v."""
        dg = self._square(np.zeros((self.k, band.weight.size)), band)

        def add(y: int, r: int, a: np.ndarray, da: np.ndarray) -> None:
            compiled.band_tangents(a, da, band.i0, band.i1, band.lam, band.visit, dg[y], *self._activation)

        self._for_each_neuron(add, c, v)
        return dg.reshape(self.k, -1)

    def _for_each_neuron(self, work: Callable[..., None], *weights: np.ndarray) -> None:
        """Call work(y, r, a, ...) with the pre-activations (N, P) of every neuron under each of the weights; a thread owns whole classes."""

        def classes(y0: int, y1: int) -> None:
            for y in range(y0, y1):
                for r in range(weights[0].shape[1]):
                    work(y, r, *((self._x @ w[y, r].ravel()).reshape(self.N, self.P) for w in weights))

        run_ranges(self.k, self.threads, classes)

    def _square(self, entries: np.ndarray, band: _Band) -> np.ndarray:
        return entries.reshape(self.k, band.i1 - band.i0, -1)

    def _bands(self, points: Points) -> Iterator[_Band]:
        N, labels = self.N, self.labels
        if isinstance(points, Unmixed):
            yield _Band(0, N, 1.0, compiled.DIAGONAL, soft_labels(self.k, labels, labels, 1.0), np.full(N, 1.0 / N))
            return
        rows = max(1, _BAND_BYTES // (8 * self.k * N))
        for i0 in range(0, N, rows):
            i, j = np.meshgrid(np.arange(i0, min(i0 + rows, N)), np.arange(N), indexing="ij")
            weight = np.full(i.shape, 1.0 / N**2)
            if points.symmetric:
                weight *= np.where(i < j, 2.0, np.where(i == j, 1.0, 0.0))
            targets = soft_labels(self.k, labels[i.ravel()], labels[j.ravel()], points.lam)
            visit = compiled.UPPER if points.symmetric else compiled.ALL
            yield _Band(i0, i0 + len(i), points.lam, visit, targets, weight.ravel())
