"""Margins and distances of convex hulls, as points of least norm.

The margin of a set C through the origin, max over |v| = 1 of min over x in C of <v, x>, is the distance of the origin from the convex hull of C,
and the best v points to the nearest point of the hull. With C = {y x} this is the max-margin solution without a bias; with C the differences
x - x' of points of two classes it is the distance of their hulls.

The point of least norm of the hull of p_1, ..., p_n is x = P u / sum(u), where u >= 0 minimises |P u|^2 + (sum(u) - 1)^2: with u = s theta and theta
in the simplex the minimum over s is |P theta|^2 / (1 + |P theta|^2), which grows with |P theta| (Lawson and Hanson, chapter 23). Points of C join
one by one, each time the one that is lowest along x, until no point is lower than x itself. Supports that are boxes need no list of corners.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np


class Support(Protocol):
    """A law, as far as margins need it."""

    def mean(self) -> np.ndarray:
        """Return any point of the hull of the support."""

    def lowest(self, direction: np.ndarray) -> np.ndarray:
        """Return a point of the support with the least product with ``direction``."""


TOUCHING = 1e-12
"""Distances below this part of the size of the points are zero up to round-off."""


def nearest_point(lowest: Callable[[np.ndarray], np.ndarray], start: np.ndarray) -> np.ndarray:
    """Return the point of least norm of the hull of a set of which ``lowest(v)`` is the point with the least <v, x>; zeros if it is the origin."""
    from scipy.optimize import nnls

    points = [lowest(start)]
    while True:
        columns = np.stack(points, axis=1)
        scale = np.abs(columns).max() or 1.0
        weights, _ = nnls(np.vstack([columns / scale, np.ones(len(points))]), np.append(np.zeros(len(columns)), 1.0))
        nearest = columns @ (weights / weights.sum())
        if np.linalg.norm(nearest) <= TOUCHING * scale:
            return np.zeros_like(nearest)
        new = lowest(nearest)
        if nearest @ (nearest - new) <= 1e-15 * scale**2 or any(np.array_equal(new, point) for point in points):
            return nearest
        points.append(new)


def margin_vector(laws: Mapping[int, Support]) -> np.ndarray:
    """Return gamma v of laws given y = +-1: the unit normal v of the max-margin hyperplane through the origin, times its margin gamma."""

    def lowest(v: np.ndarray) -> np.ndarray:
        return min((y * laws[y].lowest(y * v) for y in (1, -1)), key=lambda x: float(x @ v))

    return nearest_point(lowest, laws[1].mean() - laws[-1].mean())


def gap_vector(laws: Mapping[int, Support]) -> np.ndarray:
    """Return the shortest vector from the hull of class -1 to that of class +1: its norm is their distance."""
    return nearest_point(lambda v: laws[1].lowest(v) - laws[-1].lowest(-v), laws[1].mean() - laws[-1].mean())
