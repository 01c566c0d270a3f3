"""Panels of curves over time: correlations, loss, and the gap between two views."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mvsim.multi_view.data import sample_dataset
from mvsim.multi_view.thresholds import entered_B
from mvsim.pictures.panel import Limits, Panel, level, marker, room_before_rise, time_limits
from mvsim.pictures.shown import Shown
from mvsim.pictures.style import STRONGER, WEAKER

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAME_WIDTH = 0.65
"""Inches that the name of a view takes; where curves rise before that, only the footnote has it."""


def _draw_correlations(axes: Axes, shown: Shown, limits: Limits) -> None:
    """Draw the largest correlation of each class with its features, Lambda_{y,l}, the stronger view solid and the weaker ones dashed."""
    values = shown.over_time("max_correlation")
    is_stronger = stronger_views(values)
    low, high = np.inf, 0.0
    for name, style, views in (("stronger view", STRONGER, is_stronger), ("weaker view", WEAKER, ~is_stronger)):
        if not views.any():  # the only view of a class is the stronger one
            continue
        chosen = positive(values[:, views])
        axes.plot(shown.times, chosen, color=shown.colour, linestyle=style, linewidth=0.5, alpha=0.4, **marker(shown))
        median = positive(np.median(values[:, views], axis=1))
        axes.plot(shown.times, median, color=shown.colour, linestyle=style, label=name, **marker(shown))
        finite = chosen[np.isfinite(chosen)]
        low, high = min([low, *finite]), max([high, *finite])
    if values.shape[2] > 1 and not 0.0 < room_before_rise(axes, shown, limits) < NAME_WIDTH:
        _name_curves(axes, shown, positive(values[0]).ravel())
    p = shown.run.parameters
    axes.set_yscale("log")
    if shown.has_threshold:
        level(axes, p.rho, r"$\rho$")
        threshold = entered_B(p, shown.mixes)
        level(axes, threshold, shown.active_symbol)
        low, high = min(low, p.rho), max(high, threshold)
    if np.isfinite(low) and high > 0:
        room = max(high / low, 10.0) ** 0.12  # for the names of the curves below them
        axes.axhline(low / room, linewidth=0.0)  # unlike limits, it leaves room for what the runs beside this one need
    axes.set_ylabel(r"largest correlation $\Lambda_{y,\ell}$")


def _correlation_notes(runs: Sequence[Shown]) -> str:
    missing = any((shown.over_time("max_correlation") <= 0.0).any() for shown in runs)
    lines = "Correlations: thin lines are classes, thick ones their median; solid: the stronger view of a class, dashed: the weaker"
    return f"{lines}; no line has a point where its correlation is not positive." if missing else f"{lines}."


def _name_curves(axes: Axes, shown: Shown, start: NDArray[np.float64]) -> None:
    """Write the names of the views at the start of the curves, where they are flat: above all of them and below."""
    finite = start[np.isfinite(start)]
    if not len(finite):
        return
    for name, height, offset, side in (("stronger view", finite.max(), 1.5, "bottom"), ("weaker view", finite.min(), -1.5, "top")):
        style: dict[str, Any] = {"va": side, "fontsize": 6.5, "color": shown.colour, "annotation_clip": False}
        text = axes.annotate(name, (shown.times[0], height), xytext=(3, offset), textcoords="offset points", **style)
        text.set_in_layout(False)


def _draw_loss(axes: Axes, shown: Shown, limits: Limits) -> None:
    """Draw the loss, as points where each step draws pairs of its own, with the value that no outputs go below if mixing makes that positive."""
    _start_at_zero(axes)
    values = shown.run.dataset["loss"].to_numpy()[shown.kept]
    if shown.draws_pairs_each_step:
        axes.plot(shown.times, values, color=shown.colour, linestyle="", marker=".", markersize=3, label="of the pairs drawn at the step")
        axes.legend(loc="best")
    else:
        axes.plot(shown.times, values, color=shown.colour, **marker(shown))
    floor = loss_floor(shown)
    if floor > 0:
        level(axes, floor, "lower bound", inside=True)
    axes.set_ylabel("training loss")


def _draw_gaps(axes: Axes, shown: Shown, limits: Limits) -> None:
    """Draw the gap between the total correlations of each class, Delta_y, and log k, from which on the theory calls it open."""
    _start_at_zero(axes)
    values = shown.over_time("view_gap")
    axes.plot(shown.times, values, color=shown.colour, linewidth=0.5, alpha=0.4, **marker(shown))
    axes.plot(shown.times, np.median(values, axis=1), color=shown.colour, label="median of the classes", **marker(shown))
    level(axes, float(np.log(shown.run.parameters.k)), r"$\log k$")
    axes.set_ylabel(r"gap $\Delta_y = |C_{y,1} - C_{y,2}|$")


def _start_at_zero(axes: Axes) -> None:
    """Let the vertical axis start at 0; unlike limits, it leaves room at the top for what the runs beside this one need."""
    axes.axhline(0.0, linewidth=0.0).sticky_edges.y.append(0.0)


def stronger_views(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return (class, view): whether a view is the stronger one of its class, given correlations (time, class, view).

    The stronger view leads over most of the picture: at the end midpoint has made the two equal.
    """
    leading = np.log(np.maximum(values, np.finfo(float).tiny)).sum(axis=0).argmax(axis=1)
    return np.asarray(np.arange(values.shape[2]) == leading[:, None])


def positive(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values, NaN where they have no place on a logarithmic axis."""
    return np.where(values > 0, values, np.nan)


def _midpoint_floor(share: NDArray[np.float64]) -> float:
    """Return what Midpoint Mixup costs at least, given the shares of the classes among the training points.

    A pair with different labels costs at least log 2, at softmax 1/2 for both; a pair with equal labels costs more than 0. Over all ordered pairs:
    log 2 (1 - sum_y (N_y / N)^2), about log 2 (1 - 1/k).
    """
    return float(np.log(2.0) * (1.0 - share @ share))


LOSS_FLOORS: dict[str, Callable[[NDArray[np.float64]], float]] = {"midpoint": _midpoint_floor}
"""What the training loss of a method cannot go below, given the shares of the classes among the points; of a method that is not here 0."""


def loss_floor(shown: Shown) -> float:
    """Return a value that the training loss of a run cannot go below, whatever the outputs are. Dimensionless.

    Points that were given are not in the file of a run, so that the shares of their classes are not known: 0.
    """
    floor = LOSS_FLOORS.get(shown.run.method)
    if floor is None or shown.run.provenance["options"].get("data") is not None:
        return 0.0
    data = sample_dataset(shown.run.parameters, shown.run.seed)
    return floor(np.bincount(data.labels, minlength=data.k) / data.N)


correlations = Panel(
    "correlations",
    _draw_correlations,
    time_limits,
    over_time=True,
    notes=_correlation_notes,
)
loss = Panel("loss", _draw_loss, time_limits, over_time=True)
gaps = Panel("gaps", _draw_gaps, time_limits, over_time=True, notes=lambda runs: "Gaps: thin lines are classes, the thick one their median.")
