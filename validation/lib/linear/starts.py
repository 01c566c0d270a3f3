"""Linear models trained from a state in which one feature of each class is far ahead."""

from __future__ import annotations

import math

import numpy as np

import mvsim
from mvsim.flow import INTEGRATORS, State
from mvsim.papers.midpoint_mixup.section_3.sample import own_only
from mvsim.runs.simulation.field import field_of

LAST = 1e14
"""Time at which a run is given up."""

RTOL = 1e-3
"""Relative tolerance of the flow."""


def one_feature_ahead(k: int, gap: float) -> np.ndarray:
    """Return correlations (k, 1, k, 2): ``gap`` with one feature of each class, the first and the second in turn, and 0 with all others."""
    own = np.zeros((k, 2))
    own[np.arange(k), np.arange(k) % 2] = gap
    return own_only(own)


def gaps(c: np.ndarray) -> np.ndarray:
    """Return (k,): how far the feature that was ahead is ahead, Delta_y with its sign."""
    classes = np.arange(len(c))
    own = c[classes, 0, classes]
    return own[classes, classes % 2] - own[classes, 1 - classes % 2]


def time_to_halve(method: str, parameters: mvsim.Parameters, seed: int, C: float) -> float | None:
    """Return the time in which the median gap falls from C log k, in all classes, to half of that along the flow; None if it has not by `LAST`."""
    objective = mvsim.objective(method, parameters, mvsim.sample_dataset(parameters, seed))
    start = C * math.log(parameters.k)
    before = State(0, 0.0, one_feature_ahead(parameters.k, start))
    for visit in INTEGRATORS["flow"](field_of(objective), RTOL).trajectory(before, LAST):
        was, gap = (float(np.median(gaps(state.c))) for state in (before, visit.state))
        if gap <= 0.5 * start:
            return before.time + (was - 0.5 * start) / (was - gap) * (visit.state.time - before.time)
        before = visit.state
    return None
