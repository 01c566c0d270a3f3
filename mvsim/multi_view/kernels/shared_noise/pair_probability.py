"""The softmax on all pairs for the classes of their two points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mvsim.multi_view.kernels.jit.threads import run_ranges
from mvsim.multi_view.kernels.shared_noise.layout import Layout, PairBlocks, PairPlan
from mvsim.multi_view.kernels.shared_noise.loops.hessian import pair_probabilities, pair_probabilities_of_exponentials
from mvsim.multi_view.kernels.shared_noise.tables import Exponentials, Tables, Values


@dataclass(frozen=True, eq=False)
class PairProbability:
    """The softmax at z_ij for the class of the first point and for that of the second, (N, N) each."""

    first: np.ndarray
    second: np.ndarray

    @staticmethod
    def of(layout: Layout, plan: PairPlan, values: Values, threads: int) -> PairProbability:
        """Compute it from values of any size, block by block."""
        return PairProbability._by(pair_probabilities, PairBlocks.of(layout, plan), values, threads)

    @staticmethod
    def of_exponentials(pairs: PairBlocks, exponentials: Exponentials, threads: int) -> PairProbability:
        """Compute it from exponentials, sooner."""
        return PairProbability._by(pair_probabilities_of_exponentials, pairs, exponentials, threads)

    @staticmethod
    def _by(fill: Callable[..., None], pairs: PairBlocks, tables: Tables, threads: int) -> PairProbability:
        N = len(pairs.labels)
        first, second = np.empty((N, N)), np.empty((N, N))
        run_ranges(len(pairs.blocks), threads, lambda b0, b1: fill(b0, b1, pairs, tables, first, second))
        return PairProbability(first, second)
