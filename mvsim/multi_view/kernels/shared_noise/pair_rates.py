"""The rates at which outputs at mixed points change with the correlations of the escaped neurons.

Let e be an escaped neuron of class y_i and z_ij = lam x_i + (1 - lam) x_j. Of its correlations those with the features of y_i and of y_j enter
g_{y_i}(z_ij), at the rates

    own      A(i, j)[e, l] = sum_{p in P_{y_i,l}(x_i)} lam beta_{i,p} R'(lam beta_{i,p} c[e, y_i, l] + (1 - lam) n_j),
    other    O(i, j)[e, l] = sum_{q in P_{y_j,l}(x_j)} (1 - lam) beta_{j,q} R'((1 - lam) beta_{j,q} c[e, y_j, l] + lam n_i),

n_i being what e reads in a noise patch of x_i, and with the other's signal in its place where two signal patches coincide.
"""

from __future__ import annotations

import numpy as np

from mvsim.multi_view.kernels.jit.threads import run_ranges
from mvsim.multi_view.kernels.shared_noise.escaped import Escaped
from mvsim.multi_view.kernels.shared_noise.layout import Meetings, PairPlan
from mvsim.multi_view.kernels.shared_noise.loops.hessian import fill_pair_rates


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
