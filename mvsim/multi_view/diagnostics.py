"""What the proofs track: pure functions of the correlations c (k, m, k, V), named as in the proofs. Everything is dimensionless."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mvsim.multi_view.data import Dataset
from mvsim.multi_view.parameters import Parameters
from mvsim.numerics.logarithms import exponential, logarithm


def own_correlations(c: np.ndarray) -> np.ndarray:
    """Return (k, m, V): c[y, r, y, l], the correlations of the neurons of class y with its own features."""
    classes = np.arange(len(c))
    return c[classes, :, classes]


def off_diagonal_correlations(c: np.ndarray) -> np.ndarray:
    """Return (k, m, k - 1, V): c[y, r, s, l] for s != y."""
    k, m, _, V = c.shape
    return c[~np.eye(k, dtype=bool)[:, None, :].repeat(m, axis=1)].reshape(k, m, k - 1, V)


def max_correlation(c: np.ndarray) -> np.ndarray:
    """Return (k, V): Lambda_{y,l} = max_r c[y, r, y, l] (before Claim B.10)."""
    return own_correlations(c).max(axis=1)


def signal_strength(parameters: Parameters, data: Dataset) -> np.ndarray:
    """Return (k, V): S_{y,l} = (1/N) sum_{i in N_y} sum_{p in P_{y,l}} beta_{i,p}^alpha; P_{y,l} are the patches with beta > 0."""
    return exponential(log_signal_strength(parameters, data))


def log_signal_strength(parameters: Parameters, data: Dataset) -> np.ndarray:
    """Return (k, V): log S_{y,l} of `signal_strength`, also where S_{y,l} is no double; -inf where it is 0."""
    log_S = np.empty((data.k, data.V))
    for view in range(data.V):
        beta, top, S = np.maximum(data.own_coefficients(view), 0.0), np.zeros(data.k), np.zeros(data.k)
        np.maximum.at(top, data.labels, beta.max(axis=1))
        relative = beta / np.where(top > 0.0, top, 1.0)[data.labels, None]
        np.add.at(S, data.labels, (relative**parameters.alpha).sum(axis=1))
        log_S[:, view] = parameters.alpha * logarithm(top) + logarithm(S / data.N)
    return log_S


def active_neurons(c: np.ndarray, threshold: float) -> np.ndarray:
    """Return (k, m, V) bool: r in B_{y,l}, that is c[y, r, y, l] >= threshold (`mvsim.multi_view.thresholds.entered_B`)."""
    return own_correlations(c) >= threshold


def total_correlation(c: np.ndarray, threshold: float) -> np.ndarray:
    """Return (k, V): C_{y,l} = sum_{r in B_{y,l}} c[y, r, y, l]."""
    own = own_correlations(c)
    return np.where(own >= threshold, own, 0.0).sum(axis=1)


def view_gap(c: np.ndarray, threshold: float) -> np.ndarray:
    """Return (k,): the largest minus the least of C_{y,l} over views, for two views Delta_y = |C_{y,1} - C_{y,2}|."""
    total = total_correlation(c, threshold)
    return total.max(axis=1) - total.min(axis=1)


def is_open(view_gap: np.ndarray) -> np.ndarray:
    """Return where Delta_y, (..., k), is log k or more."""
    return view_gap >= np.log(view_gap.shape[-1])


def margins(outputs: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return (N,): g_y(x_i) - max_{s != y} g_s(x_i) for outputs (k, N); infinite for a single class."""
    points = np.arange(len(labels))
    others = outputs.copy()
    others[labels, points] = -np.inf
    return np.asarray(outputs[labels, points] - others.max(axis=0))


def correct(outputs: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return (N,) bool: argmax_s g_s(x_i) = y_i for outputs (k, N). A tie for the largest output is not a win."""
    return margins(outputs, labels) > 0.0


class OutputRanges(NamedTuple):
    """Extremes over the training points of each class, (k,) each; NaN for a class without points."""

    min: np.ndarray
    max: np.ndarray
    others_max: np.ndarray
    margin_min: np.ndarray


def output_ranges(outputs: np.ndarray, labels: np.ndarray) -> OutputRanges:
    """Return the least and largest g_y(x_i), the largest g_s(x_i) with s != y, and the least margin, over i in N_y for outputs (k, N).

    The margin of a point is g_y(x_i) - max_{s != y} g_s(x_i): it is right if and only if that is positive. The least margin is not less than the
    least g_y minus the largest g_s, which may be of two points.
    """
    points = np.arange(len(labels))
    others = outputs.copy()
    others[labels, points] = -np.inf
    ranges = OutputRanges(*(np.full(len(outputs), np.nan) for _ in range(4)))
    own, largest_other = outputs[labels, points], others.max(axis=0)
    np.fmin.at(ranges.min, labels, own)
    np.fmax.at(ranges.max, labels, own)
    np.fmax.at(ranges.others_max, labels, largest_other)
    np.fmin.at(ranges.margin_min, labels, own - largest_other)
    return ranges


def softmax_gap(outputs: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return (N,): 1 - phi_{y_i}(g(x_i)) for outputs (k, N) and labels (N,), computed without cancellation."""
    points = np.arange(len(labels))
    relative = outputs - outputs[labels, points]
    relative[labels, points] = -np.inf
    top = np.maximum(relative.max(axis=0), 0.0)
    rest = np.exp(relative - top).sum(axis=0)
    gap: np.ndarray = rest / (np.exp(-top) + rest)
    return gap


def log_softmax_gap(outputs: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return (N,): log(1 - phi_{y_i}(g(x_i))), also where the gap is less than any double."""
    points = np.arange(len(labels))
    relative = outputs - outputs[labels, points]
    relative[labels, points] = -np.inf
    rest = np.logaddexp.reduce(relative, axis=0)
    return rest - np.logaddexp(0.0, rest)


def class_mean(values: np.ndarray, labels: np.ndarray, k: int) -> np.ndarray:
    """Return (k,) means of values (N,) over the points of each class, NaN for a class without points."""
    counts = np.bincount(labels, minlength=k)
    with np.errstate(invalid="ignore"):
        return np.bincount(labels, weights=values, minlength=k) / np.where(counts > 0, counts, np.nan)
