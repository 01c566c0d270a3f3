"""The stiff part of the Hessian of all pairs: the neurons that have escaped.

A neuron has *escaped* if one of its own correlations is beyond a part of the threshold. Few do, and all others are in the polynomial regime or
dead, where the outputs hardly depend on them, so that what follows neglects them. Let e be an escaped neuron of class y_i and z_ij =
lam x_i + (1 - lam) x_j. Of its correlations those with the features of y_i and of y_j enter g_{y_i}(z_ij), at the rates

    own      A(i, j)[e, l] = sum_{p in P_{y_i,l}(x_i)} lam beta_{i,p} R'(lam beta_{i,p} c[e, y_i, l] + (1 - lam) n_j),
    other    O(i, j)[e, l] = sum_{q in P_{y_j,l}(x_j)} (1 - lam) beta_{j,q} R'((1 - lam) beta_{j,q} c[e, y_j, l] + lam n_i),

n_i being what e reads in a noise patch of x_i, and with the other's signal in its place where two signal patches coincide. So u = (A, O) is
the gradient of g_{y_i}(z_ij), v that of g_{y_j}(z_ij) by the escaped neurons of y_j, and with the softmax phi at z_ij the Gauss-Newton
Hessian of the mean cross-entropy over ordered pairs is

    (1/N^2) sum_{i,j} phi_{y_i} (1 - phi_{y_i}) u u^T + phi_{y_j} (1 - phi_{y_j}) v v^T - phi_{y_i} phi_{y_j} (u v^T + v u^T),

for two points of one class phi (1 - phi) (A + O) (A + O)^T; the other k - 2 classes are neglected. Own correlations of all classes are
coupled, by the softmax, but c[e, s, l] of a neuron of class y meets only what a pair of the classes y and s meets: the matrix is an arrow, its
border the own correlations, one small block for each two classes (`mvsim.linalg.arrow_matrix.Curvature`). To its diagonal comes

    sum_{i,p} sum_h D[y, h, i] (lam beta)^2 R''(lam beta c[e, s, l] + (1 - lam) n_h)

with D the derivative of the loss by the table of signal on noise, where it is positive: other correlations come to rest where R' changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mvsim.activations import Activation
from mvsim.diagnostics import softmax_gap
from mvsim.kernels.jit.threads import run_ranges
from mvsim.kernels.shared_noise.layout import Layout, Meetings, PairBlocks, PairPlan
from mvsim.kernels.shared_noise.loops.outer_products import empty_products, outer_products
from mvsim.kernels.shared_noise.loops.probabilities import pair_probabilities
from mvsim.kernels.shared_noise.loops.second_derivative import table_second_derivatives
from mvsim.kernels.shared_noise.softmax_sum import SoftmaxSum
from mvsim.kernels.shared_noise.tables import Derivatives, Values
from mvsim.kernels.shared_noise.unmixed_hessian import unmixed_hessian
from mvsim.linalg.arrow_matrix import Curvature
from mvsim.losses import AllPairs, CrossEntropy, Unmixed

if TYPE_CHECKING:
    from mvsim.kernels.shared_noise.kernel import SharedNoiseKernel


class Escaped:
    """The escaped neurons at some correlations, as many places for each class as the class with the most needs.

    Parameters
    ----------
    activation : Activation
        One with neurons that escape.
    layout : Layout
        The data.
    c : numpy.ndarray
        (k, m, F).
    beyond : float
        An own correlation above this has escaped.
    """

    def __init__(self, activation: Activation, layout: Layout, c: np.ndarray, beyond: float) -> None:
        assert activation.escape is not None
        self._activation, self._escape, self._layout = activation, activation.escape, layout
        k, m, F = c.shape
        self._views = views = F // k
        by_class = c.reshape(k, m, k, views)
        escaped = by_class[np.arange(k), :, np.arange(k)].max(axis=2) > beyond
        self.places = int(escaped.sum(axis=1).max())
        neuron = np.argsort(~escaped, axis=1, kind="stable")[:, : self.places]
        self._real = np.take_along_axis(escaped, neuron, axis=1)
        classes = np.arange(k)
        # (k, E, F) correlations of the escaped neurons, 0 in places that are not taken, and their coordinates
        self._c = c[classes[:, None], neuron] * self._real[..., None]
        index = np.arange(c.size).reshape(by_class.shape)[classes[:, None], neuron]
        index = np.where(self._real[..., None, None], index, -1)
        self._own_index = index[classes, :, classes].reshape(k, -1)  # (k, V E)
        self._other_index = index.transpose(0, 2, 1, 3).reshape(k, k, -1)  # (k, k, V E)
        self._noise = self._c @ layout.patterns.T  # (k, E, G)
        self._signal = layout.signal.reshape(len(layout.labels), views, -1)  # (N, V, patches of a view)
        self._order = np.argsort(layout.labels, kind="stable")  # points of one class together
        self._place = np.argsort(self._order)
        self._start = np.searchsorted(layout.labels[self._order], np.arange(k + 1))

    def unmixed(self, gap: np.ndarray) -> Curvature:
        """Return the curvature of the mean over single points; ``gap`` (N,) is 1 - phi of each point's class."""
        b = self._own_rates(1.0, np.zeros_like(self._noise[:, :, :1]))[:, 0].reshape(len(gap), -1)
        weight = gap * (1.0 - gap) / len(gap)
        k, size = self._own_index.shape
        border = np.zeros((k, size, k, size))
        for y in range(k):
            members = self._order[self._start[y] : self._start[y + 1]]
            border[y, :, y] = (b[members] * weight[members, None]).T @ b[members]
        return Curvature.of_border(self._own_index.ravel(), border.reshape(k * size, k * size))

    def pairs(self, plan: PairPlan, probability: PairProbability, residual: Derivatives, threads: int) -> Curvature:
        """Return the curvature of the mean over all ordered pairs.

        Parameters
        ----------
        plan : PairPlan
            The pairs.
        probability : PairProbability
            The softmax on them.
        residual : Derivatives
            Derivative of the loss by the tables.
        threads : int
            Number of threads.
        """
        meetings = both_orders(plan)
        u = self.rates(plan.lam, meetings, threads)
        v = u if plan.symmetric else self.rates(1.0 - plan.lam, meetings, threads)
        k, size = self._own_index.shape
        phi, psi = (of[np.ix_(self._order, self._order)] for of in (probability.first, probability.second))
        uu, uv, vv = empty_products(k, 2 * size)
        run_ranges(k, threads, lambda y0, y1: outer_products(y0, y1, self._start, u, v, phi, psi, uu, uv, vv))
        weight = 1.0 / len(self._layout.labels) ** 2
        diagonal = self._slope_changes(plan.lam, residual, threads)
        return self._arrow(weight * uu, weight * uv, weight * vv, diagonal)

    def _arrow(self, uu: np.ndarray, uv: np.ndarray, vv: np.ndarray, diagonal: np.ndarray) -> Curvature:
        """Put the matrix together from the sums over the pairs of each two classes y, s, (k, k, 4E, 4E) with A before O.

        border[y, s] couples own of y with own of s; others[y, s] is c[y, s] with itself, mixed[y, s] with c[s, y]; sides[0, y, s] couples
        c[y, s] with own of y, sides[1, y, s] with own of s. Pairs (i, j) of the classes y, s and (j, i) both count. diagonal (k, k, 2E)
        adds to others.
        """
        k, size = self._own_index.shape
        own, other = slice(size), slice(size, None)
        within, between = np.eye(k)[..., None, None], 1.0 - np.eye(k)[..., None, None]
        same = sum(uu[..., a, b] for a in (own, other) for b in (own, other)) * within  # (A + O) (A + O)^T
        uu, uv, vu, vv = uu * between, uv * between, (uv * between).transpose(1, 0, 3, 2), (vv * between).swapaxes(0, 1)
        both = uu + vv
        border = uv[..., own, own] + vu[..., own, own] + same + both[..., own, own].sum(axis=1)[:, None] * within
        others = both[..., other, other] + diagonal[..., None] * np.eye(size)
        mixed = uv[..., other, other] + vu[..., other, other]
        sides = both[..., other, own], uv[..., other, own] + vu[..., other, own]
        y, s = np.triu_indices(k, 1)
        places = np.arange(k * size).reshape(k, size)
        return Curvature(
            border_index=self._own_index.ravel(),
            border=border.transpose(0, 2, 1, 3).reshape(k * size, k * size),
            block_index=np.concatenate([self._other_index[y, s], self._other_index[s, y]], axis=1),
            blocks=np.block([[others[y, s], mixed[y, s]], [mixed[s, y], others[s, y]]]),
            side_index=np.concatenate([places[y], places[s]], axis=1),
            sides=np.block([[sides[0][y, s], sides[1][y, s]], [sides[1][s, y], sides[0][s, y]]]),
        )

    def rates(self, lam: float, meetings: Meetings, threads: int) -> np.ndarray:
        """Return (N, N, 4E): A and O of every ordered pair of points, those of one class together."""
        order, pattern = self._order, self._layout.pattern
        y = self._layout.labels
        own, other = self._own_rates(lam, (1.0 - lam) * self._noise), self._other_rates(1.0 - lam, lam * self._noise, threads)
        rates = np.empty((len(y), len(y), 2, self.places, self._views))  # own and other

        def gather(i0: int, i1: int) -> None:
            for at in range(i0, i1):
                i = order[at]
                rates[at, :, 0] = own[i, pattern[order]]
                rates[at, :, 1] = other[y[i], order, pattern[i]]

        run_ranges(len(y), threads, gather)
        i, p, j, q = meetings.i, meetings.p, meetings.j, meetings.q
        patches_of_view, y = self._signal.shape[2], y[i]
        from_i = lam * self._layout.signal[i, p][:, None] * self._c[y, :, self._layout.feature[i, p]]
        from_j = (1.0 - lam) * self._layout.signal[j, q][:, None] * self._c[y, :, self._layout.feature[j, q]]
        met = self._slope(from_i + from_j)
        pair, of_i, of_j = (self._place[i][:, None], self._place[j][:, None], np.arange(self.places)), rates[:, :, 0], rates[:, :, 1]
        change = lam * self._layout.signal[i, p][:, None] * (met - self._slope(from_i + (1.0 - lam) * self._noise[y, :, pattern[j]]))
        np.add.at(of_i, (*pair, (p // patches_of_view)[:, None]), change * self._real[y])
        change = (1.0 - lam) * self._layout.signal[j, q][:, None] * (met - self._slope(from_j + lam * self._noise[y, :, pattern[i]]))
        np.add.at(of_j, (*pair, (q // patches_of_view)[:, None]), change * self._real[y])
        return rates.reshape(*rates.shape[:2], -1)

    def _own_rates(self, lam: float, noise: np.ndarray) -> np.ndarray:
        """Return (N, G, E, V): A at every pattern, whose pre-activations are noise (k, E, G)."""
        k, labels = len(self._c), self._layout.labels
        c = self._c.reshape(k, self.places, k, self._views)[np.arange(k), :, np.arange(k)][labels]  # (N, E, V)
        signal = lam * self._signal
        z = (signal[:, None] * c[..., None])[:, None] + noise[labels].transpose(0, 2, 1)[..., None, None]  # (N, G, E, 2, C_P)
        return (self._slope(z) * signal[:, None, None]).sum(axis=-1) * self._real[labels][:, None, :, None]

    def _other_rates(self, lam: float, noise: np.ndarray, threads: int) -> np.ndarray:
        """Return (k, N, G, E, V): O of the neurons of every class at every point on every pattern."""
        k, labels = len(self._c), self._layout.labels
        signal = lam * self._signal  # (N, 2, C_P)
        out = np.empty((k, len(labels), noise.shape[2], self.places, self._views))

        def fill(y0: int, y1: int) -> None:
            for y in range(y0, y1):
                c = self._c[y].reshape(self.places, k, self._views)[:, labels].transpose(1, 0, 2)  # (N, E, V)
                z = (signal[:, None] * c[..., None])[:, None] + noise[y].T[None, :, :, None, None]
                out[y] = (self._slope(z) * signal[:, None, None]).sum(axis=-1) * self._real[y][:, None]

        run_ranges(k, threads, fill)
        return out

    def _slope(self, z: np.ndarray) -> np.ndarray:
        return self._activation.derivative(z)

    def _slope_changes(self, lam: float, residual: Derivatives, threads: int) -> np.ndarray:
        """Return (k, k, 2E): the diagonal through R'' for the other correlations, where it is positive."""
        k = len(self._c)
        weights, noise = self._c.reshape(k * self.places, -1), self._noise.reshape(k * self.places, -1)
        owner, out = np.repeat(np.arange(k), self.places), np.zeros_like(weights)
        tables = [(lam, residual.U)] if residual.V is residual.U else [(lam, residual.U), (1.0 - lam, residual.V)]
        threshold, alpha = self._escape
        power = int(alpha) - 2 if float(alpha).is_integer() else alpha - 2.0
        for weight, table in tables:
            data = (owner, weights, noise, weight, self._layout.feature, self._layout.signal, table, threshold, power, out)
            run_ranges(len(out), threads, lambda e0, e1, data=data: table_second_derivatives(e0, e1, *data))  # type: ignore[misc]
        changes = np.maximum(out, 0.0).reshape(k, self.places, k, self._views) * self._real[..., None, None]
        return changes.transpose(0, 2, 1, 3).reshape(k, k, -1)


def both_orders(plan: PairPlan) -> Meetings:
    """Return the coincidences of every ordered pair."""
    meet = plan.meetings
    if not plan.symmetric:
        return meet
    apart = meet.i != meet.j
    names = ("pair", "i", "p", "j", "q"), ("pair", "j", "q", "i", "p")
    return Meetings(*(np.concatenate([getattr(meet, name), getattr(meet, swapped)[apart]]) for name, swapped in zip(*names, strict=True)))


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


def stiff_hessian_of_points(kernel: SharedNoiseKernel, c: np.ndarray, points: Unmixed, beyond: float) -> Curvature:
    """Return the stiff part of the Hessian of the mean cross-entropy of single points at c (k, m, F)."""
    outputs = kernel.outputs_in_layout(c)
    softmax = np.exp(outputs - outputs.max(axis=0))
    whole = unmixed_hessian(kernel.activation, kernel.layout, c, beyond, softmax / softmax.sum(axis=0))
    return Escaped(kernel.activation, kernel.layout, c, beyond).unmixed(softmax_gap(outputs, kernel.layout.labels)) if whole is None else whole


def stiff_hessian_of_pairs(kernel: SharedNoiseKernel, c: np.ndarray, points: AllPairs, beyond: float) -> Curvature:
    """Return the stiff part of the Hessian of the mean cross-entropy of all pairs at c (k, m, F)."""
    escaped = Escaped(kernel.activation, kernel.layout, c, beyond)
    if not escaped.places:
        return Curvature.nothing()
    pairs, columns, threads = kernel.pairs_of(points), kernel.columns.at(c), kernel.neurons.threads
    values = pairs.empty_values()
    kernel.neurons.run(lambda y0, y1: pairs.sums.values(y0, y1, columns, values))
    probability = PairProbability.of(kernel.layout, pairs.plan, values, threads)
    residual = SoftmaxSum(kernel, points, CrossEntropy()).loss_and_derivative(c)[1]
    return escaped.pairs(pairs.plan, probability, residual, threads)
