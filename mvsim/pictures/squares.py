"""Square panels, with the diagonal where both axes are equal: total correlations at the end, and escapes against those predicted."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mvsim.pictures.panel import Limits, Panel, inches, linear_limits
from mvsim.pictures.shown import Shown
from mvsim.pictures.style import MARK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LETTER = 0.048
"""Width of a letter of the counts, inches."""

FAR = 30.0
"""What was predicted beyond this factor of all that was measured stands at the edge: drawn in place, it would squeeze everything else."""


def _totals(shown: Shown) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the total correlations of the two views of each class; unless views are two, the largest and the least."""
    final = shown.at_end("total_correlation")
    return (final[:, 0], final[:, 1]) if final.shape[1] == 2 else (final.max(axis=1), final.min(axis=1))


def _total_limits(runs: Sequence[Shown]) -> Limits:
    return linear_limits(value for shown in runs for values in _totals(shown) for value in values)


def _draw_totals(axes: Axes, shown: Shown, limits: Limits) -> None:
    first, second = _totals(shown)
    names = ("C_{y,1}", "C_{y,2}") if shown.run.parameters.V == 2 else (r"\max_\ell C_{y,\ell}", r"\min_\ell C_{y,\ell}")
    axes.axline((0, 0), slope=1, color=MARK, linewidth=0.7, linestyle=":", zorder=1)
    axes.scatter(first, second, s=14, color=shown.colour, alpha=0.6, linewidths=0, zorder=2, clip_on=False)
    count_dots(axes, first, second, lambda values: values / limits[1], shown.colour)
    if shown.has_threshold and not shown.is_over:
        _caption(axes, "linear neurons only; a feature may be learned without any")
    axes.set_xlabel(f"total correlation ${names[0]}$ at the last record")
    axes.set_ylabel(f"total correlation\n${names[1]}$ at the last record")


def _total_notes(runs: Sequence[Shown]) -> str:
    """Say what is drawn, and of which neurons where a run is not over: others may have features that they have learned already."""
    thresholds = " or ".join(dict.fromkeys(shown.active_symbol for shown in runs if shown.has_threshold and not shown.is_over))
    only = f"; linear neurons: above {thresholds}" if thresholds else ""
    return rf"Total correlations: dots are classes{only}; $\times n$: $n$ dots at one place."


def _escapes(shown: Shown) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_], int]:
    """Return when neurons escaped and when that was predicted, which of them are the first of their class, and how many were not predicted.

    The prediction is of a growth that never slows down, so it is compared with the escape; B_{y,l} is entered later, under Midpoint Mixup much later.
    """
    measured, predicted = shown.of_classes("escape_time"), shown.of_classes("predicted_entry_time")
    escaped = np.isfinite(measured) & (measured > 0)
    both = escaped & np.isfinite(predicted)
    first = both & (measured == np.min(np.where(np.isnan(measured), np.inf, measured), axis=(1, 2), keepdims=True))
    return measured[both], predicted[both], first[both], int((escaped & ~both).sum())


def _escape_limits(runs: Sequence[Shown]) -> Limits:
    """Return limits around all escapes, and around what was predicted unless that is far away."""
    all_of = [_escapes(shown) for shown in runs]
    measured = np.concatenate([escapes[0] for escapes in all_of])
    if not len(measured):
        return 0.1, 10.0
    predicted = np.concatenate([escapes[1] for escapes in all_of])
    near = predicted[(predicted > measured.min() / FAR) & (predicted < measured.max() * FAR)]
    ends = np.concatenate([measured, near])
    return float(ends.min() / 2), float(ends.max() * 2)


def _draw_escapes(axes: Axes, shown: Shown, limits: Limits) -> None:
    """Draw when neurons escaped against when the initial state predicts it: what comes after the first of a class is held up or helped by it."""
    measured, predicted, first, unforeseen = _escapes(shown)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("predicted time of escape")
    axes.set_ylabel("time of escape")
    axes.axline((limits[0], limits[0]), (limits[1], limits[1]), color=MARK, linewidth=0.7, linestyle=":", zorder=1)
    if not len(measured):
        axes.text(0.5, 0.5, "no neuron\nhas escaped", transform=axes.transAxes, ha="center", va="center", fontsize=6.5, color=MARK)
        return
    seen = np.clip(predicted, *limits)
    for chosen, face in ((first, shown.colour), (~first, "none")):
        for inside, shape in ((predicted == seen, "o"), (predicted > seen, ">"), (predicted < seen, "<")):
            dots: dict[str, Any] = {
                "s": 13,
                "marker": shape,
                "facecolor": face,
                "edgecolor": shown.colour,
                "linewidths": 0.6,
                "clip_on": False,
                "zorder": 2,
            }
            if (chosen & inside).any():
                axes.scatter(seen[chosen & inside], measured[chosen & inside], **dots)
    _caption(axes, _counts(predicted, seen, first, unforeseen))


def _caption(axes: Axes, words: str) -> None:
    """Write above a panel what a reader has to know of this run."""
    lines = "\n".join(textwrap.wrap(words, max(int(inches(axes)[0] / LETTER), 20)))
    axes.annotate(lines, (0.0, 1.0), xytext=(0, 2), xycoords="axes fraction", textcoords="offset points", va="bottom", fontsize=6, color=MARK)


def _counts(predicted: NDArray[np.float64], seen: NDArray[np.float64], first: NDArray[np.bool_], unforeseen: int) -> str:
    """Say how many escapes there are, and how they are drawn."""
    later, earlier = int((predicted > seen).sum()), int((predicted < seen).sum())
    total = len(predicted) + unforeseen
    parts = [f"{total} escape{'s' * (total != 1)}"]
    parts += ["filled: first of a class"] if not first.all() else []
    signs = ("\u25b7", later, "later"), ("\u25c1", earlier, "earlier")
    parts += [f"{sign}\N{NO-BREAK SPACE}{count} predicted {when}" for sign, count, when in signs if count]
    parts += [f"not drawn: {unforeseen} not predicted"] if unforeseen else []
    return "; ".join(parts)


total_correlations = Panel(
    "total-correlations",
    _draw_totals,
    _total_limits,
    over_time=False,
    notes=_total_notes,
    is_empty=lambda shown: not any(values.any() for values in _totals(shown)),
)
escapes = Panel(
    "escapes",
    _draw_escapes,
    _escape_limits,
    over_time=False,
    notes=lambda runs: (
        "Escapes: when neurons become linear in a feature of their class; predicted from the initial state, all else held (triangles: off the axis)."
    ),
    is_empty=lambda shown: not len(_escapes(shown)[0]),
)


if TYPE_CHECKING:
    from matplotlib.axes import Axes

NEAR = 0.015
"""Dots this close to each other, as part of the axes, cannot be told apart."""


def groups_of(points: ArrayLike) -> list[NDArray[np.int64]]:
    """Return the indices of points that lie together: each point joins the first group whose first point is within `NEAR` of it."""
    groups: list[list[int]] = []
    places = np.asarray(points, dtype=np.float64)
    for index, point in enumerate(places):
        home = next((group for group in groups if np.hypot(*(places[group[0]] - point)) <= NEAR), None)
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
            left, low = part(middle)[0] > 0.8, part(middle)[1] < 0.05  # no room at the right end, and none on the horizontal axis
            away = (9 if low else 5) * (-1 if left else 1)
            axes.annotate(
                rf"$\times${len(group)}", middle, xytext=(away, 5 if low else 0), textcoords="offset points", ha="right" if left else "left",
                va="center", fontsize=6.5, color=colour, annotation_clip=False,
            )  # fmt: skip
