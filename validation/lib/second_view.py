"""When the second view of a class escapes under ERM, predicted from the training points and the initial correlations alone.

Let l be a view of class y and c its best own correlation. While c is below the threshold rho, the gradient flow gives it the speed

    c' = S_l e_l (c / rho)^(alpha - 1),    S_l = (1/N) sum_{i in N_y} s_i,    s_i = sum_{p in P_{y,l}} beta_{i,p}^alpha,
    e_l = sum_i e_i s_i / sum_i s_i,       e_i = 1 - phi_y(g(x_i)).

So c^(2 - alpha) falls in proportion to the integral of e_l. At the start e_l = 1 - 1/k. With nothing else changing, view l escapes at the time

    T_l = rho (rho / c(0))^(alpha - 2) / ((alpha - 2) S_l (1 - 1/k)).

The view w with the smaller time escapes first, at T_w. From then on, its neuron is linear on the points of the class. With a further
time tau, its correlation C follows

    C' = (1/N) sum_i e_i b_i,    b_i = sum_{p in P_{y,w}} beta_{i,p},    e_i = (k - 1) / (k - 1 + exp(g_i)),    g_i = C b_i - C_P (1 - 1/alpha) rho,

where the outputs of all other classes are taken as 0. The second view l has gone through T_w of its own time at T_w, and afterwards through

    W(tau) = integral of e_l / (1 - 1/k) from T_w to T_w + tau.

It escapes when W(tau) = T_l - T_w. There is no constant to be fitted in this.

Both limits are plain. Taken over C instead of tau, the integral is k times a number of order C, since e_i occurs in C' too and |N_y| = N/k: the
second view escapes if (T_l - T_w) / k is small. Late, the points with the least b_i decide: e_i falls as 1/tau, so that C, and W with it, grows
as ln tau. A second view that has not escaped when the first has been learned needs a time that is exponential in what is missing.

With initial correlations N(0, 1/d), T is r0^-(alpha - 2) times a quantity that does not depend on d, and (T_l - T_w) / T_w is of order 1 / ln k
for the maxima of k of them. So the share of classes in which both views escape depends on r0^(alpha - 2) k ln k, up to the logarithm in W.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import mvsim
from mvsim.multi_view.data import Dataset
from mvsim.multi_view.thresholds import entered_B
from mvsim.runs.recording.entries import predicted_escape_times

LARGEST, STEPS = 300.0, 250
"""The correlation C is followed up to `LARGEST`, where tau is e^60 k or more, if no other end is given, in steps that grow in proportion to the
square root of C."""


class FirstView(NamedTuple):
    """What happens to the classes once their first view has escaped; of a class without points or positive correlations, nothing.

    Attributes
    ----------
    view : numpy.ndarray
        (k,) int: the view w.
    time : numpy.ndarray
        (k,) T_w; infinite if no view ever escapes.
    lead : numpy.ndarray
        (k,) T_l - T_w; infinite if the other view never escapes.
    after : numpy.ndarray
        (k, STEPS) times tau > 0 after T_w.
    passed : numpy.ndarray
        (k, STEPS) W(tau).
    """

    view: np.ndarray
    time: np.ndarray
    lead: np.ndarray
    after: np.ndarray
    passed: np.ndarray

    def started(self, times: np.ndarray) -> FirstView:
        """Return the same for other times (k, 2) of the two views, whose order in each class is the same."""
        return FirstView(self.view, *_order(times), self.after, self.passed)

    def passed_by(self, end: float) -> np.ndarray:
        """Return (k,): W at a time of the run; 0 where no view has escaped."""
        passed = np.zeros(len(self.time))
        for y in np.flatnonzero(self.time < end):
            passed[y] = np.interp(np.log(end - self.time[y]), np.log(self.after[y]), self.passed[y], left=0.0)
        return passed

    def second_escapes(self) -> np.ndarray:
        """Return (k,): the times at which the second views escape; infinite beyond what is followed."""
        times = np.full(len(self.time), np.inf)
        for y in np.flatnonzero(np.isfinite(self.lead)):
            times[y] = self.time[y] + np.exp(np.interp(self.lead[y], self.passed[y], np.log(self.after[y]), right=np.inf))
        return times


def tensor_power_times(parameters: mvsim.Parameters, log_strength: np.ndarray, leaders: np.ndarray) -> np.ndarray:
    """Return (k, 2): T_l of each view, given log S_l and the best own correlations at the start, both (k, 2)."""
    rates = log_strength + np.log1p(-1.0 / parameters.k)
    threshold = entered_B(parameters, mixes=False)
    return predicted_escape_times(leaders[:, None], rates, parameters.rho, parameters.alpha, threshold)[:, 0]


def follow_first_view(parameters: mvsim.Parameters, data: Dataset, times: np.ndarray, largest: float = LARGEST) -> FirstView:
    """Follow the first view of each class until long after its escape.

    Parameters
    ----------
    parameters : Parameters
        Of the run.
    data : Dataset
        Its training points.
    times : numpy.ndarray
        (k, 2) times of `tensor_power_times`.
    largest : float
        The C up to which it is followed.
    """
    p, classes = parameters, np.arange(parameters.k)
    view = times.argmin(axis=1)
    pulls, strengths = _by_class(p, data)
    b, s = pulls[classes, :, view][:, :, None], strengths[classes, :, 1 - view][:, :, None]  # class, point, step
    C = largest * np.linspace(0.0, 1.0, STEPS + 1) ** 2
    margins = np.maximum(b * C - p.C_P * (1.0 - 1.0 / p.alpha) * p.rho, 0.0)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # of a class without points nothing is known
        residuals = (b > 0.0) * (p.k - 1.0) / (p.k - 1.0 + np.exp(margins))
        speed = (residuals * b).sum(axis=1) / p.N
        pace = (residuals * s).sum(axis=1) / s.sum(axis=1) / (1.0 - 1.0 / p.k)
        after, passed = _integrals(C, 1.0 / speed), _integrals(C, pace / speed)
    return FirstView(view, *_order(times), after, passed)


def end_of_run(first: np.ndarray, second: np.ndarray, settled_factor: float = 10.0) -> float:
    """Return when a run settles: once time has grown by the factor since the last escape, of all first views and of the second ones until then."""
    end = settled_factor * first[np.isfinite(first)].max()
    while (last := second[second < end].max(initial=0.0)) * settled_factor > end:
        end = settled_factor * last
    return float(end)


def _order(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the smaller of two times in each class, and by how much the other is larger."""
    first = times.min(axis=1)
    return first, np.where(np.isfinite(first), times.max(axis=1) - np.where(np.isfinite(first), first, 0.0), np.inf)


def _by_class(p: mvsim.Parameters, data: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Return the sums of beta and of beta^alpha over the patches of a view, both (class, point of the class, view), filled up with 0."""
    sizes = np.bincount(data.labels, minlength=p.k)
    order = np.argsort(data.labels, kind="stable")
    place = np.arange(p.N) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    sums = np.zeros((2, p.k, sizes.max(), 2))
    for view in range(2):
        beta = data.own_coefficients(view)[order]
        sums[0, data.labels[order], place, view] = beta.sum(axis=1)
        sums[1, data.labels[order], place, view] = (beta**p.alpha).sum(axis=1)
    return sums[0], sums[1]


def _integrals(C: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the integrals over C from its first entry to all others, by the trapezoidal rule."""
    return np.cumsum(0.5 * np.diff(C) * (values[:, 1:] + values[:, :-1]), axis=1)
