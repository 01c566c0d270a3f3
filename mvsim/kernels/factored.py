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

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from mvsim.data import SharedNoiseDataset
from mvsim.kernels._pair_softmax import LARGEST_OUTPUT, log_partition_of_pairs
from mvsim.kernels.base import Kernel, PointwiseLoss
from mvsim.kernels.cross_entropy import CrossEntropy
from mvsim.kernels.listed import ListedOutputs
from mvsim.kernels.neuron_sums import DirectSums, MomentSums, Neurons
from mvsim.kernels.pair_blocks import Block, Tables
from mvsim.kernels.pairing import Layout, PairPlan, plan_pairs
from mvsim.kernels.points import AllPairs, ListedPairs, Points, Unmixed, soft_labels
from mvsim.kernels.threads import check_threads
from mvsim.kernels.unmixed import DirectOutputs, MomentOutputs
from mvsim.parameters import Parameters


class FactoredKernel(Kernel):
    """Signal-on-noise tables, all pairs from them."""

    name = "factored"

    def __init__(self, parameters: Parameters, data: SharedNoiseDataset, threads: int | None) -> None:
        self.layout = Layout.of(data)
        p, patterns = parameters, len(self.layout.patterns)
        self.neurons = Neurons(p, check_threads(threads, 2 * p.k * p.k * p.m * patterns * p.alpha))
        self._pairs: dict[AllPairs, _Pairs] = {}
        self._last_listed: tuple[ListedPairs, ListedOutputs] | None = None

    def describe(self, points: Points) -> str:
        """Say in words which algorithm serves these points."""
        how = "by moments" if self.neurons.integer_power else "one by one"
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
        g[:, self.layout.order] = self._unmixed.values(self._columns(c))
        return g

    def loss(self, c: np.ndarray, points: Points, pointwise: PointwiseLoss) -> float:
        """Return the weighted sum of the pointwise loss over ``points``."""
        columns = self._columns(c)
        if isinstance(points, AllPairs):
            return self._pair_loss(columns, self._pairs_of(points), pointwise)[0]
        sums, targets = self._separate(points)
        return float(pointwise.value(sums.values(columns), targets).mean())

    def loss_and_gradient(self, c: np.ndarray, points: Points, pointwise: PointwiseLoss) -> tuple[float, np.ndarray]:
        """Return the loss and its gradient by c, (k, m, k, 2)."""
        columns = self._columns(c)
        out = np.zeros_like(columns)
        if isinstance(points, AllPairs):
            pairs = self._pairs_of(points)
            loss, D = self._pair_loss(columns, pairs, pointwise)
            pairs.sums.pull_back(columns, D, out)
        else:
            sums, targets = self._separate(points)
            g = sums.values(columns)
            loss = float(pointwise.value(g, targets).mean())
            sums.pull_back(columns, pointwise.residual(g, targets) / g.shape[1], out)
        return loss, self._to_correlations(out)

    def hessian_vector_product(self, c: np.ndarray, v: np.ndarray, points: Points, pointwise: PointwiseLoss) -> np.ndarray:
        """Return the derivative of the gradient along v, (k, m, k, 2)."""
        columns, moves = self._columns(c), self._columns(v)
        out = np.zeros_like(columns)
        if isinstance(points, AllPairs):
            self._add_pair_curvature(columns, moves, self._pairs_of(points), pointwise, out)
        else:
            sums = self._unmixed_direct if isinstance(points, Unmixed) else self._listed(points)
            g, dg, targets = sums.values(columns), sums.tangents(columns, moves), self._separate(points)[1]
            residual, change = pointwise.residual(g, targets), pointwise.curvature(g, targets, dg)
            sums.pull_back_tangent(columns, moves, residual / g.shape[1], change / g.shape[1], out)
        return self._to_correlations(out)

    def _add_pair_curvature(self, columns: np.ndarray, moves: np.ndarray, pairs: _Pairs, pointwise: PointwiseLoss, out: np.ndarray) -> None:
        """Add the Hessian-vector product of the mean over all pairs to out, the shape of columns."""
        values, tangents = pairs.sums.values(columns), pairs.direct.tangents(columns, moves)
        D, dD = Tables.zeros(self.neurons.k, self.layout, pairs.plan), Tables.zeros(self.neurons.k, self.layout, pairs.plan)
        for block in pairs.blocks:
            g, dg = block.gather(values), block.gather(tangents)
            block.scatter(D, block.weight * pointwise.residual(g, block.targets))
            block.scatter(dD, block.weight * pointwise.curvature(g, block.targets, dg))
        pairs.direct.pull_back_tangent(columns, moves, D, dD, out)

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
    def _unmixed_direct(self) -> DirectOutputs:
        return DirectOutputs(self.layout, self.neurons)

    @cached_property
    def _unmixed(self) -> DirectOutputs | MomentOutputs:
        return MomentOutputs(self.layout, self.neurons) if self.neurons.integer_power else self._unmixed_direct

    def _pairs_of(self, points: AllPairs) -> _Pairs:
        if points not in self._pairs:
            self._pairs[points] = _Pairs(self.layout, self.neurons, points)
        return self._pairs[points]

    def _columns(self, c: np.ndarray) -> np.ndarray:
        """Return (k, 2k + G, m): correlations with features, then pre-activations of the noise patterns."""
        k, m = c.shape[:2]
        features = c.reshape(k, m, 2 * k).transpose(0, 2, 1)
        return np.concatenate([features, self.layout.patterns @ features], axis=1)

    def _to_correlations(self, columns: np.ndarray) -> np.ndarray:
        """Return the adjoint of `_columns`: (k, m, k, 2)."""
        features, noise = columns[:, : self.layout.base], columns[:, self.layout.base :]
        gradient = features + self.layout.patterns.T @ noise
        k, _, m = gradient.shape
        return np.ascontiguousarray(gradient.transpose(0, 2, 1)).reshape(k, m, k, 2)

    def _pair_loss(self, columns: np.ndarray, pairs: _Pairs, pointwise: PointwiseLoss) -> tuple[float, Tables]:
        """Return the mean loss of all pairs and its derivative by the tables."""
        plan, values = pairs.plan, pairs.sums.values(columns)
        if type(pointwise) is CrossEntropy and _largest_output(values, plan) < LARGEST_OUTPUT:
            return self._pair_cross_entropy(values, pairs)
        loss, D = 0.0, Tables.zeros(self.neurons.k, self.layout, plan)
        for block in pairs.blocks:
            g = block.gather(values)
            loss += float(block.weight @ pointwise.value(g, block.targets))
            block.scatter(D, block.weight * pointwise.residual(g, block.targets))
        return loss, D

    def _pair_cross_entropy(self, values: Tables, pairs: _Pairs) -> tuple[float, Tables]:
        """Return the same for the cross-entropy: mean log partition function less the part that is linear in the tables."""
        plan, layout = pairs.plan, self.layout
        blocks, weight = len(plan.blocks), 1.0 / len(layout.labels) ** 2
        EU = self.neurons.exponential(values.U)
        EV = EU if plan.symmetric else self.neurons.exponential(values.V)
        EB, Eextra = np.exp(plan.repeats * values.terms[:, :blocks]), np.exp(values.terms[:, blocks:])
        D, sums = pairs.targets.negative(), np.empty(blocks)
        arrays = (plan.repeats, plan.extra_start, plan.extra_pairs, weight, plan.symmetric, sums, D.U, D.V, D.terms[:, :blocks], D.terms[:, blocks:])
        self.neurons.run_blocks(blocks, lambda b0, b1: log_partition_of_pairs(b0, b1, plan.blocks, layout.start, EU, EV, EB, Eextra, *arrays))
        return float(sums.sum()) - pairs.targets.dot(values), D


def _largest_output(values: Tables, plan: PairPlan) -> float:
    """Return a bound on every sum from which an output is put together."""
    blocks = len(plan.blocks)
    noise, extra = values.terms[:, :blocks], values.terms[:, blocks:]
    first = values.U.max()
    second = first if values.V is values.U else values.V.max()
    return float(first + second + abs(plan.repeats) * noise.max(initial=0.0) + np.abs(extra).max(initial=0.0))


class _Pairs:
    """What is laid out once for all pairs at one lam."""

    def __init__(self, layout: Layout, neurons: Neurons, points: AllPairs) -> None:
        self._layout, self._neurons = layout, neurons
        self.plan: PairPlan = plan_pairs(layout, points.lam, points.symmetric)
        self.sums = MomentSums(layout, self.plan, neurons) if neurons.integer_power else self.direct

    @cached_property
    def direct(self) -> DirectSums:
        """Sums with tangents."""
        return DirectSums(self._layout, self.plan, self._neurons)

    @cached_property
    def targets(self) -> Tables:
        """The coefficients of the tables in the mean of soft label times output: constants of the data."""
        targets = Tables.zeros(self._neurons.k, self._layout, self.plan)
        for block in self._each_block():
            block.scatter(targets, block.weight * block.targets)
        return targets

    @cached_property
    def blocks(self) -> list[Block]:
        """The pairs as columns, block by block."""
        return list(self._each_block())

    def _each_block(self) -> Iterator[Block]:
        return (Block.of(self._layout, self.plan, index) for index in range(len(self.plan.blocks)))
