"""The compiled kernel for data whose noise is shared by the patches of a point: exact, and its cost does not depend on P.

Where a signal patch of point i meets no signal patch of point j, it meets the noise pattern h_j of j, so with lam the weight of i

    g_y(z_ij) = U[y, h_j, i] + V[y, h_i, j] + (P - 2 V C_P) B[y, h_i, h_j] + corrections,
    U[y, h, i] = sum_{p signal of i} sum_r R(lam a_{i,p,r} + (1 - lam) n_{h,r}),   V the same with 1 - lam for lam,
    B[y, g, h] = sum_r R(lam n_{g,r} + (1 - lam) n_{h,r}).

U depends on the second point only through its pattern: N G tables instead of N^2. A position that holds signal p of i and signal q of j at
once has been counted as two signal-on-noise patches and takes one noise-on-noise patch too few, so it is corrected by

    R(lam a_p + (1 - lam) a_q) - R(lam a_p + (1 - lam) n_{h_j}) - R(lam n_{h_i} + (1 - lam) a_q) + R(lam n_{h_i} + (1 - lam) n_{h_j}).

For i = j every signal patch coincides with itself and the sum is g(x_i), as it must be. The gradient is the adjoint of these sums, the
Hessian-vector product their second-order adjoint.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import cast

import numpy as np

from mvsim.losses import AllPairs, CrossEntropy, ListedPairs, Points, PointwiseLoss, Unmixed
from mvsim.multi_view.activations import Activation
from mvsim.multi_view.data import SharedNoiseDataset
from mvsim.multi_view.kernels.base import Kernel
from mvsim.multi_view.kernels.evaluation import Evaluation
from mvsim.multi_view.kernels.jit.threads import threads_for
from mvsim.multi_view.kernels.shared_noise.all_pairs import PairsOfPoints
from mvsim.multi_view.kernels.shared_noise.columns import Columns
from mvsim.multi_view.kernels.shared_noise.hessian_of_pairs import stiff_hessian_of_pairs
from mvsim.multi_view.kernels.shared_noise.hessian_of_points import stiff_hessian_of_points
from mvsim.multi_view.kernels.shared_noise.layout import Layout
from mvsim.multi_view.kernels.shared_noise.separate_points import SeparatePoints
from mvsim.multi_view.kernels.shared_noise.softmax_sum import SoftmaxSum
from mvsim.multi_view.kernels.shared_noise.sums_direct import Neurons
from mvsim.multi_view.kernels.sums import GenericSum, LossSum
from mvsim.multi_view.parameters import Parameters
from mvsim.numerics.arrow_matrix import Curvature

POINT_SETS: dict[type[Points], Callable[..., SeparatePoints | PairsOfPoints]] = {
    Unmixed: SeparatePoints.single,
    ListedPairs: SeparatePoints.listed,
    AllPairs: PairsOfPoints,
}
"""How each kind of points is evaluated."""


class SharedNoiseKernel(Kernel):
    """Signal-on-noise tables, all pairs from them."""

    name = "factored"

    def __init__(self, parameters: Parameters, data: SharedNoiseDataset, threads: int | None, activation: Activation) -> None:
        p = parameters
        self.k, self.N = p.k, data.N
        self.activation = activation
        self.layout = Layout.of(data)
        operations = self.layout.features * p.k * p.m * len(self.layout.patterns) * p.alpha
        self._with_neurons: dict[int, SharedNoiseKernel] = {}
        self._set_neurons(Neurons(p, threads_for(threads, operations), activation))

    def _set_neurons(self, neurons: Neurons) -> None:
        self.m, self.neurons = neurons.m, neurons
        self.columns = Columns(self.layout, neurons)
        self._recurring: dict[Points, SeparatePoints | PairsOfPoints] = {}
        self._softmax_sums: dict[Points, SoftmaxSum] = {}
        self._last: tuple[Points, SeparatePoints | PairsOfPoints] | None = None

    def with_neurons(self, m: int) -> SharedNoiseKernel:
        if m == self.m:
            return self
        if m not in self._with_neurons:
            self._with_neurons[m] = copy(self)
            self._with_neurons[m]._set_neurons(self.neurons.of_number(m))
        return self._with_neurons[m]

    @property
    def features(self) -> int:
        return self.layout.features

    def describe(self, points: Points) -> str:
        return f"numba: {self.point_set(points).describe()}"

    def evaluate(self, c: np.ndarray, points: Points, v: np.ndarray | None = None) -> Evaluation:
        return self.point_set(points).evaluate(c, v)

    def outputs(self, c: np.ndarray, points: Points | None = None) -> np.ndarray:
        with self.columns.temporary():
            return super().outputs(c, points)

    def point_set(self, points: Points) -> SeparatePoints | PairsOfPoints:
        """Return what is laid out once for these points."""
        if points.recurs:
            if points not in self._recurring:
                self._recurring[points] = POINT_SETS[type(points)](self.layout, self.neurons, self.columns, points)
            return self._recurring[points]
        if self._last is None or self._last[0] is not points:  # one set is enough: a fresh draw replaces the last
            self._last = points, POINT_SETS[type(points)](self.layout, self.neurons, self.columns, points)
        return self._last[1]

    def fused_sum(self, points: Points, pointwise: PointwiseLoss) -> LossSum | None:
        return self._softmax_sum(points) if isinstance(points, AllPairs) and type(pointwise) is CrossEntropy else None

    def _softmax_sum(self, points: AllPairs) -> SoftmaxSum:
        if points not in self._softmax_sums:
            generic = GenericSum(self, points, CrossEntropy())
            self._softmax_sums[points] = SoftmaxSum(self.pairs_of(points), self.activation.nonnegative, generic)
        return self._softmax_sums[points]

    def pairs_of(self, points: AllPairs) -> PairsOfPoints:
        """Return what is laid out once for all pairs."""
        return cast(PairsOfPoints, self.point_set(points))

    def stiff_hessian(self, c: np.ndarray, points: Points, pointwise: PointwiseLoss, escaped: np.ndarray) -> Curvature | None:
        """Return the stiff part of the Hessian of the cross-entropy; None for other losses, for listed pairs and if no neuron ever escapes."""
        if isinstance(points, ListedPairs) or type(pointwise) is not CrossEntropy or not self.activation.escapes:
            return None
        if isinstance(points, AllPairs):
            return stiff_hessian_of_pairs(self.activation, self.pairs_of(points), self._softmax_sum(points), c, escaped)
        evaluation = self.evaluate(c, points)
        outputs = np.concatenate([evaluation.outputs(batch) for batch in evaluation.batches()], axis=1)  # in the order of the layout
        return stiff_hessian_of_points(self.activation, self.layout, outputs, c, escaped)
