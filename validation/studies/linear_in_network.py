"""How the linear picture appears inside network trajectories: with both views active, a gap closes under Midpoint Mixup and stays under ERM.

A network is trained by Midpoint Mixup until every view of every class is active (in B_{y,l}). Then a gap of log k is opened between the strongest own
correlations of each class, with their mean kept and both views still active, and the flow goes on from there under each loss. Beside it the linear
model of Section 3 starts with <w_y, v_{y,l}> = C_{y,l} on the sums of the signal patches of the same points. Nothing is fitted.

The linear model keeps the sum of all weight vectors, as the gradients of a softmax add up to 0 over classes. So its gap closes to 1/k of what it was,
with equal gaps in the weights of all other classes, which no softmax sees. Neurons of the network that see a feature of another class below 0
do not move, and its gap closes to 0. The figure therefore shows the linear model less that 1/k.

Fails if under Midpoint Mixup the median gap of the network is not below a tenth at the end, if under ERM it is below half of it at the time at which
Midpoint Mixup has halved it a hundred times over, or if the times in which Midpoint Mixup halves it in the network and in the linear model differ by
more than a factor 2.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from lib.linear.network import branches
from lib.tables import table
from matplotlib.figure import Figure

import mvsim
from mvsim.pictures.style import MARK, METHODS, styled

TITLE = "The linear picture inside a network"

T_END = 1e6
CLOSED, APART, LATER = 0.1, 2.0, 100.0
"""Part of the gap that counts as closed, largest ratio of the two half-times, and how much later ERM is looked at."""


def pictures(results: dict[str, Any]) -> dict[str, Figure]:
    return {"linear-in-network": picture(results)}


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--k", type=int, nargs="+", default=[6, 10], help="numbers of classes (default %(default)s)")
    parser.add_argument("--seeds", type=int, default=3, help="runs at each k (default %(default)s)")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    results: dict[str, Any] = {"runs": {}}
    for k in options.k:
        runs = [branches(mvsim.Parameters(k=k), seed, float(np.log(k)), T_END) for seed in range(options.seeds)]
        results["runs"][str(k)] = [run for run in runs if run is not None]
    results["lost"] = sum(options.seeds - len(runs) for runs in results["runs"].values())
    return results


def left(run: dict[str, Any], method: str, where: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the times (n,), and which part (n, k) of the gap of each class is left; of the linear model beyond the 1/k that stays."""
    followed = run[method][where]
    part = np.array(followed["gap"]) / np.array(followed["gap"])[0]
    stays = 1.0 / part.shape[1] if where == "linear" else 0.0
    return np.array(followed["time"]), (part - stays) / (1.0 - stays)


def half_time(run: dict[str, Any], method: str, where: str) -> float:
    """Return the first time at which the median over classes is at most a half, infinite if it never is."""
    times, part = left(run, method, where)
    median = np.median(part, axis=1)
    below = np.flatnonzero(median <= 0.5)
    if not len(below):
        return float("inf")
    i = below[0]
    return float(np.interp(-0.5, -median[i - 1 : i + 1], times[i - 1 : i + 1]))


def summary_of(run: dict[str, Any]) -> dict[str, float]:
    """Return the numbers that are judged."""
    halves = {where: half_time(run, "midpoint", where) for where in ("network", "linear")}
    times, part = left(run, "erm", "network")
    later = min(LATER * halves["network"], T_END)
    return {
        "half_network": halves["network"],
        "half_linear": halves["linear"],
        "midpoint_left": float(np.median(np.abs(left(run, "midpoint", "network")[1][-1]))),
        "erm_left": float(np.interp(later, times, np.median(part, axis=1))),
        "erm_left_at_end": float(np.median(part[-1])),
        "erm_left_at_end_linear": float(np.median(left(run, "erm", "linear")[1][-1])),
    }


def judge(results: dict[str, Any]) -> list[str]:
    wrong = [f"{results['lost']} runs have no state in which a gap could be opened"] if results["lost"] else []
    for k, runs in results["runs"].items():
        for run in runs:
            s, where = summary_of(run), f"k = {k}, seed {run['seed']}"
            if not s["midpoint_left"] <= CLOSED:
                wrong.append(f"{where}: {s['midpoint_left']:.2g} of the gap is left under Midpoint Mixup")
            if not s["erm_left"] >= 0.5:
                wrong.append(f"{where}: {s['erm_left']:.2g} of the gap is left under ERM after {LATER:g} half-times of Midpoint Mixup")
            if not 1.0 / APART <= s["half_network"] / s["half_linear"] <= APART:
                wrong.append(f"{where}: half-times {s['half_network']:.3g} in the network and {s['half_linear']:.3g} in the linear model")
    return wrong


LINES: dict[str, dict[str, Any]] = {"network": {"linewidth": 1.4}, "linear": {"color": "black", "linestyle": ":", "linewidth": 1.0}}
"""Lines of networks, in the colours of the methods, and of the linear model."""


def picture(results: dict[str, Any]) -> Figure:
    """Draw what is left of the gap over time, a panel for each k: the median over runs of the median over classes, and the range over runs."""
    with styled():
        figure = Figure(figsize=(3.3, 1.75 * len(results["runs"]) + 0.5), layout="constrained")
        figure.suptitle("When Midpoint Mixup has closed a gap,\nERM has hardly touched it", fontsize=9, x=0.01, ha="left")
        panels = figure.subplots(len(results["runs"]), 1, sharex=True, squeeze=False)[:, 0]
        grid = np.geomspace(1.0, T_END, 200)
        for axes, (k, runs) in zip(panels, results["runs"].items(), strict=True):
            for method in ("erm", "midpoint"):
                colour = METHODS[method]
                for where in ("network", "linear"):
                    curves = [np.interp(grid, times, np.median(part, axis=1)) for times, part in (left(run, method, where) for run in runs)]
                    if curves:
                        least, most = np.min(curves, axis=0), np.max(curves, axis=0)
                        axes.plot(grid, np.median(curves, axis=0), **LINES[where] | ({"color": colour} if where == "network" else {}))
                        if where == "network":
                            axes.fill_between(grid, least, most, color=colour, alpha=0.3, linewidth=0)
                        else:
                            axes.fill_between(grid, least, most, facecolor="none", edgecolor=MARK, alpha=0.6, hatch="//////", linewidth=0.3)
            axes.set(xscale="log", xlim=(1.0, T_END), ylim=(-0.1, 1.15))
            axes.set_ylabel("part of the gap left")
            axes.text(0.03, 0.06, f"$k$ = {k}", transform=axes.transAxes)
        first = panels[0]
        first.text(0.75 * T_END, 0.95, "ERM", color=METHODS["erm"], ha="right")
        first.text(450.0, 0.42, "Midpoint\nMixup", color=METHODS["midpoint"])
        for where, name in (("network", "network"), ("linear", "linear model")):
            panels[-1].plot([], [], **{"color": MARK, **LINES[where]}, label=name)
        panels[-1].legend(loc="center right", bbox_to_anchor=(1.0, 0.3), handlelength=1.8)
        note = (
            "Lines: medians. Shade: range over runs (hatched: linear model). Below 0\n"
            "the other view leads. Text, under Midpoint Mixup: median of absolute values."
        )
        figure.supxlabel(note, fontsize=6, x=0.01, ha="left", color=MARK)
        panels[-1].set_xlabel("time since the gap was opened")
        return figure


def headline(results: dict[str, Any]) -> str:
    said = []
    for k, runs in results["runs"].items():
        each = [summary_of(run) for run in runs]
        if each:
            midpoint, erm = (np.median([one[name] for one in each]) for name in ("midpoint_left", "erm_left_at_end"))
            said.append(f"{100 * midpoint:.2g} % under Midpoint Mixup and {100 * erm:.0f} % under ERM at k = {k}")
    return f"Of a gap that is opened in a network, what is left at t = {T_END:.0e} is {'; '.join(said) or 'unknown'}"


def passage(results: dict[str, Any]) -> str:
    shown = ("half_network", "half_linear", "midpoint_left", "erm_left_at_end", "erm_left_at_end_linear")
    rows = []
    for k, runs in results["runs"].items():
        each = [summary_of(run) for run in runs]
        rows.append((k, len(runs), *(f"{np.median([one[name] for one in each]):.3g}" if each else "" for name in shown)))
    heads = ("k", "runs", "half-time, network", "half-time, linear", "left, network", "ERM: left, network", "ERM: left, linear")
    return (
        "![Gaps opened in a network and in the linear model](../figures/linear-in-network.png)\n\n"
        "A gap of log k is opened in networks whose views are all active, and in the linear model. Half-times are those under Midpoint Mixup; what "
        f"is left is the part of the gap after the time {T_END:.0e}. Medians over classes and runs:\n\n{table(heads, rows)}"
    )
