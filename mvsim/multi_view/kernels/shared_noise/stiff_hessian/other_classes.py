"""What the correlations of escaped neurons with features of other classes add to the Hessian of all pairs, besides `of_pairs`.

Let e be an escaped neuron of class y and x_i a point of another class s. On noise of pattern h its output changes with c[e, s, l] at the rate

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

from mvsim.multi_view.kernels.jit.threads import run_ranges
from mvsim.multi_view.kernels.shared_noise.layout import Layout, PairPlan
from mvsim.multi_view.kernels.shared_noise.loops.other_classes import bends_at_meetings, sums_on_noise
from mvsim.multi_view.kernels.shared_noise.stiff_hessian.escaped import Escaped
from mvsim.multi_view.kernels.shared_noise.stiff_hessian.probability import PairProbability
from mvsim.multi_view.kernels.shared_noise.tables import Derivatives


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
