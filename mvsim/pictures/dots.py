"""Dots that coincide are counted."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NEAR = 0.015
"""Dots this close to each other, as part of the axes, cannot be told apart."""


def groups_of(points: ArrayLike, near: float = NEAR) -> list[NDArray[np.int64]]:
    """Return the indices of points that lie together: each point joins the first group whose first point is within ``near`` of it."""
    groups: list[list[int]] = []
    places = np.asarray(points, dtype=np.float64)
    for index, point in enumerate(places):
        home = next((group for group in groups if np.hypot(*(places[group[0]] - point)) <= near), None)
        if home is None:
            groups.append([index])
        else:
            home.append(index)
    return [np.array(group) for group in groups]


def count_dots(axes: Axes, x: ArrayLike, y: ArrayLike, part: Callable[[NDArray[np.float64]], NDArray[np.float64]], colour: str) -> None:
    """Write beside each place where dots coincide how many they are; ``part`` turns values of an axis into parts of it, from 0 to 1."""
    points = np.stack([np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)], axis=1)
    for group in groups_of(part(points)):
        if len(group) > 1:
            middle = points[group].mean(axis=0)
            left = part(middle)[0] > 0.8  # no room at the right end
            axes.annotate(
                rf"$\times${len(group)}", middle, xytext=(-5 if left else 5, 0), textcoords="offset points", ha="right" if left else "left",
                va="center", fontsize=6.5, color=colour, annotation_clip=False,
            )  # fmt: skip
