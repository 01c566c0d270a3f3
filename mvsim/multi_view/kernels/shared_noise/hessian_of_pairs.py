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

import numpy as np

from mvsim.multi_view.activations import Activation
from mvsim.multi_view.kernels.jit.threads import run_ranges
from mvsim.multi_view.kernels.shared_noise.all_pairs import PairsOfPoints
from mvsim.multi_view.kernels.shared_noise.escaped import Escaped
from mvsim.multi_view.kernels.shared_noise.loops.hessian import Pairs, Sums, bends_at_meetings, own_rates, sums_of_pairs
from mvsim.multi_view.kernels.shared_noise.pair_softmax import PairProbability
from mvsim.multi_view.kernels.shared_noise.softmax_sum import SoftmaxSum
from mvsim.multi_view.kernels.shared_noise.tables import Derivatives
from mvsim.numerics.arrow_matrix import Curvature


def stiff_hessian_of_pairs(activation: Activation, pairs: PairsOfPoints, softmax: SoftmaxSum, c: np.ndarray, escaped: np.ndarray) -> Curvature:
    """Return the stiff part of the Hessian of the mean cross-entropy of all pairs at c (k, m, F); ``escaped`` (k, m) are the neurons."""
    neurons = Escaped(activation, pairs.layout, c, escaped)
    if not neurons.places:
        return Curvature.nothing()
    return _arrow(neurons, _sums(neurons, pairs, *softmax.probability_and_derivative(c)))


def _sums(escaped: Escaped, pairs: PairsOfPoints, probability: PairProbability, residual: Derivatives) -> Sums:
    """Return what is summed over all ordered pairs; ``residual`` is the derivative of the loss by the tables."""
    plan, threads, readers = pairs.plan, pairs.neurons.threads, escaped.readers()
    k, n = escaped.own_index.shape
    N, G = len(escaped.layout.labels), len(escaped.layout.patterns)
    own = [np.empty((n, N * G)) for _ in range(1 if plan.symmetric else 2)]
    for lam, rates in zip((plan.lam, 1.0 - plan.lam), own, strict=False):
        run_ranges(k, threads, lambda y0, y1, data=(lam, readers, rates): own_rates(y0, y1, *data))  # type: ignore[misc]
    of_pairs = Pairs(
        lam=plan.lam,
        symmetric=plan.symmetric,
        meetings=pairs.meetings_by_classes[0],
        meetings_start=pairs.meetings_by_classes[1],
        first=probability.first,
        second=probability.second,
        U=residual.U,
        V=residual.V,
        own_first=own[0],
        own_second=own[-1],
    )
    sums = Sums(np.zeros((k, k, 2 * n, 2 * n)), np.zeros((k, k, 2 * n, 2 * n)), np.zeros((k, k, n, n)), np.zeros((k, k, n)))
    run_ranges(k, threads, lambda y0, y1: sums_of_pairs(y0, y1, readers, of_pairs, sums))
    terms = residual.terms[:, len(plan.blocks) :]
    run_ranges(k, threads, lambda y0, y1: bends_at_meetings(y0, y1, plan.lam, readers, plan.meetings, terms, sums.bends))
    return sums


def _arrow(escaped: Escaped, sums: Sums) -> Curvature:
    """Put the matrix together.

    border[y, s] couples own of y with own of s. Of c[y, s] others[y, s] is the matrix with itself, mixed[y, s] that with c[s, y]; squares and mixed
    also couple it with own of y and with own of s.
    """
    k, n = escaped.own_index.shape
    own, other, classes, diagonal = slice(n), slice(n, None), np.arange(k), np.arange(n)
    border = sums.mixed[..., own, own]
    border[classes, classes] = sums.squares[..., own, own].sum(axis=1)
    others = sums.squares[..., other, other] + sums.others
    others[..., diagonal, diagonal] += np.maximum(sums.bends, 0.0)
    y, s = np.triu_indices(k, 1)

    def of_two(one: np.ndarray, both: np.ndarray) -> np.ndarray:
        whole = np.empty((len(y), 2, n, 2, n))
        whole[:, 0, :, 0], whole[:, 0, :, 1], whole[:, 1, :, 0], whole[:, 1, :, 1] = one[y, s], both[y, s], both[s, y], one[s, y]
        return whole.reshape(len(y), 2 * n, 2 * n)

    places = np.arange(k * n).reshape(k, n)
    return Curvature(
        border_index=escaped.own_index.ravel(),
        border=border.transpose(0, 2, 1, 3).reshape(k * n, k * n),
        block_index=np.concatenate([escaped.other_index[y, s], escaped.other_index[s, y]], axis=1),
        blocks=of_two(others, sums.mixed[..., other, other]),
        side_index=np.concatenate([places[y], places[s]], axis=1),
        sides=of_two(sums.squares[..., other, own], sums.mixed[..., other, own]),
    )
