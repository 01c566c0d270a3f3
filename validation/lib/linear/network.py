"""The linear picture inside a network: a gap opened between views that are active, and what both losses do with it, beside the linear model."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import mvsim
from mvsim.flow import INTEGRATORS, State
from mvsim.multi_view.diagnostics import active_neurons, own_correlations, total_correlation
from mvsim.multi_view.objectives import Objective
from mvsim.multi_view.thresholds import entered_B
from mvsim.papers.midpoint_mixup.section_3.sample import own_only
from mvsim.runs.simulation.field import field_of

RTOL = 1e-3
"""Relative tolerance of the flows."""

LAST = 1e12
"""Time at which training is given up if a view is still not active."""


class BothActive(NamedTuple):
    """The first state of a midpoint run in which both views of every class are active.

    Attributes
    ----------
    time : float
        When.
    c : numpy.ndarray
        (k, m, k, 2) correlations.
    """

    time: float
    c: np.ndarray


def both_active(parameters: mvsim.Parameters, seed: int) -> BothActive | None:
    """Train under Midpoint Mixup until B_{y,l} has a neuron for every class and view; None if it has not by `LAST`."""
    objective = mvsim.objective("midpoint", parameters, mvsim.sample_dataset(parameters, seed))
    threshold = entered_B(parameters, mixes=True)
    start = State(0, 0.0, mvsim.initial_correlations(parameters, seed))
    for visit in INTEGRATORS["flow"](field_of(objective), RTOL).trajectory(start, LAST):
        if active_neurons(visit.state.c, threshold).any(axis=1).all():
            return BothActive(visit.state.time, visit.state.c)
    return None


def followed(objective: Objective, c: np.ndarray, threshold: float, t_end: float) -> dict[str, list[Any]]:
    """Follow the flow from c and keep the gap of each class, C_{y,1} - C_{y,2} with its sign, over time."""
    times, gaps = [0.0], [_gap(c, threshold)]
    for visit in INTEGRATORS["flow"](field_of(objective), RTOL).trajectory(State(0, 0.0, c), t_end):
        times.append(visit.state.time)
        gaps.append(_gap(visit.state.c, threshold))
    return {"time": times, "gap": gaps}


def opened(c: np.ndarray, gap: float) -> np.ndarray:
    """Return correlations in which those of the strongest neurons of each class with its own features differ by ``gap``, the views in turn ahead.

    Their mean over the two views stays what it is.
    """
    k = len(c)
    y, own = np.arange(k), own_correlations(c)
    neurons = own.argmax(axis=1)
    strongest = own[y[:, None], neurons, np.arange(2)]
    ahead = np.where(y % 2 == 0, 0.5, -0.5)[:, None] * [gap, -gap]
    moved = c.copy()
    for view in range(2):
        moved[y, neurons[:, view], y, view] = strongest.mean(axis=1) + ahead[:, view]
    return moved


def branches(parameters: mvsim.Parameters, seed: int, gap: float, t_end: float) -> dict[str, Any] | None:
    """Open a gap in a network whose views are all active, and follow both losses there and in the linear model with the same correlations.

    The linear model has one weight vector for each class with <w_y, v_{y,l}> = C_{y,l}. Its points are the sums over signal patches: where all
    patches are in the linear regime that is all that outputs depend on, up to constants. A class with several active neurons moves faster in the
    network. None if a view does not become active, or one would be inactive after the gap has been opened.
    """
    start = both_active(parameters, seed)
    if start is None:
        return None
    data, threshold = mvsim.sample_dataset(parameters, seed), entered_B(parameters, mixes=True)
    c = opened(start.c, gap)
    if not active_neurons(c, threshold).any(axis=1).all():
        return None
    totals = np.concatenate([data.own_coefficients(view).sum(axis=1, keepdims=True) for view in range(2)], axis=1)
    patches = np.zeros((data.N, 1, data.k, 2))
    patches[np.arange(data.N), 0, data.labels] = totals
    points = mvsim.Dataset.from_patches(data.labels, patches)
    linear = mvsim.Parameters(k=data.k, model="linear", N=data.N)
    alike = own_only(total_correlation(c, threshold))
    found: dict[str, Any] = {"seed": seed, "time": start.time, "gap": gap, "neurons": active_neurons(c, threshold).sum(axis=1).tolist()}
    for method in ("erm", "midpoint"):
        found[method] = {
            "network": followed(mvsim.objective(method, parameters, data), c, threshold, t_end),
            "linear": followed(mvsim.objective(method, linear, points), alike, -np.inf, t_end),
        }
    return found


def _gap(c: np.ndarray, threshold: float) -> list[float]:
    """Return the gap of each class: between the sums of own correlations that have passed the threshold."""
    own = own_correlations(c)
    return [float(gap) for gap in -np.diff(np.where(own >= threshold, own, 0.0).sum(axis=1), axis=1)[:, 0]]
