"""The rates at which outputs at mixed points change with the correlations of the escaped neurons.

Let e be an escaped neuron of class y_i and z_ij = lam x_i + (1 - lam) x_j. Of its correlations those with the features of y_i and of y_j enter
g_{y_i}(z_ij), at the rates

    own      A(i, j)[e, l] = sum_{p in P_{y_i,l}(x_i)} lam beta_{i,p} R'(lam beta_{i,p} c[e, y_i, l] + (1 - lam) n_j),
    other    O(i, j)[e, l] = sum_{q in P_{y_j,l}(x_j)} (1 - lam) beta_{j,q} R'((1 - lam) beta_{j,q} c[e, y_j, l] + lam n_i),

n_i being what e reads in a noise patch of x_i, and with the other's signal in its place where two signal patches coincide.
"""

from __future__ import annotations

import numpy as np

from mvsim.kernels.jit.threads import run_ranges
from mvsim.kernels.shared_noise.layout import Meetings, PairPlan
from mvsim.kernels.shared_noise.stiff_hessian.escaped import Escaped


def pair_rates(escaped: Escaped, lam: float, meetings: Meetings, threads: int) -> np.ndarray:
    """Return (N, N, 2 V E): A and O of every ordered pair of points, those of one class together."""
    layout, order, slope = escaped.layout, escaped.order, escaped.activation.derivative
    labels, pattern = layout.labels, layout.pattern
    own = escaped.own_rates(lam, (1.0 - lam) * escaped.noise)
    other = _other_rates(escaped, 1.0 - lam, lam * escaped.noise, threads)
    rates = np.empty((len(labels), len(labels), 2, escaped.places, escaped.views))  # own and other

    def gather(first: int, last: int) -> None:
        for row in range(first, last):
            point = order[row]
            rates[row, :, 0] = own[point, pattern[order]]
            rates[row, :, 1] = other[labels[point], order, pattern[point]]

    run_ranges(len(labels), threads, gather)
    i, p, j, q = meetings.i, meetings.p, meetings.j, meetings.q
    y, patches_of_view = labels[i], escaped.signal.shape[2]
    signal_i, signal_j = lam * layout.signal[i, p][:, None], (1.0 - lam) * layout.signal[j, q][:, None]
    from_i, from_j = signal_i * escaped.c[y, :, layout.feature[i, p]], signal_j * escaped.c[y, :, layout.feature[j, q]]
    both_signals = slope(from_i + from_j)
    pair = escaped.place[i][:, None], escaped.place[j][:, None], np.arange(escaped.places)
    change = signal_i * (both_signals - slope(from_i + (1.0 - lam) * escaped.noise[y, :, pattern[j]]))
    np.add.at(rates[:, :, 0], (*pair, (p // patches_of_view)[:, None]), change * escaped.real[y])
    change = signal_j * (both_signals - slope(from_j + lam * escaped.noise[y, :, pattern[i]]))
    np.add.at(rates[:, :, 1], (*pair, (q // patches_of_view)[:, None]), change * escaped.real[y])
    return rates.reshape(*rates.shape[:2], -1)


def _other_rates(escaped: Escaped, lam: float, noise: np.ndarray, threads: int) -> np.ndarray:
    """Return (k, N, G, E, V): O of the neurons of every class at every point on every pattern."""
    k, labels = len(escaped.c), escaped.layout.labels
    signal = lam * escaped.signal  # (N, V, patches of a view)
    out = np.empty((k, len(labels), noise.shape[2], escaped.places, escaped.views))

    def fill(y0: int, y1: int) -> None:
        for y in range(y0, y1):
            c = escaped.c[y].reshape(escaped.places, k, escaped.views)[:, labels].transpose(1, 0, 2)  # (N, E, V)
            z = (signal[:, None] * c[..., None])[:, None] + noise[y].T[None, :, :, None, None]
            out[y] = (escaped.activation.derivative(z) * signal[:, None, None]).sum(axis=-1) * escaped.real[y][:, None]

    run_ranges(k, threads, fill)
    return out


def both_orders(plan: PairPlan) -> Meetings:
    """Return the coincidences of every ordered pair."""
    meetings = plan.meetings
    if not plan.symmetric:
        return meetings
    apart = meetings.i != meetings.j
    names = ("pair", "i", "p", "j", "q"), ("pair", "j", "q", "i", "p")
    return Meetings(*(np.concatenate([getattr(meetings, name), getattr(meetings, swapped)[apart]]) for name, swapped in zip(*names, strict=True)))
