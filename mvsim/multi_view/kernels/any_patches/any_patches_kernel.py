"""The compiled kernel for arbitrary patches: streams over neurons and batches of mixed points, so its memory is bounded whatever the number of pairs.

For one neuron (y, r) the pre-activations of all patches are a[i, p] = <w_{y,r}, x_i^(p)>, and every mixed point needs
sum_p R(lam a[i, p] + (1 - lam) a[j, p]). They are formed again for each batch, once for the outputs and once for the gradient: a point has
few features (`PatchDataset`), and each of them costs a multiply-add where each mixed point of the batch costs an activation. Unmixed points
are taken one by one, for all neurons of a class, because then it is the coefficients that are used again and should stay in the cache.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from mvsim.losses import Points
from mvsim.losses.points import Batch
from mvsim.multi_view.activations import Activation
from mvsim.multi_view.data import Dataset, PatchDataset
from mvsim.multi_view.kernels.any_patches import loops as compiled
from mvsim.multi_view.kernels.base import Kernel
from mvsim.multi_view.kernels.evaluation import Evaluation
from mvsim.multi_view.kernels.jit.threads import run_ranges, threads_for
from mvsim.multi_view.parameters import Parameters
from mvsim.multi_view.piece_sizes import BATCH_BYTES, CACHED, LEAST_WIDTH, MOST_WIDTH


class AnyPatchesKernel(Kernel):
    """Any patches, in bounded memory."""

    name = "dense"

    def __init__(self, parameters: Parameters, data: Dataset, threads: int | None, activation: Activation) -> None:
        if not isinstance(data, PatchDataset):
            data = Dataset.from_patches(data.labels, data.to_patches())
        self.k, self.m, self.N, self.P = data.k, parameters.m, data.N, data.P
        self.labels = data.labels
        self.threads = threads_for(threads, data.N * data.P * data.k * parameters.m)
        self._points = data.point, data.feature, data.rows
        self._features = len(data.feature_class)
        self.activation, self._scale, self._constants = activation, activation.scale, activation.compiled

    @property
    def features(self) -> int:
        return self._features

    @property
    def size(self) -> int:
        """Mixed points in a batch."""
        return max(1, BATCH_BYTES // (8 * self.k))

    def describe(self, points: Points) -> str:
        return f"numba: arbitrary patches, streamed over neurons in batches of up to {max(self.size, self.N)} mixed points"

    def evaluate(self, c: np.ndarray, points: Points, v: np.ndarray | None = None) -> Evaluation:
        return _Evaluation(self, c, points, v)

    def run(self, loop: Callable[..., None], weights: Sequence[np.ndarray], batch: Batch, *arguments: Any) -> None:
        """Call a loop of `mvsim.multi_view.kernels.any_patches.loops` on all classes; a thread owns whole classes."""
        scaled = [c / self._scale for c in weights]
        mixtures = self._mixtures(batch)
        blocks = self._blocks(mixtures.near, mixtures.far)
        patches = compiled.Patches(*self._points, blocks, self._width(blocks))
        run_ranges(self.k, self.threads, lambda y0, y1: loop(y0, y1, *scaled, patches, mixtures, *arguments, self._constants))

    def _mixtures(self, batch: Batch) -> compiled.Mixtures:
        """Write each mixed point as share (x_near + ratio x_far)."""
        second_is_near = batch.lam < 0.5
        near, far = np.where(second_is_near, batch.second, batch.first), np.where(second_is_near, batch.first, batch.second)
        share, other = np.where(second_is_near, (1.0 - batch.lam, batch.lam), (batch.lam, 1.0 - batch.lam))
        share, other = np.where(near == far, [[1.0], [0.0]], (share, other))  # mixed with itself, a point stays what it is
        return compiled.Mixtures(near, far, other / share, share, *self.activation.mixture_weights(share))

    def _blocks(self, near: np.ndarray, far: np.ndarray) -> np.ndarray:
        """Return (B, 6) for `mvsim.multi_view.kernels.any_patches.loops`: each point by itself if all are unmixed, else one block."""
        if np.array_equal(near, far):
            i0, i1, e = near, near + 1, np.arange(len(near) + 1)
        else:
            met = np.concatenate([near, far])
            i0, i1, e = met.min(keepdims=True), met.max(keepdims=True) + 1, np.array([0, len(near)])
        n0, n1 = np.searchsorted(self._points[0], (i0, i1))
        return np.stack([i0, i1, n0, n1, e[:-1], e[1:]], axis=1)

    def _width(self, blocks: np.ndarray) -> int:
        """Return how many patches to take at a time: about the same each time, and few enough that all points of a block stay in the cache."""
        most_points = (blocks[:, 1] - blocks[:, 0]).max()
        most = min(max(CACHED // most_points, LEAST_WIDTH), MOST_WIDTH)
        return math.ceil(self.P / math.ceil(self.P / most))


class _Evaluation(Evaluation):
    """Outputs are formed when they are asked for."""

    def __init__(self, kernel: AnyPatchesKernel, c: np.ndarray, points: Points, v: np.ndarray | None) -> None:
        self._kernel, self._c, self._points = kernel, c, points
        self._v = np.zeros_like(c) if v is None else v
        self._gradient = np.zeros_like(c)

    def batches(self) -> Iterator[Batch]:
        return self._points.batches(self._kernel.N, self._kernel.size)

    def targets(self, batch: Batch) -> np.ndarray:
        return batch.soft_labels(self._kernel.labels, self._kernel.k)

    def outputs(self, batch: Batch) -> np.ndarray:
        g = np.zeros((self._kernel.k, len(batch.first)))
        self._kernel.run(compiled.mixed_values, (self._c,), batch, g)
        return self._kernel.activation.scale * g

    def tangents(self, batch: Batch) -> np.ndarray:
        dg = np.zeros((self._kernel.k, len(batch.first)))
        self._kernel.run(compiled.mixed_tangents, (self._c, self._v), batch, dg)
        return self._kernel.activation.scale * dg

    def pull_back(self, batch: Batch, residual: np.ndarray) -> None:
        self._kernel.run(compiled.mixed_pull_back, (self._c,), batch, residual, self._gradient)

    def pull_back_tangent(self, batch: Batch, residual: np.ndarray, change: np.ndarray) -> None:
        self._kernel.run(compiled.mixed_pull_back_tangent, (self._c, self._v), batch, residual, change, self._gradient)

    def gradient(self) -> np.ndarray:
        return self._gradient
