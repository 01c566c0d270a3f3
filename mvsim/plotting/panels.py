"""The panels of a run's picture; each draws one quantity of one run into one pair of axes.

To add a panel, write a function of (axes, run) and list it in `PANELS` (and in `TIME_PANELS` if its horizontal axis is time).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mvsim.activations import activation_of
from mvsim.data import sample_dataset
from mvsim.diagnostics import active_threshold
from mvsim.objectives import OBJECTIVES
from mvsim.plotting.style import MARK, OUTCOMES, STRONG, WEAK
from mvsim.recording.feature_test import count_classes, outcomes_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mvsim.run import Run


def correlations(axes: Axes, run: Run) -> None:
    """Draw the largest correlation of each class with its features, Lambda_{y,l}, over time, the strongest view apart from the others."""
    times, keep = _times(run)
    values = run.dataset["max_correlation"].to_numpy()
    # The stronger view of a class is the one that leads over most of the picture: at the end midpoint has made the two equal.
    stronger = np.log(np.maximum(values, np.finfo(float).tiny)).sum(axis=0).argmax(axis=1)
    is_stronger = np.arange(values.shape[2]) == stronger[:, None]
    for name, colour, views in (("stronger view", STRONG, is_stronger), ("weaker view", WEAK, ~is_stronger)):
        if not views.any():  # the only view of a class is the stronger one
            continue
        chosen = values[keep][:, views]
        median = np.median(chosen, axis=1)
        axes.plot(times, _positive(chosen), color=colour, linewidth=0.5, alpha=0.35, **_marker(times))
        axes.plot(times, _positive(median), color=colour, label=name, **_marker(times))
    p, mixes = run.parameters, OBJECTIVES[run.method].mixes_with(run.provenance["options"])
    if _escapes(run):
        _mark(axes, p.rho, r"$\rho$")
        _mark(axes, active_threshold(p, mixes), r"$2\rho/\delta_1$" if mixes else r"$\rho/\delta_1$")
    axes.set_yscale("log")
    axes.set_ylabel(r"max correlation $\Lambda_{y,\ell}$")
    axes.legend(loc="best")


def loss(axes: Axes, run: Run) -> None:
    """Draw the training loss over time, with the value that no outputs go below if mixing makes that positive."""
    axes.axhline(0.0, linewidth=0.0).sticky_edges.y.append(0.0)  # the axis starts at 0, whatever the runs beside this one need at the top
    times, keep = _times(run)
    axes.plot(times, run.dataset["loss"].to_numpy()[keep], color="black", **_marker(times))
    floor = loss_floor(run)
    if floor > 0:
        _mark(axes, floor, "lower bound", inside=True)
    axes.set_ylabel("training loss")


def learned_classes(axes: Axes, run: Run) -> None:
    """Draw the number of classes with both features (all, if there are not two), exactly one (some), or none learned (Definition 4.5) over time."""
    from matplotlib.ticker import MaxNLocator

    times, keep = _times(run)
    counts = [count_classes(fractions) for fractions in run.dataset["feature_learned"].to_numpy()[keep]]
    low = np.zeros(len(times), dtype=np.int64)
    for outcome in outcomes_of(run.parameters.V):
        high, colour = low + np.array([count[outcome.name] for count in counts]), OUTCOMES[outcome.name]
        if len(times) == 1:
            axes.bar(times, high - low, bottom=low, color=colour, label=outcome.phrase)
        else:
            axes.fill_between(times, low, high, step="post", color=colour, label=outcome.phrase, linewidth=0)
        low = high
    axes.margins(y=0)
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.set_ylabel("classes, by features learned")
    axes.legend(loc="upper left")


def total_correlations(axes: Axes, run: Run) -> None:
    """Draw the total correlation at the end, C_{y,1} against C_{y,2}, one dot per class; unless views are two, the largest against the least."""
    final = run.dataset["total_correlation"].to_numpy()[-1]
    first, second, names = final[:, 0], final[:, -1], ("C_{y,1}", "C_{y,2}")
    if final.shape[1] != 2:
        first, second, names = final.max(axis=1), final.min(axis=1), (r"\max_\ell C_{y,\ell}", r"\min_\ell C_{y,\ell}")
    axes.axline((0, 0), slope=1, color=MARK, linewidth=0.7, linestyle="--", zorder=1)
    axes.scatter(first, second, s=14, color="black", alpha=0.6, linewidths=0, zorder=2, clip_on=False)
    axes.set_xlabel(f"final total correlation ${names[0]}$")
    axes.set_ylabel(f"final total correlation ${names[1]}$")


def escapes(axes: Axes, run: Run) -> None:
    """Draw when neurons escaped against when the initial state foretells it, both from 0: on the dashed line it was right."""
    measured, foretold = run.dataset["escape_time"].to_numpy(), run.dataset["predicted_escape_time"].to_numpy()
    foreseen = np.isfinite(measured) & np.isfinite(foretold) & (measured > 0)
    axes.set_xscale("log")
    axes.set_yscale("log")
    if foreseen.any():
        # The first view of a class escapes as foretold; what escapes after it has been held up or helped by it.
        first = foreseen & (measured == np.min(np.where(np.isnan(measured), np.inf, measured), axis=(1, 2), keepdims=True))
        for chosen, colour, name in ((first, STRONG, "first of its class"), (foreseen & ~first, WEAK, "later")):
            axes.scatter(foretold[chosen], measured[chosen], s=14, color=colour, alpha=0.7, linewidths=0, label=name, clip_on=False)
        least, most = measured[foreseen].min(), measured[foreseen].max()
        axes.axline((least, least), (max(most, 1.01 * least),) * 2, color=MARK, linewidth=0.7, linestyle="--", zorder=1)
        axes.legend(loc="upper left")
    unforeseen = int((np.isfinite(measured) & (measured > 0) & ~np.isfinite(foretold)).sum())
    axes.set_xlabel("escape time foretold at the start" + (f" ({unforeseen} not foretold)" if unforeseen else ""))
    axes.set_ylabel(r"escape time (entry into $B_{y,\ell}$)")


def gaps(axes: Axes, run: Run) -> None:
    """Draw the gap between the total correlations of each class, Delta_y, over time, and log k, from which on the theory calls it open."""
    times, keep = _times(run)
    values = run.dataset["view_gap"].to_numpy()[keep]
    axes.plot(times, values, color=STRONG, linewidth=0.5, alpha=0.35, **_marker(times))
    axes.plot(times, np.median(values, axis=1), color=STRONG, label="median of the classes", **_marker(times))
    _mark(axes, float(np.log(run.parameters.k)), r"$\log k$")
    axes.set_ylim(bottom=0.0)
    axes.set_ylabel(r"gap $\Delta_y = |C_{y,1} - C_{y,2}|$")
    axes.legend(loc="upper left")


TIME_PANELS = (correlations, loss, learned_classes, gaps)
"""Panels over time; in a picture they share one time axis."""

PANELS = (correlations, loss, learned_classes, total_correlations, escapes)
"""The panels of a network, from top to bottom."""

LINEAR_PANELS = (correlations, loss, learned_classes, gaps, total_correlations)
"""Those of a linear model."""


def panels_of(runs: Sequence[Run]) -> tuple[Callable[[Axes, Run], None], ...]:
    """Return the panels that are drawn of these runs: those of escapes only if there are thresholds to escape in all of them."""
    return PANELS if all(_escapes(run) for run in runs) else LINEAR_PANELS


def _escapes(run: Run) -> bool:
    """Whether the neurons of a run have a threshold that they escape."""
    return activation_of(run.parameters).escape is not None


def loss_floor(run: Run) -> float:
    """Return a value that the training loss of ``run`` cannot go below, whatever the outputs are. Dimensionless.

    0 for ERM. Under Midpoint Mixup a pair with different labels costs at least log 2, at softmax 1/2 for both; a pair with equal labels
    costs more than 0. Over all ordered pairs: log 2 (1 - sum_y (N_y / N)^2), about log 2 (1 - 1/k).
    """
    if run.method != "midpoint":
        return 0.0
    data = sample_dataset(run.parameters, run.seed)
    share = np.bincount(data.labels, minlength=data.k) / data.N
    return float(np.log(2.0) * (1.0 - share @ share))


def _times(run: Run) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the times to draw and which records they are: time 0 has no place on a log axis, unless there is nothing else."""
    times = run.dataset["time"].to_numpy()
    keep = times > 0
    if not keep.any():
        keep = np.ones_like(keep)
    return times[keep], keep


def _positive(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(values > 0, values, np.nan)


def _marker(times: NDArray[np.float64]) -> dict[str, Any]:
    """Draw a lone record as a dot, because a line through one point is invisible."""
    return {"marker": "."} if len(times) == 1 else {}


def _mark(axes: Axes, height: float, name: str, inside: bool = False) -> None:
    """Draw a dashed line at ``height``, with its name behind its right end, or ``inside`` under it where no curve can be."""
    axes.axhline(height, color=MARK, linewidth=0.7, linestyle="--", zorder=0)
    offset, place = ((0, -2), {"ha": "right", "va": "top"}) if inside else ((2, 0), {"ha": "left", "va": "center"})
    right_end: dict[str, Any] = {"xy": (1.0, height), "xycoords": ("axes fraction", "data"), **place}
    axes.annotate(name, xytext=offset, textcoords="offset points", color=MARK, fontsize=7, **right_end)
