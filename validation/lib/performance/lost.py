"""Designs that were tried and lost, kept so that they can be timed again: on other machines or sizes the order may change."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import njit

import mvsim
from mvsim.losses import AllPairs, CrossEntropy
from mvsim.multi_view.activations import SmoothedRelu
from mvsim.multi_view.kernels.shared_noise.shared_noise_kernel import SharedNoiseKernel
from mvsim.multi_view.kernels.shared_noise.sums_direct import DirectSums

LossAndGradient = Callable[[np.ndarray], tuple[float, np.ndarray]]


class _AnyLoss:
    """The cross-entropy under another name, so that the kernel takes the route for any loss: an exponential for every pair and class."""

    value, residual, curvature = CrossEntropy.value, CrossEntropy.residual, CrossEntropy.curvature


def without_moments(p: mvsim.Parameters, data: mvsim.Dataset, threads: int) -> LossAndGradient:
    """Return the factorisation with every activation evaluated by itself (`mvsim.multi_view.kernels.shared_noise.sums_direct.DirectSums`)."""
    kernel = SharedNoiseKernel(p, data, threads, SmoothedRelu(p.rho, p.alpha))
    pairs = kernel.pairs_of(AllPairs(0.5))
    pairs.sums = DirectSums(kernel.layout, pairs.plan, kernel.neurons)
    return lambda c: kernel.loss_and_gradient(c, AllPairs(0.5), CrossEntropy())


def with_exponentials(p: mvsim.Parameters, data: mvsim.Dataset, threads: int) -> LossAndGradient:
    """Return the engine with an exponential for every pair and class, block by block (`mvsim.multi_view.kernels.shared_noise.tables`)."""
    kernel = SharedNoiseKernel(p, data, threads, SmoothedRelu(p.rho, p.alpha))
    return lambda c: kernel.loss_and_gradient(c, AllPairs(0.5), _AnyLoss())


# ---- half the bits ------------------------------------------------------------------------------------------------------------------

_OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "contract"}}


@njit(**_OPTIONS)
def _table(features, patterns, signal, feature, zero, one, eighth):
    """Return (N, G): sum over signal patches and neurons of R, in units of rho; every array and constant has one type."""
    N, (G, m) = len(feature), patterns.shape
    table = np.zeros((N, G), features.dtype)
    for i in range(N):
        for p in range(feature.shape[1]):
            own, beta = features[feature[i, p]], signal[i, p]
            for g in range(G):
                total = zero
                for r in range(m):
                    positive = max(beta * own[r] + patterns[g, r], zero)
                    u = min(positive, one)
                    square = u * u  # u**8 would be of type float64
                    fourth = square * square
                    total += eighth * (fourth * fourth) + (positive - u)
                table[i, g] += total
    return table


@njit(**_OPTIONS)
def _table_pull_back(features, patterns, signal, feature, residual, zero, one):
    """Return the adjoint of `_table` at residual (N, G) by the features."""
    N, (G, m) = len(feature), patterns.shape
    out = np.zeros_like(features)
    for i in range(N):
        for p in range(feature.shape[1]):
            own, row, beta = features[feature[i, p]], out[feature[i, p]], signal[i, p]
            for g in range(G):
                weight = beta * residual[i, g]
                for r in range(m):
                    u = min(max(beta * own[r] + patterns[g, r], zero), one)
                    square = u * u
                    row[r] += weight * (square * square * (square * u))
    return out


class TableLoops:
    """The table loops of one class in units of rho, in a given precision, with residuals of both signs as the softmax leaves them.

    Parameters
    ----------
    p : mvsim.Parameters
        Sizes.
    dtype : type
        numpy.float32 or numpy.float64.
    scale : float
        Size of the correlations relative to those at the default d.
    """

    def __init__(self, p: mvsim.Parameters, dtype: type, scale: float = 1.0) -> None:
        kernel = SharedNoiseKernel(p, mvsim.sample_dataset(p, 0), 1, SmoothedRelu(p.rho, p.alpha))
        layout, columns = kernel.layout, kernel.columns.at(scale * mvsim.initial_correlations(p, 0).reshape(p.k, p.m, -1))[0] / 2.0
        residual = np.random.default_rng(0).normal(size=(p.N, len(layout.patterns)))
        arrays = columns[: layout.features], columns[layout.features :], layout.signal, residual
        self._features, self._patterns, self._signal, self._residual = (np.ascontiguousarray(a, dtype=dtype) for a in arrays)
        self._feature, self._dtype = layout.feature, dtype

    def values(self) -> np.ndarray:
        """Return the table."""
        zero, one, eighth = self._dtype(0), self._dtype(1), self._dtype(0.125)
        return _table(self._features, self._patterns, self._signal, self._feature, zero, one, eighth)

    def gradient(self) -> np.ndarray:
        """Return its adjoint."""
        zero, one = self._dtype(0), self._dtype(1)
        return _table_pull_back(self._features, self._patterns, self._signal, self._feature, self._residual, zero, one)


def small_gradient_errors(p: mvsim.Parameters, scale: float) -> dict[str, float]:
    """Return the relative errors (median, largest) of the components of a gradient in single precision, and the share of them lost to 0."""
    exact, single = (TableLoops(p, dtype, scale).gradient().astype(np.float64) for dtype in (np.float64, np.float32))
    nonzero = exact != 0.0
    errors = np.abs(single[nonzero] / exact[nonzero] - 1.0)
    return {"median": float(np.median(errors)), "largest": float(errors.max()), "lost": float(np.mean(single[nonzero] == 0.0))}
