"""The loss of all pairs and its gradient, when neurons are summed by moments and the loss is the cross-entropy: the main job."""

from __future__ import annotations

import numpy as np

from mvsim.kernels.jit.threads import run_together
from mvsim.kernels.shared_noise.layout import Layout, PairPlan
from mvsim.kernels.shared_noise.loops.fused import Constants, Memory, pair_gradient
from mvsim.kernels.shared_noise.sums_by_moments import MomentSums
from mvsim.kernels.shared_noise.sums_direct import Neurons
from mvsim.kernels.shared_noise.tables import Tables


class PairGradient:
    """The compiled call with its constants and its memory.

    Parameters
    ----------
    layout : Layout
        The data.
    plan : PairPlan
        The pairs.
    neurons : Neurons
        The activation.
    sums : MomentSums
        Sums over neurons.
    targets, memory : Tables
        Coefficients of the tables in the mean of soft label times output, and tables to work in.
    """

    def __init__(self, layout: Layout, plan: PairPlan, neurons: Neurons, sums: MomentSums, targets: Tables, memory: Tables) -> None:
        k, m, N, G = neurons.k, neurons.m, len(layout.labels), len(layout.patterns)
        self._threads = min(neurons.threads, k)  # one that finds nothing to do only takes time from the others
        self._constants = Constants(
            layout.patterns, 1.0 / neurons.scale, neurons.activation, sums.terms.arrays, sums.tables[0], sums.tables[-1], sums.unmixed.table,
            sums.corrections, plan.blocks, layout.start, plan.repeats, plan.extra_start, plan.extra_pairs, 1.0 / N**2, plan.symmetric,
            (targets.U, targets.V, targets.terms), layout.labels, plan.lam,
        )  # fmt: skip
        columns = (k, layout.base + G, m)
        self._memory = Memory(
            np.empty(columns), np.empty(columns), memory.U, memory.V, memory.terms, np.empty((k, N)), np.empty(k), np.empty(k),
            np.empty(len(plan.blocks)),
        )  # fmt: skip

    def loss_and_gradient(self, c: np.ndarray) -> tuple[float, np.ndarray]:
        """Return both at c (k, m, k, 2)."""
        correlations = np.ascontiguousarray(c).reshape(*c.shape[:2], -1)
        at, gradient = self._memory, np.empty_like(correlations)
        run_together(self._threads, lambda counters: pair_gradient(counters, correlations, self._constants, at, gradient))
        return float(at.sums.sum() - at.linear.sum()), gradient.reshape(c.shape)
