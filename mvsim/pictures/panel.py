"""What a panel of a picture is, and the marks that panels share."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mvsim.pictures.shown import Shown
from mvsim.pictures.style import MARK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Limits = tuple[float, float]
"""Least and largest value of an axis."""


@dataclass(frozen=True)
class Panel:
    """One quantity of one run in one pair of axes."""

    name: str  # How it is called in ``mvsim plot --panels``
    draw: Callable[[Axes, Shown, Limits], None]  # Draws it; limits are those of the horizontal axis, the same in all columns
    limits: Callable[[Sequence[Shown]], Limits]  # All runs shown -> least and largest of the horizontal axis; of a square panel of both axes
    over_time: bool  # Whether the horizontal axis is time, which is shared; others are square, with a diagonal where both axes are equal
    notes: Callable[[Sequence[Shown]], str] = lambda runs: ""  # What a reader has to know to read it, for the footnote
    is_empty: Callable[[Shown], bool] = lambda shown: False  # Whether it has nothing to show of a run


def time_limits(runs: Sequence[Shown]) -> Limits:
    """Return the first and the last time of all runs; both are the same if no run has two records after time 0."""
    last = max(float(shown.times[-1]) for shown in runs)
    return min((float(time) for shown in runs for time in shown.times[:1] if time > 0), default=last), last


def linear_limits(values: Iterable[float]) -> Limits:
    """Return the range of an axis from 0 with room above the largest value."""
    return 0.0, 1.08 * (max((value for value in values if math.isfinite(value)), default=0.0) or 1.0)


def level(axes: Axes, height: float, name: str, inside: bool = False) -> None:
    """Draw a dashed grey line at ``height``, with its name behind its right end, or ``inside`` under it where no curve can be."""
    axes.axhline(height, color=MARK, linewidth=0.7, linestyle=":", zorder=0)
    offset, place = ((0, -2), {"ha": "right", "va": "top"}) if inside else ((2, 0), {"ha": "left", "va": "center"})
    right_end: dict[str, Any] = {"xy": (1.0, height), "xycoords": ("axes fraction", "data"), **place}
    axes.annotate(name, xytext=offset, textcoords="offset points", color=MARK, fontsize=7, **right_end)


def inches(axes: Axes) -> tuple[float, float]:
    """Return width and height of axes before labels take their part, to see what text has room in them."""
    return 0.95 * axes.bbox.width / axes.figure.dpi, 0.95 * axes.bbox.height / axes.figure.dpi


def room_before_rise(axes: Axes, shown: Shown, limits: Limits) -> float:
    """Return how many inches of a time axis lie between the first record and the first rise, or the last record if that comes before."""
    begin, last = float(shown.times[0]), float(shown.times[-1])
    end = min(shown.first_rise, last) if shown.first_rise > begin else last
    return math.log(end / begin) / math.log(limits[1] / limits[0]) * inches(axes)[0] if 0.0 < limits[0] < limits[1] and begin > 0.0 else 0.0


def marker(shown: Shown) -> dict[str, Any]:
    """Draw a lone record as a dot, because a line through one point is invisible."""
    return {"marker": "."} if len(shown.times) == 1 else {}


def mark_end(axes: Axes, shown: Shown, limits: Limits, words: str) -> None:
    """Mark where a run ended, if others go on: what is white behind it was not simulated."""
    last = float(shown.times[-1])
    if not 0.0 < 1.5 * last < limits[1]:
        return
    axes.axvline(last, color=MARK, linewidth=0.6, zorder=0)
    axes.annotate(
        words,
        (last, 1.0),
        xytext=(2, -2),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        rotation=90,
        ha="left",
        va="top",
        fontsize=6.5,
        color=MARK,
    )
