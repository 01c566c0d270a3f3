"""Pictures of the linear regime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from mvsim.plotting.style import MARK, NONE, STRONG, WEAK, styled

SHADES = ("#9ecae1", "#6baed6", "#4292c6", "#2171b5", "#08519c", "#08306b")
"""For several k, from the smallest to the largest."""

TIMES = 1e13
"""Times of this size and more are left out."""


def regime_figure(results: dict[str, Any]) -> Figure:
    """Draw Section 3 in six panels."""
    with styled():
        figure = Figure(figsize=(9.6, 5.8))
        grid = figure.subplots(2, 3)
        for draw, axes in zip((_breaks, _unseen, _distances, _gradients, _erm, _closing), grid.flat, strict=True):
            draw(axes, results)
        return figure


def separability_figure(results: dict[str, Any]) -> Figure:
    """Draw Proposition 4.4: the share of data sets on which no linear classifier is perfect, over strength and number of points."""
    with styled():
        figure = Figure(figsize=(6.4, 2.6))
        left, right = figure.subplots(1, 2, sharey=True)
        rows = results["separability"]
        k = rows["over_strength"][0]["k"]
        _shares(left, rows["over_strength"], "strength")
        left.set(
            xscale="log", xlabel=r"noise over signal, $P\delta_3/\delta_2$", ylabel="share of data sets", title=f"strong noise is needed ($k$ = {k})"
        )
        _shares(right, rows["over_points"], "points")
        right.set(xlabel="points for each class", title=f"and enough points ($k$ = {k})")
        left.set_xticks([0.2, 0.5, 1.0, 2.0], ["0.2", "0.5", "1", "2"])
        left.xaxis.set_minor_locator(NullLocator())
        right.legend(loc="center right")
        return figure


def _shares(axes: Axes, rows: Sequence[dict[str, Any]], over: str) -> None:
    values = sorted({row[over] for row in rows})
    for status, label, colour in (("holds", "proved: no linear classifier", STRONG), ("fails", "proved: there is one", WEAK)):
        share = [np.mean([row["status"] == status for row in rows if row[over] == value]) for value in values]
        axes.plot(values, share, color=colour, marker="o", markersize=3, label=label)
    axes.set_ylim(-0.03, 1.03)


def _shade(i: int, n: int) -> str:
    return SHADES[round(i * (len(SHADES) - 1) / max(n - 1, 1))]


def _breaks(axes: Axes, results: dict[str, Any]) -> None:
    rows = results["breaks"]
    for i, (k, values) in enumerate(rows["least"].items()):
        axes.loglog(rows["e"], np.median(values, axis=1), color=_shade(i, len(rows["least"])), marker="o", markersize=2.5, label=f"$k$ = {k}")
    e = np.array(rows["e"])
    reference = 0.3 * np.median(next(iter(rows["least"].values())), axis=1)[-1] * e**2
    axes.loglog(e, reference, color=MARK, linewidth=0.7, linestyle="--", label=r"$\sim e^2$")
    axes.set(xlabel="break $e$ of one correlation", ylabel=r"$\min_\gamma J_{MM}(\gamma g) - \inf J_{MM}$", title="3.2: unequal features cost")
    axes.legend(fontsize=6)


def _unseen(axes: Axes, results: dict[str, Any]) -> None:
    rows = results["unseen"]
    N = [row["N"] for row in rows]
    fraction = np.array([row["fraction"] for row in rows])
    error = np.abs(np.array([[row["low"] for row in rows], [row["high"] for row in rows]]) - fraction)
    axes.semilogy(N, [row["exact"] for row in rows], color=MARK, linewidth=0.7, linestyle="--", label=r"$(1 - 1/k)^N + k^{-N}$")
    axes.errorbar(N, fraction, error, color=STRONG, marker="o", markersize=3, linestyle="", label="data sets, $k$ = 5")
    axes.set(xlabel="number of points $N$", ylabel="share that does not show a break", title=r"3.2: necessary but for $e^{-\Theta(N)}$")
    axes.legend()


def _distances(axes: Axes, results: dict[str, Any]) -> None:
    rows = results["distances"]
    for i, (k, values) in enumerate(rows["beta"].items()):
        axes.loglog(rows["a"], values, color=_shade(i, len(rows["beta"])), label=f"$k$ = {k}")
    axes.set(xlabel=r"$a$ of $\lambda \sim$ Beta$(a, a)$", ylabel=r"distance $\varepsilon_0$", title=r"3.3: 0 only for ERM and midpoint")
    axes.legend(fontsize=6)


def _gradients(axes: Axes, results: dict[str, Any]) -> None:
    rows = results["gradients"]
    k = np.array([int(one) for one in rows])
    for name, label, colour, sign in (
        ("lagging", "lagging feature at 0", STRONG, 1.0),
        ("alike", "classes alike", "#009E73", 1.0),
        ("as_written", "as written: minus the pull", WEAK, -1.0),
    ):
        medians = sign * np.array([np.median(rows[str(one)][name]) for one in k])
        axes.loglog(k, medians, color=colour, marker="o", markersize=3, label=label)
    axes.loglog(k, 0.02 / k.astype(float) ** 2 * k[0], color=MARK, linewidth=0.7, linestyle="--", label=r"$\sim k^{-2}$")
    axes.set(xlabel="classes $k$", ylabel=r"least pull $-\langle\nabla J_{MM}, v_{y,2}\rangle$", title="3.4: the worst pull on a lagging feature")
    axes.legend(fontsize=6)


def _erm(axes: Axes, results: dict[str, Any]) -> None:
    rows = results["gradients"]
    k = np.array([int(one) for one in rows], dtype=float)
    constants = [C for C in next(iter(rows.values()))["erm"] if float(C) in (1.0, 10.0, 20.0, 40.0)]
    for i, C in enumerate(constants):
        colour = _shade(i, len(constants))
        axes.loglog(k, [np.median(row["erm"][C]) for row in rows.values()], color=colour, marker="o", markersize=3, label=f"$C$ = {float(C):g}")
        axes.loglog(k, k ** (1.0 - 0.1 * float(C)), color=colour, linewidth=0.7, linestyle="--")
    axes.set(xlabel="classes $k$", ylabel=r"pull of ERM at $\Delta_y = C \log k$", title=r"3.5: below $k^{-(0.1C - 1)}$ (dashed)")
    axes.legend(fontsize=6)


def _closing(axes: Axes, results: dict[str, Any]) -> None:
    rows = results["closing"]
    for method, colour, name in (("erm", NONE, "ERM"), ("midpoint", STRONG, "Midpoint Mixup")):
        shown = MARK if method == "erm" else colour
        for style, (k, values) in zip(("-", "--", ":"), rows["times"][method].items(), strict=False):
            medians = [np.median([np.inf if time is None else time for time in times]) for times in values]
            axes.semilogy(
                rows["C"],
                [m if m < TIMES else np.nan for m in medians],
                color=shown,
                linestyle=style,
                marker="o",
                markersize=2.5,
                label=f"{name}, $k$ = {k}",
            )
    axes.set(xlabel=r"start, $\Delta_y = C \log k$", ylabel="time until the gap is half", title="the gap closes under both")
    axes.legend(fontsize=6)
