"""The correlations at which times are taken: the work depends on which neurons are dead, polynomial, linear or in between."""

from __future__ import annotations

import numpy as np

import mvsim


def initial(p: mvsim.Parameters) -> np.ndarray:
    """Return the start of a run: half of the neurons dead on a feature, half polynomial."""
    return mvsim.initial_correlations(p, seed=0)


def escaped(p: mvsim.Parameters) -> np.ndarray:
    """Return a late state as runs find it: one neuron for each class and view has escaped, to about 10; the rest are as they were."""
    c = initial(p)
    rng = np.random.default_rng(0)
    for y in range(p.k):
        for view in range(2):
            c[y, rng.integers(p.m), y, view] = rng.uniform(8.0, 12.0)
    return c


def crossing(p: mvsim.Parameters) -> np.ndarray:
    """Return the worst case, which no run meets: every neuron is between two regimes on every feature, so that moments serve none."""
    return np.full((p.k, p.m, p.k, 2), 4.0 * p.rho)


def spread(p: mvsim.Parameters) -> np.ndarray:
    """Return correlations of both signs around the threshold, for comparisons: every regime is hit."""
    return 3.0 * p.rho * np.random.default_rng(0).standard_normal((p.k, p.m, p.k, 2))


RUN = {"initial": initial, "escaped": escaped}
"""States of a run."""

ALL = {**RUN, "crossing": crossing}
"""Those, and one that no run meets."""
