r"""The share of classes of which ERM learns both views, however rare they are, from Gaussian maxima and without a simulation.

By `lib.second_view` both views of a class escape by the end of a run if T_l - T_w < W. With c the best own correlation of a view at the start,

    T_l(c) = B_l (c^(2 - alpha) - A^(2 - alpha)),    B_l = rho^(alpha - 1) / ((alpha - 2) S_l (1 - 1/k)),    A the threshold of B_{y,l}.

Let the first view w and T_w be given. Then the other view is known to be behind, c < c_0 with T_l(c_0) = T_w, and it escapes too if c > c_1 with
T_l(c_1) = T_w + W. Its c is r_0 rho / sqrt(2 ln m) times the largest of m standard normal numbers, of which Phi^m is the law. So the probability is

    1 - exp(m ln Phi(z_1) - m ln Phi(z_0)),    z_1 = z_0 (1 + x)^(-1 / (alpha - 2)),    x = W / (T_w + B_l A^(2 - alpha)),

z in units of a standard deviation. On the path d = k^20, x is 10^-50 and less: then the difference is m phi(z_0) / Phi(z_0) (z_0 - z_1). The
mean over the classes of data sets and starts is the share of exceptions. No class has to be one for that.
"""

from __future__ import annotations

import numpy as np
from scipy.special import log_ndtr

import mvsim
from lib.second_view import end_of_run, follow_first_view, tensor_power_times
from mvsim.multi_view.diagnostics import log_signal_strength
from mvsim.multi_view.thresholds import entered_B
from mvsim.numerics.random_streams import stream

FIRST_SEED = 2 * 10**6
"""Least seed of the data sets and starts: others than those of runs."""

FAR = 1000.0
"""The correlation up to which first views are followed: late, at tau = e^200."""

TINY = 1e-7
"""Relative difference of z_0 and z_1 below which the difference of the laws is its first derivative."""


def exception_share(k: int, r0: float, data_sets: int) -> tuple[float, float]:
    """Return the share of exceptions at one k and r0, and its standard error over data sets; other parameters are default."""
    p = mvsim.Parameters(k=k, signal_layout="fixed")  # where signals lie does not matter here and takes time to draw
    shares = np.array([share_of_data_set(p, r0, FIRST_SEED + number) for number in range(data_sets)])
    return float(shares.mean()), float(shares.std(ddof=1) / data_sets**0.5)


def share_of_data_set(p: mvsim.Parameters, r0: float, seed: int) -> float:
    """Return the share of exceptions given the data set of a seed and the first views of its classes at the start."""
    data, largest = mvsim.sample_dataset(p, seed), stream(seed, "initial correlations", 1).standard_normal((p.m, p.k, 2)).max(axis=0)
    log_strength, unit = log_signal_strength(p, data), r0 * p.rho / (2.0 * np.log(p.m)) ** 0.5
    times = tensor_power_times(p, log_strength, unit * largest)
    first = follow_first_view(p, data, times, FAR)
    passed = first.passed_by(end_of_run(first.time, first.second_escapes()))
    power, behind = p.alpha - 2.0, log_strength[np.arange(p.k), 1 - first.view]
    B = np.exp((p.alpha - 1.0) * np.log(p.rho) - np.log(power) - behind - np.log1p(-1.0 / p.k))
    at_threshold = B * entered_B(p, mixes=False) ** -power
    with np.errstate(invalid="ignore"):
        z0 = ((first.time + at_threshold) / B) ** (-1.0 / power) / unit
        apart = -np.expm1(-np.log1p(passed / (first.time + at_threshold)) / power)
    return float(np.where(np.isfinite(first.time), probability_between(p.m, z0, apart), 0.0).mean())


def probability_between(m: int, z0: np.ndarray, apart: np.ndarray) -> np.ndarray:
    """Return the probability that the largest of m standard normal numbers is above z0 (1 - apart), if it is below z0 > 0; both (n,)."""
    difference = m * (log_ndtr(z0 * (1.0 - apart)) - log_ndtr(z0))
    slope = m * np.exp(-0.5 * z0**2 - log_ndtr(z0)) / np.sqrt(2.0 * np.pi)
    return -np.expm1(np.where(apart < TINY, -slope * z0 * apart, difference))
