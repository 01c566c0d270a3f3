"""When own correlations pass thresholds: measured along a trajectory, and predicted from its start or from two states of it.

Two thresholds have names. A neuron *escapes* where its activation becomes linear, at rho / lambda
(`mvsim.multi_view.thresholds.linear_from`): that is the jump that a picture shows. It *enters B_{y,l}* at rho / delta1, or 2 rho / delta1
where points are mixed (`mvsim.multi_view.thresholds.entered_B`): that is what the proofs count, and it can be much later.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mvsim.flow import State
from mvsim.multi_view.diagnostics import own_correlations
from mvsim.numerics.logarithms import exponential


@dataclass(frozen=True, eq=False)
class EscapeLog:
    """The first time at which each own correlation is at a threshold or beyond, as fine as the steps, interpolated linearly between two of them."""

    threshold: float  # That of B_{y,l}, or of escape
    time: np.ndarray  # (k, m, V), NaN where it has not happened; written to
    step: np.ndarray  # (k, m, V) the step in which it happened, -1 where it has not; written to

    @staticmethod
    def started(own: np.ndarray, threshold: float) -> EscapeLog:
        """Return the log at time 0 for own correlations (k, m, V)."""
        inside = own >= threshold
        return EscapeLog(threshold, np.where(inside, 0.0, np.nan), np.where(inside, 0, -1))

    def observe(self, before: State, after: State) -> None:
        """Take note of what escaped between two successive states."""
        now = own_correlations(after.c)
        new = (self.step < 0) & (now >= self.threshold)
        if new.any():
            was = own_correlations(before.c)[new]
            self.time[new] = before.time + (self.threshold - was) / (now[new] - was) * (after.time - before.time)
            self.step[new] = after.step

    def views(self) -> np.ndarray:
        """Return (k, V) whether any neuron has passed the threshold with its correlation with that view."""
        return np.asarray((self.step >= 0).any(axis=1))

    def has_new_view(self, step: int) -> bool:
        """Whether the first neuron of any view has passed the threshold after a step."""
        first = np.where(self.step < 0, np.iinfo(np.int64).max, self.step).min(axis=1)
        return bool(((first > step) & (first < np.iinfo(np.int64).max)).any())

    def forget_after(self, step: int) -> None:
        """Forget what happened after a step."""
        later = self.step > step
        self.time[later], self.step[later] = np.nan, -1


FLOOR = 5e-4
"""Relative error that an escape time has at least: steps through an escape make as much at k = 6 to 20."""


def escape_errors(time: np.ndarray, clock_errors: np.ndarray) -> np.ndarray:
    """Return by how much escape times (k, m, V) may be wrong where neurons wait, NaN where they are.

    A clock y' = K that runs for H at the mean of K0 and K1 is wrong by at most H |K1 - K0| / 2, and the time of its escape by 1 / K of that:
    ``clock_errors`` (k, m, V) are the sums of these. To it comes `FLOOR`, and, as the force on a class changes when its first view escapes, the error
    of the views of the class that have escaped before: that error shifts the time by |K_before / K_after - 1| of itself, of the order of 1.
    """
    error = clock_errors + FLOOR * time
    first, at = np.where(np.isnan(time), np.inf, time).min(axis=1), np.where(np.isnan(time), np.inf, time).argmin(axis=1)
    of_first = np.nan_to_num(np.take_along_axis(error, at[:, None], axis=1)[:, 0])
    earlier = first[:, None, :] < first[:, :, None]
    return np.asarray(error + np.where(earlier, of_first[:, None, :], 0.0).sum(axis=2)[:, None])


def first_views(time: np.ndarray, step: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which view of each class passed the threshold first, and whether any did, both (k,), for an `EscapeLog`'s time and step (k, m, V).

    At late times escapes a step or a thousand apart are at the same time in double precision, so steps decide before times do.
    """
    first_step = np.where(step < 0, np.iinfo(np.int64).max, step).min(axis=1)
    first_time = np.where(step < 0, np.inf, time).min(axis=1)
    # For each class the views in order of time, views that escaped in the same step in their own order, then by step.
    first = np.lexsort((first_time, first_step), axis=1)[:, 0]
    return first.astype(np.int64), np.asarray((step >= 0).any(axis=(1, 2)))


def count_predicted(escapes: EscapeLog, predicted_time: np.ndarray) -> tuple[int, int]:
    """Return in how many classes the view predicted to escape first did so, and in how many any has escaped; predicted times are (k, m, V)."""
    first, escaped = first_views(escapes.time, escapes.step)
    right = first == predicted_time.min(axis=1).argmin(axis=1)
    return int((right & escaped).sum()), int(escaped.sum())


def predicted_escape_times(own: np.ndarray, log_growth_rates: np.ndarray, rho: float, alpha: float, threshold: float) -> np.ndarray:
    """Predict when own correlations reach a threshold b, by the tensor power method (Claim B.11) with everything else held at its start.

    c' = K (c / rho)^(alpha - 1) takes the time

        T = (rho / K) ((rho / c(0))^(alpha - 2) - (rho / b)^(alpha - 2)) / (alpha - 2),

    of which b is a negligible part for alpha well above 2: a blow-up is at infinity soon after it has passed any threshold, and which neuron of a
    class is first depends on K_{y,l} c(0)^(alpha - 2) alone (Claim B.10). At alpha = 2 growth is exponential and T = (rho / K) log(b / c(0)); at
    alpha = 1 it is linear and T = (b - c(0)) / K. ``own`` and the times are (k, m, V), log K is (k, V); T is infinite for a correlation that does not
    grow and where a double cannot hold it, 0 for one that is past b.
    """
    from scipy.special import exprel

    log_K = np.broadcast_to(log_growth_rates[:, None], own.shape)
    times = np.where(own < threshold, np.inf, 0.0)
    grows = (own > 0.0) & (own < threshold) & (log_K > -np.inf)
    if not grows.any():
        return times
    start, end, power = np.log(own[grows] / rho), np.log(threshold / rho), alpha - 2.0
    # The integral of exp(-power s) from start to end, about the end at which it is largest.
    log_integral = -power * (start if power > 0.0 else end) + np.log((end - start) * exprel(-abs(power) * (end - start)))
    times[grows] = exponential(np.log(rho) - log_K[grows] + log_integral)
    return times


def escape_times_by_pace(times: np.ndarray, own: np.ndarray, in_logarithm: np.ndarray, alpha: float, threshold: float) -> np.ndarray:
    """Return (k, V): when the first neuron of each view escapes if all go on as between two times (2,); infinite if none does.

    Of own correlations (2, k, m, V) below the threshold c^(2 - alpha), or log c at alpha = 2, changes linearly: in t, or in ln t in the classes (k,)
    of which that is said, as where the residuals of single points fall as 1 / t.
    """
    before, x = np.maximum(own, 1e-300) / threshold
    power = alpha - 2.0
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        ratio = x / before
        way = -np.log(x) / np.log(ratio) if power == 0.0 else (1.0 - x**power) / (ratio**power - 1.0)
        way = np.where((ratio > 1.0) & (x < 1.0), way, np.inf).min(axis=1)  # in units of what lies between the two
        by_time = times[1] + way * (times[1] - times[0])
        return np.where(in_logarithm[:, None], times[1] * (times[1] / times[0]) ** way, by_time)
