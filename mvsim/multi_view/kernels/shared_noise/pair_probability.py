"""The softmax on all pairs for the classes of their two points, and the derivative of the mean cross-entropy by the tables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from mvsim.losses import CrossEntropy
from mvsim.multi_view.kernels.jit.threads import run_ranges
from mvsim.multi_view.kernels.shared_noise.all_pairs import PairsOfPoints
from mvsim.multi_view.kernels.shared_noise.layout import PairBlocks
from mvsim.multi_view.kernels.shared_noise.loops.hessian import pair_probabilities
from mvsim.multi_view.kernels.shared_noise.tables import Derivatives, Exponentials, Values


@dataclass(frozen=True, eq=False)
class PairProbability:
    """The softmax at z_ij for the class of the first point and for that of the second, (N, N) each."""

    first: np.ndarray
    second: np.ndarray

    @staticmethod
    def of_exponentials(pairs: PairBlocks, exponentials: Exponentials, threads: int) -> PairProbability:
        """Compute it from exponentials."""
        N = len(pairs.labels)
        first, second = np.empty((N, N)), np.empty((N, N))
        run_ranges(len(pairs.blocks), threads, lambda b0, b1: pair_probabilities(b0, b1, pairs, exponentials, first, second))
        return PairProbability(first, second)


def probability_and_derivative(pairs: PairsOfPoints, values: Values) -> tuple[PairProbability, Derivatives]:
    """Return both from values of any size, block by block."""
    labels, D, loss = pairs.layout.labels, pairs.no_derivatives(), CrossEntropy()
    first, second = np.empty((len(labels), len(labels))), np.empty((len(labels), len(labels)))
    for block in pairs.written_out:
        outputs, visited = block.gather(values), block.weight > 0.0
        block.scatter(D, block.weight * loss.residual(outputs, block.targets))
        phi, (i, j) = softmax(outputs[:, visited], axis=0), (index[visited] for index in block.places)
        columns = np.arange(len(i))
        first[i, j], second[i, j] = phi[labels[i], columns], phi[labels[j], columns]
        if pairs.plan.symmetric:
            first[j, i], second[j, i] = second[i, j], first[i, j]
    return PairProbability(first, second), D
