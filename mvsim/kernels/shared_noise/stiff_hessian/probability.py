"""The softmax on all pairs for the classes of their two points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mvsim.kernels.jit.threads import run_ranges
from mvsim.kernels.shared_noise.layout import Layout, PairBlocks, PairPlan
from mvsim.kernels.shared_noise.loops.probabilities import pair_probabilities
from mvsim.kernels.shared_noise.tables import Values


@dataclass(frozen=True, eq=False)
class PairProbability:
    """The softmax at z_ij for the class of the first point and for that of the second, (N, N) each."""

    first: np.ndarray
    second: np.ndarray

    @staticmethod
    def of(layout: Layout, plan: PairPlan, values: Values, threads: int) -> PairProbability:
        """Compute it block by block."""
        N = len(layout.labels)
        first, second = np.empty((N, N)), np.empty((N, N))
        pairs = PairBlocks.of(layout, plan)
        run_ranges(len(plan.blocks), threads, lambda b0, b1: pair_probabilities(b0, b1, pairs, values, first, second))
        return PairProbability(first, second)
