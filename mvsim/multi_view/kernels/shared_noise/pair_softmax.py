"""The softmax on all pairs, the mean cross-entropy and its derivative by the tables: by exponentials of outputs where these fit into a double."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import softmax

from mvsim.losses import CrossEntropy
from mvsim.multi_view.kernels.limits import LARGEST_OUTPUT
from mvsim.multi_view.kernels.shared_noise.all_pairs import PairsOfPoints
from mvsim.multi_view.kernels.shared_noise.layout import PairBlocks
from mvsim.multi_view.kernels.shared_noise.loops.softmax import linear_part, log_partition_of_pairs
from mvsim.multi_view.kernels.shared_noise.loops.softmax_tangent import softmax_curvature_of_pairs
from mvsim.multi_view.kernels.shared_noise.sums_direct import Neurons
from mvsim.multi_view.kernels.shared_noise.tables import Derivatives, Exponentials, Values


class PairSoftmax:
    """One evaluation by exponentials, in place: they are formed class by class, and if all fit, derivatives are formed block by block."""

    def __init__(self, neurons: Neurons, pairs: PairBlocks, targets: Derivatives, values: Values) -> None:
        self._neurons, self._pairs, self._targets = neurons, pairs, targets
        self._values, self._exponentials, self._derivatives = values, Exponentials(*values), Derivatives(*values)
        self._linear, self._largest = np.zeros(neurons.k), np.empty(neurons.k)

    def exponentiate(self, y0: int, y1: int) -> None:
        """Take the exponentials of some classes, and the part of the loss that is linear in the outputs."""
        values, blocks = self._values, len(self._pairs.blocks)
        for target, table in zip(self._targets.distinct, values.distinct, strict=True):
            for y in range(y0, y1):
                self._linear[y] += linear_part(target[y].ravel(), table[y].ravel())
        terms = values.terms[y0:y1]
        terms[:, :blocks] *= self._pairs.repeats
        first = values.U[y0:y1].max(axis=(1, 2))
        second = first if values.V is values.U else values.V[y0:y1].max(axis=(1, 2))
        self._largest[y0:y1] = first + second + terms[:, :blocks].max(axis=1).clip(0.0) + terms[:, blocks:].max(axis=1).clip(0.0)
        if (self._largest[y0:y1] < LARGEST_OUTPUT).all():
            for table in self._exponentials.distinct:
                np.exp(table[y0:y1], out=table[y0:y1])

    @property
    def fits(self) -> bool:
        """Whether all outputs are finite and small enough."""
        return bool((self._largest < LARGEST_OUTPUT).all())

    def loss_and_derivative(self) -> tuple[float, Derivatives]:
        sums = self._log_partition(PairProbability.empty(0, True))
        return float(sums.sum() - self._linear.sum()), self._derivatives

    def probability_and_derivative(self) -> tuple[PairProbability, Derivatives]:
        probability = PairProbability.empty(len(self._pairs.labels), self._pairs.symmetric)
        self._log_partition(probability)
        return probability, self._derivatives

    def _log_partition(self, probability: PairProbability) -> np.ndarray:
        sums = np.empty(len(self._pairs.blocks))
        arguments = self._pairs, self._exponentials, self._targets, sums, *probability
        self._neurons.run_blocks(len(sums), lambda b0, b1: log_partition_of_pairs(b0, b1, *arguments))
        return sums

    def derivative_and_change(self, tangents: Values) -> tuple[Derivatives, Derivatives]:
        """Return the derivative, and how it changes where the values move by ``tangents``, whose place it takes."""
        arguments = self._pairs, self._exponentials, tangents, self._targets
        self._neurons.run_blocks(len(self._pairs.blocks), lambda b0, b1: softmax_curvature_of_pairs(b0, b1, *arguments))
        return self._derivatives, Derivatives(*tangents)


class PairProbability(NamedTuple):
    """The softmax at z_ij, (N, N) each: first[i, j] for the class of i, second[j, i] for that of j; the same array if the pairs are symmetric."""

    first: np.ndarray
    second: np.ndarray

    @staticmethod
    def empty(N: int, symmetric: bool) -> PairProbability:
        first = np.empty((N, N))
        return PairProbability(first, first if symmetric else np.empty((N, N)))


def probability_and_derivative(pairs: PairsOfPoints, values: Values) -> tuple[PairProbability, Derivatives]:
    """Return both from values of any size, block by block."""
    labels, D, loss = pairs.layout.labels, pairs.no_derivatives(), CrossEntropy()
    probability = PairProbability.empty(len(labels), pairs.plan.symmetric)
    for block in pairs.written_out:
        outputs, visited = block.gather(values), block.weight > 0.0
        block.scatter(D, block.weight * loss.residual(outputs, block.targets))
        phi, (i, j) = softmax(outputs[:, visited], axis=0), (index[visited] for index in block.places)
        columns = np.arange(len(i))
        probability.first[i, j], probability.second[j, i] = phi[labels[i], columns], phi[labels[j], columns]
    return probability, D
