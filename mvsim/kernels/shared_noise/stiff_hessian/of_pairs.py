"""The stiff part of the Hessian of all pairs: an arrow matrix.

Let u = (A, O) be the gradient of g_{y_i}(z_ij) by the escaped neurons of y_i (A and O are those of `rates`), and v that of g_{y_j}(z_ij) by the
escaped neurons of y_j. With the softmax phi at z_ij the Gauss-Newton Hessian of the mean cross-entropy over ordered pairs is

    (1/N^2) sum_{i,j} phi_{y_i} (1 - phi_{y_i}) u u^T + phi_{y_j} (1 - phi_{y_j}) v v^T - phi_{y_i} phi_{y_j} (u v^T + v u^T),

for two points of one class phi (1 - phi) (A + O) (A + O)^T; the other k - 2 classes are neglected. Own correlations of all classes are
coupled, by the softmax, but c[e, s, l] of a neuron of class y meets only what a pair of the classes y and s meets: the matrix is an arrow, its
border the own correlations, one small block for each two classes (`mvsim.linalg.arrow_matrix.Curvature`). To its diagonal comes

    sum_{i,p} sum_h D[y, h, i] (lam beta)^2 R''(lam beta c[e, s, l] + (1 - lam) n_h)

with D the derivative of the loss by the table of signal on noise, where it is positive: other correlations come to rest where R' changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mvsim.kernels.jit.threads import run_ranges
from mvsim.kernels.shared_noise.layout import PairPlan
from mvsim.kernels.shared_noise.loops.outer_products import outer_products
from mvsim.kernels.shared_noise.loops.second_derivative import table_second_derivatives
from mvsim.kernels.shared_noise.softmax_sum import SoftmaxSum
from mvsim.kernels.shared_noise.stiff_hessian.escaped import Escaped
from mvsim.kernels.shared_noise.stiff_hessian.probability import PairProbability
from mvsim.kernels.shared_noise.stiff_hessian.rates import both_orders, pair_rates
from mvsim.kernels.shared_noise.tables import Derivatives
from mvsim.linalg.arrow_matrix import Curvature
from mvsim.losses import AllPairs, CrossEntropy

if TYPE_CHECKING:
    from mvsim.kernels.shared_noise.kernel import SharedNoiseKernel


def stiff_hessian_of_pairs(kernel: SharedNoiseKernel, c: np.ndarray, points: AllPairs, beyond: float) -> Curvature:
    """Return the stiff part of the Hessian of the mean cross-entropy of all pairs at c (k, m, F)."""
    escaped = Escaped(kernel.activation, kernel.layout, c, beyond)
    if not escaped.places:
        return Curvature.nothing()
    probability, residual = SoftmaxSum(kernel, points, CrossEntropy()).probability_and_derivative(c)
    return _hessian(escaped, kernel.pairs_of(points).plan, probability, residual, kernel.neurons.threads)


def _hessian(escaped: Escaped, plan: PairPlan, probability: PairProbability, residual: Derivatives, threads: int) -> Curvature:
    """Return the Hessian of the mean over all ordered pairs; ``residual`` is the derivative of the loss by the tables."""
    meetings = both_orders(plan)
    u = pair_rates(escaped, plan.lam, meetings, threads)
    v = u if plan.symmetric else pair_rates(escaped, 1.0 - plan.lam, meetings, threads)
    phi, psi = probability.first, probability.second
    uu = _outer_products(escaped, u, u, False, (phi, 1.0, phi), threads)
    vv = uu if plan.symmetric else _outer_products(escaped, v, v, False, (psi.T.copy(), 1.0, psi.T.copy()), threads)  # psi at (j, i)
    uv = _outer_products(escaped, u, v, True, (phi, 0.0, psi), threads)
    weight = 1.0 / len(escaped.layout.labels) ** 2
    diagonal = _slope_changes(escaped, plan.lam, residual, threads)
    return _arrow(escaped, weight * uu, weight * uv, weight * vv, diagonal)


def _outer_products(
    escaped: Escaped, u: np.ndarray, v: np.ndarray, swapped: bool, weights: tuple[np.ndarray, float, np.ndarray], threads: int
) -> np.ndarray:
    """Return the sums of `outer_products` for each two classes; ``weights`` are phi, one and psi."""
    k, n = len(escaped.c), u.shape[2]
    out = np.empty((k, k, n, n))
    run_ranges(k, threads, lambda y0, y1: outer_products(y0, y1, escaped.order, escaped.start, u, v, swapped, *weights, out))
    return out


def _arrow(escaped: Escaped, uu: np.ndarray, uv: np.ndarray, vv: np.ndarray, diagonal: np.ndarray) -> Curvature:
    """Put the matrix together from the sums over the pairs of each two classes, (k, k, 2 V E, 2 V E) with A before O.

    uu[y, s] and uv[y, s] sum over points i of y and j of s, vv[s, y] does.

    border[y, s] couples own of y with own of s; others[y, s] is c[y, s] with itself, mixed[y, s] with c[s, y]; sides[0, y, s] couples
    c[y, s] with own of y, sides[1, y, s] with own of s. Pairs (i, j) of the classes y, s and (j, i) both count. diagonal (k, k, V E)
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
    others = both[..., other, other] + diagonal[..., None] * np.eye(size)
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


def _slope_changes(escaped: Escaped, lam: float, residual: Derivatives, threads: int) -> np.ndarray:
    """Return (k, k, V E): the diagonal through R'' for the other correlations, where it is positive."""
    k = len(escaped.c)
    weights, noise = escaped.c.reshape(k * escaped.places, -1), escaped.noise.reshape(k * escaped.places, -1)
    owner, out = np.repeat(np.arange(k), escaped.places), np.zeros_like(weights)
    tables = [(lam, residual.U)] if residual.V is residual.U else [(lam, residual.U), (1.0 - lam, residual.V)]
    threshold, alpha = escaped.escape
    power = int(alpha) - 2 if float(alpha).is_integer() else alpha - 2.0
    for weight, table in tables:
        data = (owner, weights, noise, weight, escaped.layout.feature, escaped.layout.signal, table, threshold, power, out)
        run_ranges(len(out), threads, lambda e0, e1, data=data: table_second_derivatives(e0, e1, *data))  # type: ignore[misc]
    changes = np.maximum(out, 0.0).reshape(k, escaped.places, k, escaped.views) * escaped.real[..., None, None]
    return changes.transpose(0, 2, 1, 3).reshape(k, k, -1)
