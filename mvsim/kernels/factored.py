"""The compiled kernel for data whose noise is shared by the patches of a point: exact, and its cost does not depend on P.

Where a signal patch of point i meets no signal patch of point j, it meets the noise pattern h_j of j, so with lam the weight of i

    g_y(z_ij) = U[y, i, h_j] + V[y, j, h_i] + (P - 4 C_P) B[y, h_i, h_j] + corrections,
    U[y, i, h] = sum_{p signal of i} sum_r R(lam a_{i,p,r} + (1 - lam) n_{h,r}),   V the same with 1 - lam for lam,
    B[y, g, h] = sum_r R(lam n_{g,r} + (1 - lam) n_{h,r}).

U depends on the second point only through its pattern: N G tables instead of N^2. A position that holds signal p of i and signal q of j at
once has been counted as two signal-on-noise patches and takes one noise-on-noise patch too few, so it is corrected by

    R(lam a_p + (1 - lam) a_q) - R(lam a_p + (1 - lam) n_{h_j}) - R(lam n_{h_i} + (1 - lam) a_q) + R(lam n_{h_i} + (1 - lam) n_{h_j}).

For i = j every signal patch coincides with itself and the sum is g(x_i), as it must be. The gradient is the adjoint of these sums, the
Hessian-vector product their second-order adjoint.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from mvsim.data import SharedNoiseDataset
from mvsim.kernels import _compiled as compiled
from mvsim.kernels._pair_softmax import pair_cross_entropy
from mvsim.kernels.base import Kernel, PointwiseLoss
from mvsim.kernels.cross_entropy import CrossEntropy
from mvsim.kernels.pair_blocks import Block, Tables
from mvsim.kernels.pairing import Layout, PairPlan, Terms, plan_pairs, unmixed_terms
from mvsim.kernels.points import AllPairs, Points, Unmixed, soft_labels
from mvsim.kernels.threads import check_threads, run_ranges
from mvsim.parameters import Parameters


def _arrays(terms: Terms) -> tuple[np.ndarray, ...]:
    return terms.point, terms.count, terms.first, terms.a, terms.second, terms.b


class FactoredKernel(Kernel):
    """Signal-on-noise tables, all pairs from them."""

    name = "factored"

    def __init__(self, parameters: Parameters, data: SharedNoiseDataset, threads: int | None) -> None:
        self.threads = check_threads(threads)
        self.layout = Layout.of(data)
        self._k = data.k
        self._activation = (parameters.rho, parameters.alpha, compiled.power_tag(parameters.alpha))
        self._plans: dict[AllPairs, PairPlan] = {}

    def describe(self, points: Points) -> str:
        """Say in words which algorithm serves these points."""
        if isinstance(points, Unmixed):
            return f"numba: shared noise, {self.threads} threads"
        extra = len(self._plan(points).extra_pairs)
        return f"numba: all pairs factored over {len(self.layout.patterns)} noise patterns, {extra} pairs with coinciding signal patches, {self.threads} threads"

    def outputs(self, c: np.ndarray) -> np.ndarray:
        """Return (k, N): g_y(x_i) on the unmixed points."""
        g = np.empty((self._k, len(self.layout.labels)))
        g[:, self.layout.order] = self._term_values(self._columns(c), self._unmixed, len(self.layout.labels))
        return g

    def loss(self, c: np.ndarray, points: Points, pointwise: PointwiseLoss) -> float:
        """Return the weighted sum of the pointwise loss over ``points``."""
        columns = self._columns(c)
        return self._unmixed_loss(columns, pointwise)[0] if isinstance(points, Unmixed) else self._pair_loss(columns, self._plan(points), pointwise)[0]

    def loss_and_gradient(self, c: np.ndarray, points: Points, pointwise: PointwiseLoss) -> tuple[float, np.ndarray]:
        """Return the loss and its gradient by c, (k, m, k, 2)."""
        columns = self._columns(c)
        out = np.zeros_like(columns)
        if isinstance(points, Unmixed):
            loss, residual = self._unmixed_loss(columns, pointwise)
            self._run(compiled.term_pull_back, columns, *_arrays(self._unmixed), residual, out)
            return loss, self._to_correlations(out)
        plan = self._plan(points)
        loss, D = self._pair_loss(columns, plan, pointwise)
        for lam, residual in D.roles(plan):
            self._run(compiled.table_pull_back, columns, self.layout.feature, self.layout.signal, lam, residual, out)
        self._run(compiled.term_pull_back, columns, *_arrays(plan.terms), D.terms, out)
        return loss, self._to_correlations(out)

    def hessian_vector_product(self, c: np.ndarray, v: np.ndarray, points: Points, pointwise: PointwiseLoss) -> np.ndarray:
        """Return the derivative of the gradient along v, (k, m, k, 2)."""
        columns, moves = self._columns(c), self._columns(v)
        out = np.zeros_like(columns)
        if isinstance(points, Unmixed):
            N, terms = len(self.layout.labels), _arrays(self._unmixed)
            targets = soft_labels(self._k, self.layout.labels, self.layout.labels, 1.0)
            g = self._term_values(columns, self._unmixed, N)
            dg = np.zeros_like(g)
            self._run(compiled.term_tangents, columns, moves, *terms, dg)
            residual, change = pointwise.residual(g, targets) / N, pointwise.curvature(g, targets, dg) / N
            self._run(compiled.term_pull_back_tangent, columns, moves, *terms, residual, change, out)
            return self._to_correlations(out)
        plan = self._plan(points)
        values, tangents = self._tables(columns, plan), self._table_tangents(columns, moves, plan)
        D, dD = Tables.zeros(self._k, self.layout, plan), Tables.zeros(self._k, self.layout, plan)
        for index in range(len(plan.blocks)):
            block = Block.of(self.layout, plan, index)
            g, dg = block.gather(values), block.gather(tangents)
            block.scatter(D, block.weight * pointwise.residual(g, block.targets))
            block.scatter(dD, block.weight * pointwise.curvature(g, block.targets, dg))
        for (lam, residual), (_, change) in zip(D.roles(plan), dD.roles(plan), strict=True):
            self._run(compiled.table_pull_back_tangent, columns, moves, self.layout.feature, self.layout.signal, lam, residual, change, out)
        self._run(compiled.term_pull_back_tangent, columns, moves, *_arrays(plan.terms), D.terms, dD.terms, out)
        return self._to_correlations(out)

    # The sums over neurons ---------------------------------------------------------------------------------------------------------------

    @cached_property
    def _unmixed(self) -> Terms:
        return unmixed_terms(self.layout)

    def _plan(self, points: AllPairs) -> PairPlan:
        if points not in self._plans:
            self._plans[points] = plan_pairs(self.layout, points.lam, points.symmetric)
        return self._plans[points]

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

    def _run(self, loop: Callable[..., None], *arrays: Any) -> None:
        """Call a compiled loop on ranges of classes; each range owns its rows of the results."""
        run_ranges(self._k, self.threads, lambda y0, y1: loop(y0, y1, *arrays, *self._activation))

    def _term_values(self, columns: np.ndarray, terms: Terms, count: int) -> np.ndarray:
        outputs = np.zeros((self._k, count))
        self._run(compiled.term_values, columns, *_arrays(terms), outputs)
        return outputs

    def _tables(self, columns: np.ndarray, plan: PairPlan) -> Tables:
        """Return all sums over neurons that the outputs of all pairs are made of."""
        values = Tables.zeros(self._k, self.layout, plan)
        for lam, table in values.roles(plan):
            self._run(compiled.table_values, columns, self.layout.feature, self.layout.signal, lam, table)
        self._run(compiled.term_values, columns, *_arrays(plan.terms), values.terms)
        return values

    def _table_tangents(self, columns: np.ndarray, moves: np.ndarray, plan: PairPlan) -> Tables:
        """Return the derivative of `_tables` along moves."""
        values = Tables.zeros(self._k, self.layout, plan)
        for lam, table in values.roles(plan):
            self._run(compiled.table_tangents, columns, moves, self.layout.feature, self.layout.signal, lam, table)
        self._run(compiled.term_tangents, columns, moves, *_arrays(plan.terms), values.terms)
        return values

    # The sums over points ----------------------------------------------------------------------------------------------------------------

    def _unmixed_loss(self, columns: np.ndarray, pointwise: PointwiseLoss) -> tuple[float, np.ndarray]:
        """Return the mean loss of the points and its derivative by their outputs, (k, N), in sorted order."""
        labels = self.layout.labels
        g = self._term_values(columns, self._unmixed, len(labels))
        targets = soft_labels(self._k, labels, labels, 1.0)
        return float(pointwise.value(g, targets).mean()), pointwise.residual(g, targets) / len(labels)

    def _pair_loss(self, columns: np.ndarray, plan: PairPlan, pointwise: PointwiseLoss) -> tuple[float, Tables]:
        """Return the mean loss of all pairs and its derivative by the tables."""
        values = self._tables(columns, plan)
        D = Tables.zeros(self._k, self.layout, plan)
        losses = np.empty(len(plan.blocks))
        if isinstance(pointwise, CrossEntropy):
            split = len(plan.blocks)
            noise, extra = values.terms[:, :split], values.terms[:, split:]
            Dnoise, Dextra = D.terms[:, :split], D.terms[:, split:]
            run_ranges(
                split, self.threads,
                lambda b0, b1: pair_cross_entropy(
                    b0, b1, plan.blocks, self.layout.start, self.layout.labels, values.U, values.V, noise, plan.repeats, extra, plan.extra_start,
                    plan.extra_pairs, plan.lam, 1.0 / len(self.layout.labels) ** 2, plan.symmetric, losses, D.U, D.V, Dnoise, Dextra,
                ),
            )  # fmt: skip
        else:
            for index in range(len(plan.blocks)):
                block = Block.of(self.layout, plan, index)
                g = block.gather(values)
                losses[index] = block.weight @ pointwise.value(g, block.targets)
                block.scatter(D, block.weight * pointwise.residual(g, block.targets))
        return float(losses.sum()), D
