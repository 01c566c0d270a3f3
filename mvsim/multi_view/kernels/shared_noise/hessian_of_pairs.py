"""The stiff part of the Hessian of all pairs: an arrow matrix.

Let u = (A, O) be the gradient of g_{y_i}(z_ij) by the escaped neurons of y_i, and v that of g_{y_j}(z_ij) by the escaped neurons of y_j. Of the
correlations of an escaped neuron e of class y_i those with the features of y_i and of y_j enter g_{y_i}(z_ij), z_ij = lam x_i + (1 - lam) x_j:

    own      A(i, j)[e, l] = sum_{p in P_{y_i,l}(x_i)} lam beta_{i,p} R'(lam beta_{i,p} c[e, y_i, l] + (1 - lam) n_j),
    other    O(i, j)[e, l] = sum_{q in P_{y_j,l}(x_j)} (1 - lam) beta_{j,q} R'((1 - lam) beta_{j,q} c[e, y_j, l] + lam n_i),

n_i being what e reads in a noise patch of x_i, and with the other's signal in its place where two signal patches coincide. With the softmax phi at
z_ij the Gauss-Newton Hessian of the mean cross-entropy over ordered pairs is

    (1/N^2) sum_{i,j} phi_{y_i} (1 - phi_{y_i}) u u^T + phi_{y_j} (1 - phi_{y_j}) v v^T - phi_{y_i} phi_{y_j} (u v^T + v u^T),

for two points of one class phi (1 - phi) (A + O) (A + O)^T. Own correlations of all classes are coupled, by the softmax, but c[e, s, l] of a neuron
of class y meets only what a pair of the classes y and s meets: the matrix is an arrow, its border the own correlations, one small block for each
two classes (`mvsim.numerics.arrow_matrix.Curvature`).

**Other classes.** More comes from correlations of escaped neurons with features of other classes. Let e be an escaped neuron of class y and x_i a
point of another class s. On noise of pattern h its output changes with c[e, s, l] at the rate

    r(i, h)[e, l] = sum_{p in P_{s,l}(x_i)} lam beta_{i,p} R'(lam beta_{i,p} c[e, s, l] + (1 - lam) n_h).

**Pairs of two other classes.** Every pair (i, j) of points of the classes s and s', both not y, has a part phi_y (1 - phi_y) w w^T in the
Gauss-Newton Hessian, w being r(i, h_j) and r(j, h_i) one above the other. A class has k - 1 partners, so of all these sums the blocks of c[y, s]
with itself outweigh those of c[y, s] with c[y, s'], which are neglected. So are phi_y beside 1, for s = s' the products of r(i, h_j) and r(j, h_i),
and that a rate is another one where two signal patches coincide:

    sum_{i in s} sum_h T[y, h, i] r(i, h) r(i, h)^T,        T[y, h, i] = (1/N^2) sum_{j of pattern h, y_j != y} phi_y(z_ij).

T is the derivative D[y, h, i] of the loss by the table of signal on noise, less the part of the points j of class y: phi_y(z_ij) - (1 - lam) each.

**Curvature of the activation.** To the diagonal comes

    sum_{i, p} sum_h D[y, h, i] (lam beta_{i,p})^2 R''(lam beta_{i,p} c[e, s, l] + (1 - lam) n_h)

where it is positive: correlations come to rest where R' changes. Here coincidences count: where two signal patches coincide, the neuron reads both
signals at once, the derivative of the loss is that of the one pair, and two patches of the same feature move together.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.sparse import csr_array

from mvsim.multi_view.activations import Activation
from mvsim.multi_view.kernels.jit.threads import run_ranges
from mvsim.multi_view.kernels.shared_noise.all_pairs import PairsOfPoints
from mvsim.multi_view.kernels.shared_noise.escaped import Escaped
from mvsim.multi_view.kernels.shared_noise.layout import Layout, Meetings, PairPlan
from mvsim.multi_view.kernels.shared_noise.loops.hessian import PairWeights, bends_at_meetings, fill_pair_rates, outer_products, sums_on_noise
from mvsim.multi_view.kernels.shared_noise.pair_softmax import PairProbability
from mvsim.multi_view.kernels.shared_noise.softmax_sum import SoftmaxSum
from mvsim.multi_view.kernels.shared_noise.tables import Derivatives
from mvsim.numerics.arrow_matrix import Curvature


def pair_rates(escaped: Escaped, lam: float, meetings: Meetings, threads: int) -> np.ndarray:
    """Return (N, N, 2 V E): A and O of every ordered pair of points, those of one class together."""
    N = len(escaped.layout.labels)
    rates = np.empty((N, N, 2, escaped.places, escaped.views))  # own and other
    readers = escaped.readers()
    run_ranges(N, threads, lambda row0, row1: fill_pair_rates(row0, row1, lam, readers, meetings, rates))
    return rates.reshape(N, N, -1)


def both_orders(plan: PairPlan) -> Meetings:
    """Return the coincidences of every ordered pair."""
    meetings = plan.meetings
    if not plan.symmetric:
        return meetings
    apart = meetings.i != meetings.j
    names = ("pair", "i", "p", "j", "q"), ("pair", "j", "q", "i", "p")
    return Meetings(*(np.concatenate([getattr(meetings, name), getattr(meetings, swapped)[apart]]) for name, swapped in zip(*names, strict=True)))


def stiff_hessian_of_pairs(activation: Activation, pairs: PairsOfPoints, softmax: SoftmaxSum, c: np.ndarray, escaped: np.ndarray) -> Curvature:
    """Return the stiff part of the Hessian of the mean cross-entropy of all pairs at c (k, m, F); ``escaped`` (k, m) are the neurons."""
    neurons = Escaped(activation, pairs.layout, c, escaped)
    if not neurons.places:
        return Curvature.nothing()
    probability, residual = softmax.probability_and_derivative(c)
    return _hessian(neurons, pairs.plan, probability, residual, pairs.neurons.threads)


def _hessian(escaped: Escaped, plan: PairPlan, probability: PairProbability, residual: Derivatives, threads: int) -> Curvature:
    """Return the Hessian of the mean over all ordered pairs; ``residual`` is the derivative of the loss by the tables."""
    meetings = both_orders(plan)
    u = pair_rates(escaped, plan.lam, meetings, threads)
    v = u if plan.symmetric else pair_rates(escaped, 1.0 - plan.lam, meetings, threads)
    phi, psi = probability.first, probability.second
    uu = _outer_products(escaped, u, u, False, PairWeights(phi, 1.0, phi), threads)
    vv = uu if plan.symmetric else _outer_products(escaped, v, v, False, PairWeights(psi.T.copy(), 1.0, psi.T.copy()), threads)
    uv = _outer_products(escaped, u, v, True, PairWeights(phi, 0.0, psi), threads)
    weight = 1.0 / len(escaped.layout.labels) ** 2
    others = blocks_of_other_classes(escaped, plan, probability, residual, threads)
    return _arrow(escaped, weight * uu, weight * uv, weight * vv, others)


def _outer_products(escaped: Escaped, u: np.ndarray, v: np.ndarray, swapped: bool, weights: PairWeights, threads: int) -> np.ndarray:
    """Return the sums of `outer_products` for each two classes."""
    k, n = len(escaped.c), u.shape[2]
    out = np.empty((k, k, n, n))
    run_ranges(k, threads, lambda y0, y1: outer_products(y0, y1, escaped.order, escaped.start, u, v, swapped, weights, out))
    return out


def _arrow(escaped: Escaped, uu: np.ndarray, uv: np.ndarray, vv: np.ndarray, more: np.ndarray) -> Curvature:
    """Put the matrix together from the sums over the pairs of each two classes, (k, k, 2 V E, 2 V E) with A before O.

    uu[y, s] and uv[y, s] sum over points i of y and j of s, vv[s, y] does.

    border[y, s] couples own of y with own of s; others[y, s] is c[y, s] with itself, mixed[y, s] with c[s, y]; sides[0, y, s] couples
    c[y, s] with own of y, sides[1, y, s] with own of s. Pairs (i, j) of the classes y, s and (j, i) both count. more (k, k, V E, V E)
    adds to others.
    """
    k, size = escaped.own_index.shape
    own, other = slice(size), slice(size, None)
    within, between = np.eye(k)[..., None, None], 1.0 - np.eye(k)[..., None, None]
    same = sum(uu[..., a, b] for a in (own, other) for b in (own, other)) * within  # (A + O) (A + O)^T
    both = (uu + vv) * between
    uv = uv * between
    vu = uv.transpose(1, 0, 3, 2)
    border = uv[..., own, own] + vu[..., own, own] + same + both[..., own, own].sum(axis=1)[:, None] * within
    others = both[..., other, other] + more
    mixed = uv[..., other, other] + vu[..., other, other]
    sides = both[..., other, own], uv[..., other, own] + vu[..., other, own]
    y, s = np.triu_indices(k, 1)
    places = np.arange(k * size).reshape(k, size)
    return Curvature(
        border_index=escaped.own_index.ravel(),
        border=border.transpose(0, 2, 1, 3).reshape(k * size, k * size),
        block_index=np.concatenate([escaped.other_index[y, s], escaped.other_index[s, y]], axis=1),
        blocks=np.block([[others[y, s], mixed[y, s]], [mixed[s, y], others[s, y]]]),
        side_index=np.concatenate([places[y], places[s]], axis=1),
        sides=np.block([[sides[0][y, s], sides[1][y, s]], [sides[1][s, y], sides[0][s, y]]]),
    )


def blocks_of_other_classes(escaped: Escaped, plan: PairPlan, probability: PairProbability, residual: Derivatives, threads: int) -> np.ndarray:
    """Return (k, k, V E, V E): what is added to the block of c[y, s] with itself, for each y and s."""
    k, readers = len(escaped.c), escaped.readers()
    n = escaped.places * escaped.views
    blocks, bends = np.zeros((k, k, n, n)), np.zeros((k, k, n))
    for lam, third, on_noise in _roles(escaped.layout, plan, probability, residual):
        data = lam, readers, third, on_noise, blocks, bends
        run_ranges(k, threads, lambda y0, y1, data=data: sums_on_noise(y0, y1, *data))  # type: ignore[misc]
    of_pairs = residual.terms[:, len(plan.blocks) :]
    run_ranges(k, threads, lambda y0, y1: bends_at_meetings(y0, y1, plan.lam, readers, plan.meetings, of_pairs, bends))
    diagonal = np.arange(n)
    blocks[:, :, diagonal, diagonal] += np.maximum(bends, 0.0)
    return blocks


def _roles(layout: Layout, plan: PairPlan, probability: PairProbability, residual: Derivatives) -> Iterator[tuple[float, np.ndarray, np.ndarray]]:
    """Yield the weight of a point, T and D (k, G, N), for the first points of pairs and for the second ones; at once if the pairs are symmetric."""
    if plan.symmetric:
        yield plan.lam, _third(layout, residual.U, 2.0 * (probability.second - plan.lam)), residual.U
    else:
        yield plan.lam, _third(layout, residual.U, probability.second - (1.0 - plan.lam)), residual.U
        yield 1.0 - plan.lam, _third(layout, residual.V, probability.first.T - plan.lam), residual.V


def _third(layout: Layout, on_noise: np.ndarray, of_class: np.ndarray) -> np.ndarray:
    """Return T (k, G, N): D less the sums over j of pattern h and class y of ``of_class`` (N, N) at (i, j) / N^2."""
    k, G, N = on_noise.shape
    sorted_by = csr_array((np.full(N, 1.0 / N**2), (layout.labels * G + layout.pattern, np.arange(N))), shape=(k * G, N))
    third: np.ndarray = np.maximum(on_noise - (sorted_by @ of_class.T).reshape(k, G, N), 0.0)
    return third
