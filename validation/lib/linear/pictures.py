"""Pictures of the linear regime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from lib.colours import colour_of_k
from mvsim.judging.probability import clopper_pearson
from mvsim.pictures.style import MARK, METHODS, styled

TIMES = 1e13
"""Times of this size and more are left out."""

LINEAR = 1e-3
"""Size up to which the axis of the worst pull is linear."""

ORDER = 2.5e-3
"""Of k times the pull, where the line of the order that is claimed begins: below the curves, whose constants nothing says."""


LINES = ("-", (0, (4.0, 1.0)), (0, (4.0, 1.0, 1.0, 1.0)), (0, (0.8, 1.0)))
"""Styles of lines that differ in what is no k."""


def regime_figure(results: dict[str, Any]) -> Figure:
    """Draw Section 3 in six panels: medians over data sets, with the range over them where it is wider than the line."""
    with styled():
        figure = Figure(figsize=(6.8, 7.4), layout="constrained")
        title = "Section 3 on data: each of its four results fails as written; no data set contradicts a corrected form"
        figure.suptitle(title, fontsize=9, x=0.01, ha="left")
        grid = figure.subplots(3, 2)
        for draw, axes in zip((_breaks, _unseen, _distances, _gradients, _erm, _closing), grid.flat, strict=True):
            draw(axes, results)
        return figure


def separability_figure(results: dict[str, Any]) -> Figure:
    """Draw Proposition 4.4: the share of data sets that no linear classifier fits, over strength and number of points."""
    with styled():
        figure = Figure(figsize=(3.3, 4.0), layout="constrained")
        figure.suptitle("With strong noise and enough points\nno linear classifier is perfect", fontsize=9, x=0.01, ha="left")
        upper, lower = figure.subplots(2, 1)
        rows = results["separability"]
        k = rows["over_strength"][0]["k"]
        _share(upper, rows["over_strength"], "strength")
        upper.set(xscale="log", xlabel=r"noise over signal, $P\delta_3/\delta_2$" + f"\n($k$ = {k}, 20 points per class)")
        _share(lower, rows["over_points"], "points")
        strength = rows["over_points"][0]["strength"]
        lower.set(xlabel=rf"points per class ($k$ = {k}, $P\delta_3/\delta_2$ = {strength:.2g})")
        upper.set_xticks([0.2, 0.5, 1.0, 2.0], ["0.2", "0.5", "1", "2"])
        upper.xaxis.set_minor_locator(NullLocator())
        number = max(sum(row["strength"] == one["strength"] for row in rows["over_strength"]) for one in rows["over_strength"])
        decided = all(row["status"] in ("holds", "fails") for axis in ("over_strength", "over_points") for row in rows[axis])
        rest = "Others: a perfect one" if decided else "Some others: neither proved"
        note = f"Bars: 95 % intervals of the share of {number} data sets. {rest}."
        figure.supxlabel(note, fontsize=6, x=0.01, ha="left", color=MARK)
        return figure


def _share(axes: Axes, rows: Sequence[dict[str, Any]], over: str) -> None:
    """Draw the share of the data sets on which no classifier is perfect, with its 95 % interval."""
    values = sorted({row[over] for row in rows})
    counts = [[row["status"] == "holds" for row in rows if row[over] == value] for value in values]
    share = np.array([np.mean(one) for one in counts])
    low, high = np.array([clopper_pearson(sum(one), len(one), 0.95) for one in counts]).T
    axes.errorbar(values, share, [share - low, high - share], color="#1F1F1F", marker="o", markersize=3, elinewidth=0.6)
    axes.set_ylim(-0.03, 1.03)
    axes.set_ylabel("none is perfect, share")


def _spread(axes: Axes, x: Any, values: Any, colour: str, **options: Any) -> None:
    """Draw medians over the last axis, with a band from the least to the largest."""
    values = np.asarray(values, dtype=np.float64)
    axes.fill_between(x, values.min(axis=-1), values.max(axis=-1), color=colour, alpha=0.25, linewidth=0)
    axes.plot(x, np.median(values, axis=-1), color=colour, **{"marker": "o", "markersize": 2.5, **options})


def _breaks(axes: Axes, results: dict[str, Any]) -> None:
    rows = results["breaks"]
    e = np.array(rows["e"])
    ends = list(dict.fromkeys([next(iter(rows["least"])), list(rows["least"])[-1]]))  # the others lie between them
    for k, side in zip(ends, ("bottom", "top"), strict=False):
        _spread(axes, e, rows["least"][k], colour_of_k(int(k)))
        axes.text(0.8 * e[0], np.median(rows["least"][k], axis=1)[0], f"$k$ = {k}", ha="right", va=side)
    axes.set_xlim(0.12 * e[0], None)
    reference = 0.1 * np.median(next(iter(rows["least"].values())), axis=1)[-1] * e**2
    axes.loglog(e, reference, color=MARK, linewidth=0.7, linestyle="--")
    axes.text(e[1], 0.4 * reference[1], "$e^2$", color=MARK, va="top")
    axes.set(xlabel="inequality $e$ of one correlation", ylabel=r"$\min_\gamma J_{MM}(\gamma g) - \inf J_{MM}$", title="3.2: unequal features cost")


def _unseen(axes: Axes, results: dict[str, Any]) -> None:
    rows = results["unseen"]
    N = [row["N"] for row in rows]
    fraction = np.array([row["fraction"] for row in rows])
    error = np.abs(np.array([[row["low"] for row in rows], [row["high"] for row in rows]]) - fraction)
    axes.semilogy(N, [row["exact"] for row in rows], color=MARK, linewidth=0.7, linestyle="--", label=r"$(1 - 1/k)^N + k^{-N}$")
    axes.errorbar(N, fraction, error, color="#1F1F1F", marker="o", markersize=3, linestyle="", label="data sets, $k$ = 5")
    axes.set(xlabel="number of points $N$", ylabel="share of data sets", title="3.2: inequality goes unseen\n" + r"with probability $e^{-\Theta(N)}$")
    axes.legend()


def _distances(axes: Axes, results: dict[str, Any]) -> None:
    rows = results["distances"]
    for k, values in rows["beta"].items():
        axes.loglog(rows["a"], values, color=colour_of_k(int(k)), label=f"$k$ = {k}")
    axes.text(rows["a"][0], 1.0, "ERM", color=METHODS["erm"], ha="left", transform=axes.get_xaxis_transform(), va="top")
    axes.text(rows["a"][-1], 1.0, "Midpoint Mixup", color=METHODS["midpoint"], ha="right", transform=axes.get_xaxis_transform(), va="top")
    axes.set(xlabel=r"$a$ of $\lambda \sim$ Beta$(a, a)$", ylabel=r"distance $\varepsilon_0$", title="3.3: only ERM and Midpoint Mixup\ncome near 0")
    axes.legend(loc="lower center", reverse=True)  # in the order of the curves


def _gradients(axes: Axes, results: dict[str, Any]) -> None:
    rows = results["gradients"]
    k = np.array([int(one) for one in rows])
    for name, label, line, place in (
        ("lagging", "smaller correlation 0", "-", 0.7),
        ("alike", "all classes equal", (0, (2.0, 1.2)), 0.075),
        ("beyond", r"smaller 0, $\Delta_y = 10\log k$", (0, (4.0, 1.0, 1.0, 1.0)), -0.03),
        ("as_written", "as written: any weights", (0, (0.8, 1.0)), -0.9),
    ):
        values = k[:, None] * np.array([rows[str(one)][name] for one in k])
        _spread(axes, k, values, METHODS["midpoint"], linestyle=line)
        axes.text(k[-1], place, label, ha="right", va="center")
    # The axis is k times the pull, and only beyond LINEAR a straight line in it is a power of k.
    ends = np.array([k[0], k[0] * ORDER / LINEAR])
    axes.plot(ends, ORDER * k[0] / ends, color=MARK, linewidth=0.7, linestyle="--")
    axes.text(1.1 * ends[1], LINEAR, "order of 3.4: $1/k^2$", color=MARK, va="center")
    axes.axhline(0.0, color=MARK, linewidth=0.6)
    axes.set_yscale("symlog", linthresh=LINEAR, linscale=0.3)
    axes.set_ylim(-2.0, 1.5)
    axes.set_yticks([-0.1, -0.01, 0.0, 0.01, 0.1])
    axes.set(xscale="log", xlabel="classes $k$", ylabel=r"$k$ times the least $-\langle\nabla J_{MM}, v_{y,2}\rangle$")
    axes.set_title(r"3.4: at $\Delta_y = \log k$ positive if the smaller" + "\none is 0; negative as written")


def _erm(axes: Axes, results: dict[str, Any]) -> None:
    rows = results["gradients"]
    k = np.array([int(one) for one in rows], dtype=float)
    constants = [C for C in next(iter(rows.values()))["erm"] if float(C) in (1.0, 10.0, 20.0, 40.0)]
    for C, line in zip(constants, LINES, strict=False):
        values = k[:, None] ** (0.1 * float(C) - 1.0) * np.array([row["erm"][C] for row in rows.values()])
        axes.plot(k, np.median(values, axis=-1), color=METHODS["erm"], linestyle=line, label=f"$C$ = {float(C):g}")
    axes.axhline(1.0, color=MARK, linewidth=0.7, linestyle="--")
    axes.text(k[-1], 0.7, "bound", color=MARK, ha="right", va="top")
    axes.set(xscale="log", yscale="log", ylim=(1e-7, 3.0), xlabel="classes $k$")
    axes.set(ylabel=r"$k^{0.1C - 1}$ times the pull at $\Delta_y = C\log k$", title="3.5: ERM stays below its bound")
    axes.legend(loc="lower left")


def _closing(axes: Axes, results: dict[str, Any]) -> None:
    rows = results["closing"]
    C = np.array(rows["C"])
    for method, name in (("erm", "ERM"), ("midpoint", "Midpoint Mixup")):
        colour = METHODS[method]
        for line, place, (k, values) in zip(("-", (0, (2.0, 1.2))), ("top", "bottom"), rows["times"][method].items(), strict=False):
            times = np.array([[np.inf if time is None else time for time in one] for one in values])
            shown = np.median(times, axis=1) < TIMES
            _spread(axes, C[shown], times[shown], colour, linestyle=line)
            axes.text(1.03 * C[shown][-1], np.median(times[shown][-1]), f"$k$ = {k}", va=place, color=colour)
        axes.text(C[2], 3.0 * np.median(times[2]), name, color=colour, ha="right" if method == "erm" else "left", va="bottom")
    axes.set_yscale("log")
    axes.set_xlim(C[0], 1.25 * C[-1])
    axes.set(xlabel=r"start, $\Delta_y = C \log k$", ylabel="time until the gap is half", title="Both close the gap, ERM late")
