"""The mean cross-entropy of all pairs and its derivative by the tables.

By `loops.softmax` while exponentials of outputs fit into a double, by `loops.softmax_large` beyond.
"""

from __future__ import annotations

import numpy as np

from mvsim.kernels.shared_noise.layout import Layout, PairPlan
from mvsim.kernels.shared_noise.loops.softmax import LARGEST_OUTPUT, linear_part, log_partition_of_pairs
from mvsim.kernels.shared_noise.loops.softmax_large import cross_entropy_of_pairs
from mvsim.kernels.shared_noise.loops.softmax_tangent import softmax_curvature_of_pairs
from mvsim.kernels.shared_noise.sums_direct import Neurons
from mvsim.kernels.shared_noise.tables import Tables


class PairSoftmax:
    """One evaluation, in place: values of the tables become exponentials on every class, then, if all fit, derivatives.

    Parameters
    ----------
    neurons : Neurons
        Runs the blocks of pairs.
    layout : Layout
        The data.
    plan : PairPlan
        The pairs.
    targets : Tables
        Coefficients of the tables in the mean of soft label times output.
    tables : Tables
        Where the values are.
    """

    def __init__(self, neurons: Neurons, layout: Layout, plan: PairPlan, targets: Tables, tables: Tables) -> None:
        self._neurons, self._plan, self._targets, self._tables = neurons, plan, targets, tables
        self._linear, self._largest = np.zeros(neurons.k), np.empty(neurons.k)
        self._where = plan.blocks, layout.start
        weights = plan.repeats, plan.extra_start, plan.extra_pairs, 1.0 / len(layout.labels) ** 2, plan.symmetric
        self._pairs = *weights, targets.U, targets.V, targets.terms

    def exponentiate(self, y0: int, y1: int) -> None:
        """Take the exponentials of some classes, and the part of the loss that is linear in the outputs."""
        tables, blocks = self._tables, len(self._plan.blocks)
        for target, table in zip(self._targets.arrays, tables.arrays, strict=True):
            linear_part(y0, y1, target, table, self._linear)
        terms = tables.terms[y0:y1]
        terms[:, :blocks] *= self._plan.repeats
        first = tables.U[y0:y1].max(axis=(1, 2))
        second = first if tables.V is tables.U else tables.V[y0:y1].max(axis=(1, 2))
        self._largest[y0:y1] = first + second + terms[:, :blocks].max(axis=1).clip(0.0) + terms[:, blocks:].max(axis=1).clip(0.0)
        if (self._largest[y0:y1] < LARGEST_OUTPUT).all():
            for table in tables.arrays:
                np.exp(table[y0:y1], out=table[y0:y1])

    @property
    def fits(self) -> bool:
        """Whether all outputs are finite and small enough."""
        return bool((self._largest < LARGEST_OUTPUT).all())

    def loss_and_derivative(self) -> tuple[float, Tables]:
        """Return both; the derivative is in the tables."""
        tables, sums = self._tables, np.empty(len(self._plan.blocks))
        arrays = (*self._where, tables.U, tables.V, tables.terms, *self._pairs, sums)
        self._neurons.run_blocks(len(sums), lambda b0, b1: log_partition_of_pairs(b0, b1, *arrays))
        return float(sums.sum() - self._linear.sum()), tables

    def derivative_and_change(self, tangents: Tables) -> tuple[Tables, Tables]:
        """Return the derivative, in the tables, and how it changes where the tables move by ``tangents``, in these."""
        tables = self._tables
        arrays = (*self._where, tables.U, tables.V, tables.terms, tangents.U, tangents.V, tangents.terms, *self._pairs)
        self._neurons.run_blocks(len(self._plan.blocks), lambda b0, b1: softmax_curvature_of_pairs(b0, b1, *arrays))
        return tables, tangents


def loss_and_derivative_of_values(neurons: Neurons, layout: Layout, plan: PairPlan, tables: Tables) -> tuple[float, Tables]:
    """Return both at outputs of any size; ``tables`` hold the values, and then the derivative."""
    blocks = len(plan.blocks)
    tables.terms[:, :blocks] *= plan.repeats
    sums, where = np.empty(blocks), (plan.blocks, layout.start, layout.labels, plan.lam)
    pairs = plan.repeats, plan.extra_start, plan.extra_pairs, 1.0 / len(layout.labels) ** 2, plan.symmetric
    arrays = (*where, tables.U, tables.V, tables.terms, *pairs, sums)
    neurons.run_blocks(blocks, lambda b0, b1: cross_entropy_of_pairs(b0, b1, *arrays))
    return float(sums.sum()), tables
