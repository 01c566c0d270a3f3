"""The compiled kernel for data whose noise is shared by the patches of a point: exact, and its cost does not depend on P.

Where a signal patch of point i meets no signal patch of point j, it meets the noise pattern h_j of j, so with lam the weight of i

    g_y(z_ij) = U[y, h_j, i] + V[y, h_i, j] + (P - 4 C_P) B[y, h_i, h_j] + corrections,
    U[y, h, i] = sum_{p signal of i} sum_r R(lam a_{i,p,r} + (1 - lam) n_{h,r}),   V the same with 1 - lam for lam,
    B[y, g, h] = sum_r R(lam n_{g,r} + (1 - lam) n_{h,r}).

U depends on the second point only through its pattern: N G tables instead of N^2. A position that holds signal p of i and signal q of j at
once has been counted as two signal-on-noise patches and takes one noise-on-noise patch too few, so it is corrected by

    R(lam a_p + (1 - lam) a_q) - R(lam a_p + (1 - lam) n_{h_j}) - R(lam n_{h_i} + (1 - lam) a_q) + R(lam n_{h_i} + (1 - lam) n_{h_j}).

For i = j every signal patch coincides with itself and the sum is g(x_i), as it must be. The gradient is the adjoint of these sums, the
Hessian-vector product their second-order adjoint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np

from mvsim.activations import Activation
from mvsim.data import SharedNoiseDataset
from mvsim.diagnostics import softmax_gap
from mvsim.kernels.jit.threads import check_threads
from mvsim.kernels.kernel import Kernel
from mvsim.kernels.shared_noise.fused import PairGradient
from mvsim.kernels.shared_noise.layout import Layout, PairBlocks, PairPlan, plan_pairs
from mvsim.kernels.shared_noise.listed_outputs import ListedOutputs
from mvsim.kernels.shared_noise.loops.columns import fill_columns, pull_back_columns
from mvsim.kernels.shared_noise.pair_softmax import PairSoftmax, loss_and_derivative_of_values
from mvsim.kernels.shared_noise.single_outputs import DirectOutputs, MomentOutputs
from mvsim.kernels.shared_noise.stiff_hessian import Escaped, PairProbability
from mvsim.kernels.shared_noise.sums_by_moments import MomentSums
from mvsim.kernels.shared_noise.sums_direct import DirectSums, Neurons
from mvsim.kernels.shared_noise.tables import Block, Derivatives, Values
from mvsim.linalg.arrow_matrix import Curvature
from mvsim.losses import AllPairs, CrossEntropy, ListedPairs, Points, PointwiseLoss, Unmixed
from mvsim.losses.points import soft_labels
from mvsim.parameters import Parameters


class FactoredKernel(Kernel):
    """Signal-on-noise tables, all pairs from them."""

    name = "factored"

    def __init__(self, parameters: Parameters, data: SharedNoiseDataset, threads: int | None, activation: Activation) -> None:
        self.layout = Layout.of(data)
        self._parameters = p = parameters
        patterns = len(self.layout.patterns)
        self.neurons = Neurons(p, check_threads(threads, 2 * p.k * p.k * p.m * patterns * p.alpha), activation)
        self._shape = (p.k, 2 * p.k + patterns, p.m)
        self._pairs: dict[AllPairs, _Pairs] = {}
        self._last_listed: tuple[ListedPairs, ListedOutputs] | None = None

    def describe(self, points: Points) -> str:
        """Say in words which algorithm serves these points."""
        how = "by moments" if self.neurons.moment_order else "one by one"
        if isinstance(points, Unmixed):
            return f"numba: shared noise, neurons summed {how}"
        if isinstance(points, ListedPairs):
            return f"numba: shared noise, {len(points.first)} mixed points, neurons summed one by one"
        extra = len(self._pairs_of(points).plan.extra_pairs)
        return (
            f"numba: all pairs factored over {len(self.layout.patterns)} noise patterns, neurons summed {how}, "
            f"{extra} pairs with coinciding signal patches"
        )

    def outputs(self, c: np.ndarray) -> np.ndarray:
        """Return (k, N): g_y(x_i) on the unmixed points."""
        g = np.empty((self.neurons.k, len(self.layout.labels)))
        with self.neurons.one_blas_thread():
            g[:, self.layout.order] = self._forward(self._unmixed, g.shape, c, np.empty(self._shape))
        return g

    def loss(self, c: np.ndarray, points: Points, pointwise: PointwiseLoss) -> float:
        """Return the weighted sum of the pointwise loss over ``points``."""
        with self.neurons.one_blas_thread():
            if isinstance(points, AllPairs):
                return self._pair_loss(c, self._pairs_of(points), pointwise)[1]
            sums, targets = self._separate(points)
            return float(pointwise.value(self._forward(sums, targets.shape, c, self._columns_buffer), targets).mean())

    def loss_and_gradient(self, c: np.ndarray, points: Points, pointwise: PointwiseLoss) -> tuple[float, np.ndarray]:
        """Return the loss and its gradient by c, (k, m, k, 2)."""
        with self.neurons.one_blas_thread():
            if isinstance(points, AllPairs):
                pairs = self._pairs_of(points)
                if type(pointwise) is CrossEntropy and pairs.fused is not None:
                    fused = pairs.fused.loss_and_gradient(c)
                    if fused is not None:
                        return fused
                columns, loss, D = self._pair_loss(c, pairs, pointwise)
                return loss, self._gradient(c.shape, lambda y0, y1, out: pairs.sums.pull_back(y0, y1, columns, D, out))
            sums, targets = self._separate(points)
            columns = self._columns_buffer
            g = self._forward(sums, targets.shape, c, columns)
            residual = pointwise.residual(g, targets) / g.shape[1]
            gradient = self._gradient(c.shape, lambda y0, y1, out: sums.pull_back(y0, y1, columns, residual, out))
            return float(pointwise.value(g, targets).mean()), gradient

    def hessian_vector_product(self, c: np.ndarray, v: np.ndarray, points: Points, pointwise: PointwiseLoss) -> np.ndarray:
        """Return the derivative of the gradient along v, (k, m, k, 2)."""
        with self.neurons.one_blas_thread():
            if isinstance(points, AllPairs):
                return self._pair_curvature(c, v, self._pairs_of(points), pointwise)
            sums, targets = self._separate(points)
            columns, moves, g, dg = self._columns_buffer, np.empty(self._shape), np.empty(targets.shape), np.empty(targets.shape)
            fill, fill_moves = self._filling(c, columns), self._filling(v, moves)

            def forward(y0: int, y1: int) -> None:
                fill(y0, y1)
                fill_moves(y0, y1)
                sums.values(y0, y1, columns, g)
                sums.tangents(y0, y1, columns, moves, dg)

            self.neurons.run(forward)
            residual, change = pointwise.residual(g, targets) / len(g[0]), pointwise.curvature(g, targets, dg) / len(g[0])
            return self._gradient(c.shape, lambda y0, y1, out: sums.pull_back_tangent(y0, y1, columns, moves, residual, change, out))

    def curvature(self, c: np.ndarray, points: Points, pointwise: PointwiseLoss, beyond: float) -> Curvature | None:
        """Return the stiff part of the Hessian of the cross-entropy (see `stiff_hessian`); None for other losses and for listed pairs."""
        if type(pointwise) is not CrossEntropy or isinstance(points, ListedPairs):
            return None
        escaped = Escaped(self._parameters, self.layout, c, beyond)
        if not escaped.places:
            return Curvature.of_border(np.zeros(0, np.int64), np.zeros((0, 0)))
        with self.neurons.one_blas_thread():
            if isinstance(points, Unmixed):
                g = self._forward(self._unmixed, (self.neurons.k, len(self.layout.labels)), c, self._columns_buffer)
                return escaped.unmixed(softmax_gap(g, self.layout.labels))
            pairs, columns = self._pairs_of(points), self._columns(c)
            values = pairs.empty_tables()
            self.neurons.run(lambda y0, y1: pairs.sums.values(y0, y1, columns, values))
            probability = PairProbability.of(self.layout, pairs.plan, values, self.neurons.threads)
            return escaped.pairs(pairs.plan, probability, self._pair_loss(c, pairs, pointwise)[2], self.neurons.threads)

    def _pair_curvature(self, c: np.ndarray, v: np.ndarray, pairs: _Pairs, pointwise: PointwiseLoss) -> np.ndarray:
        """Return the Hessian-vector product of the mean over all pairs."""
        columns, moves, values, tangents = self._columns_buffer, np.empty(self._shape), pairs.values_buffer, pairs.empty_tables()
        fill, fill_moves = self._filling(c, columns), self._filling(v, moves)

        def forward(y0: int, y1: int) -> None:
            fill(y0, y1)
            fill_moves(y0, y1)
            pairs.sums.values(y0, y1, columns, values)
            pairs.sums.tangents(y0, y1, columns, moves, tangents)

        softmax = self._run_to_exponentials(forward, pairs, pointwise)
        if softmax is not None:
            D, dD = softmax.derivative_and_change(tangents)
        else:
            D, dD = (Derivatives.zeros(self.neurons.k, self.layout, pairs.plan) for _ in range(2))
            for block in pairs.blocks:
                g, dg = block.gather(values), block.gather(tangents)
                block.scatter(D, block.weight * pointwise.residual(g, block.targets))
                block.scatter(dD, block.weight * pointwise.curvature(g, block.targets, dg))
        return self._gradient(c.shape, lambda y0, y1, out: pairs.sums.pull_back_tangent(y0, y1, columns, moves, D, dD, out))

    def _run_to_exponentials(self, forward: Callable[[int, int], None], pairs: _Pairs, pointwise: PointwiseLoss) -> PairSoftmax | None:
        """Run ``forward``, which fills the values of the pairs, and put exponentials in their place if these serve the loss and fit."""
        if type(pointwise) is CrossEntropy:
            softmax = PairSoftmax(self.neurons, pairs.pairs, pairs.targets, pairs.values_buffer)

            def forward_to_exponentials(y0: int, y1: int) -> None:
                forward(y0, y1)
                softmax.exponentiate(y0, y1)

            self.neurons.run(forward_to_exponentials)
            if softmax.fits:
                return softmax
        self.neurons.run(forward)
        return None

    def _separate(self, points: Unmixed | ListedPairs) -> tuple[DirectOutputs | MomentOutputs | ListedOutputs, np.ndarray]:
        """Return the sums for points that are summed one by one, and their soft labels (k, n)."""
        if isinstance(points, Unmixed):
            return self._unmixed, soft_labels(self.neurons.k, self.layout.labels, self.layout.labels, 1.0)
        sums = self._listed(points)
        return sums, soft_labels(self.neurons.k, *sums.labels, points.lam)

    def _listed(self, points: ListedPairs) -> ListedOutputs:
        if self._last_listed is None or self._last_listed[0] is not points:  # one set is enough: a fresh draw replaces the last
            self._last_listed = points, ListedOutputs(self.layout, points, self.neurons)
        return self._last_listed[1]

    @cached_property
    def _unmixed(self) -> DirectOutputs | MomentOutputs:
        order = self.neurons.moment_order
        return DirectOutputs(self.layout, self.neurons) if order is None else MomentOutputs(self.layout, self.neurons, order)

    def _pairs_of(self, points: AllPairs) -> _Pairs:
        if points not in self._pairs:
            self._pairs[points] = _Pairs(self.layout, self.neurons, points)
        return self._pairs[points]

    def _columns(self, c: np.ndarray) -> np.ndarray:
        """Return (k, 2k + G, m): correlations with features, then pre-activations of the noise patterns, in units of rho."""
        columns = np.empty(self._shape)
        self.neurons.run(self._filling(c, columns))
        return columns

    def _filling(self, c: np.ndarray, columns: np.ndarray) -> Callable[[int, int], None]:
        """Return what fills the columns of some classes."""
        correlations, patterns = np.ascontiguousarray(c).reshape(len(c), -1, self.layout.base), self.layout.patterns
        return lambda y0, y1: fill_columns(y0, y1, correlations, patterns, 1.0 / self.neurons.scale, columns)

    # Evaluations work in the same memory again and again: taking it fresh from the system would cost as much as what is computed in it.

    @cached_property
    def _columns_buffer(self) -> np.ndarray:
        return np.empty(self._shape)

    @cached_property
    def _derivative_buffer(self) -> np.ndarray:
        return np.empty(self._shape)

    def _forward(self, sums: DirectOutputs | MomentOutputs | ListedOutputs, shape: tuple[int, ...], c: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Fill the columns and return the outputs (k, n)."""
        g, fill = np.empty(shape), self._filling(c, columns)

        def forward(y0: int, y1: int) -> None:
            fill(y0, y1)
            sums.values(y0, y1, columns, g)

        self.neurons.run(forward)
        return g

    def _gradient(self, shape: tuple[int, ...], pull_back: Callable[[int, int, np.ndarray], None]) -> np.ndarray:
        """Return the derivative by c: ``pull_back`` adds that by the columns times rho."""
        out, gradient = self._derivative_buffer, np.empty((self._shape[0], self._shape[2], self.layout.base))

        def backward(y0: int, y1: int) -> None:
            out[y0:y1] = 0.0
            pull_back(y0, y1, out)
            pull_back_columns(y0, y1, out, self.layout.patterns, gradient)

        self.neurons.run(backward)
        return gradient.reshape(shape)

    def _pair_loss(self, c: np.ndarray, pairs: _Pairs, pointwise: PointwiseLoss) -> tuple[np.ndarray, float, Derivatives]:
        """Return the columns, the mean loss of all pairs and its derivative by the tables."""
        columns, values = self._columns_buffer, pairs.values_buffer
        fill = self._filling(c, columns)

        def forward(y0: int, y1: int) -> None:
            fill(y0, y1)
            pairs.sums.values(y0, y1, columns, values)

        softmax = self._run_to_exponentials(forward, pairs, pointwise)
        if softmax is not None:
            return columns, *softmax.loss_and_derivative()
        if type(pointwise) is CrossEntropy:
            return columns, *loss_and_derivative_of_values(self.neurons, pairs.pairs, values)
        loss, D = 0.0, Derivatives.zeros(self.neurons.k, self.layout, pairs.plan)
        for block in pairs.blocks:
            g = block.gather(values)
            loss += float(block.weight @ pointwise.value(g, block.targets))
            block.scatter(D, block.weight * pointwise.residual(g, block.targets))
        return columns, loss, D


class _Pairs:
    """What is laid out once for all pairs at one lam."""

    def __init__(self, layout: Layout, neurons: Neurons, points: AllPairs) -> None:
        self._layout, self._neurons = layout, neurons
        self.plan: PairPlan = plan_pairs(layout, points.lam, points.symmetric)
        self.pairs = PairBlocks.of(layout, self.plan)
        order = neurons.moment_order
        self.sums = self.direct if order is None else MomentSums(layout, self.plan, neurons, order)

    def empty_tables(self) -> Values:
        """Return tables to be filled."""
        return Values.empty(self._neurons.k, self._layout, self.plan)

    @cached_property
    def values_buffer(self) -> Values:
        """Memory for the values at one c, used again and again."""
        return self.empty_tables()

    @cached_property
    def fused(self) -> PairGradient | None:
        """Loss and gradient of the cross-entropy in one call, where neurons are summed by moments."""
        if not isinstance(self.sums, MomentSums):
            return None
        return PairGradient(self._layout, self.pairs, self._neurons, self.sums, self.targets, self.values_buffer)

    @cached_property
    def direct(self) -> DirectSums:
        """Sums with tangents."""
        return DirectSums(self._layout, self.plan, self._neurons)

    @cached_property
    def targets(self) -> Derivatives:
        """The derivatives of the mean of soft label times output: constants of the data."""
        targets = Derivatives.zeros(self._neurons.k, self._layout, self.plan)
        for block in self.each_block():
            block.scatter(targets, block.weight * block.targets)
        return targets

    @cached_property
    def blocks(self) -> list[Block]:
        """The pairs as columns, block by block."""
        return list(self.each_block())

    def each_block(self) -> Iterator[Block]:
        """Lay out the pairs as columns, block by block, without keeping them."""
        return (Block.of(self._layout, self.plan, index) for index in range(len(self.plan.blocks)))
