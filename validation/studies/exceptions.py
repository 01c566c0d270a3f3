"""Which classes end ERM with both features, predicted from the initial state alone: a logistic law in the lead of the first view.

Theorem 4.6 allows o(k) exceptions. The classes of the runs of the study default_regime are taken from its results, nothing is simulated here. T_l and
T_w are the times at which the two views of a class would escape alone (Lemma B.11). The law is

    P(both views escape) = 1 / (1 + (x / x_0)^s),    x = (T_l - T_w) / k,

fitted by maximum likelihood on k = 6 to 20, x_0 and s the same for all. It is tested on the classes of k = 30 and 50, and for each r0 on those of
that r0 after a fit to the others. The classes of one run share a softmax: the interval of x_0 comes from a bootstrap over runs, and those of shares
allow for it (`mvsim.sweep.intervals.clustered_interval`). Beside it stands the law without a fitted constant, in which W, the integral of the
residuals from the first escape to the end of the run, takes the place of k (`lib.second_view`).

Below, the rate of exceptions over r0 at each k, from Gaussian maxima and the second law without a simulation, with the measured rates on top, and
down to the r0 of d = k^20 (`lib.exception_rates`). The pictures are figures/exceptions.png and figures/exception-rates.png.

Fails unless at least 95 % of the classes of each held-out k are predicted right by the law, more than by the base rate, and 95 % of those of each
held-out k and r0 by the law without a fitted constant.
"""

from __future__ import annotations

import argparse
import json
from typing import Any, NamedTuple

import numpy as np
from lib.exception_rates import exception_share
from lib.paths import RESULTS
from lib.study import LOSS
from lib.tables import table
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from scipy.optimize import minimize

import mvsim
from mvsim.plotting.style import FIRST, MARK, colour_of_k, marker_of_k, styled
from mvsim.sweep.intervals import clustered_interval

TITLE = "Which classes are exceptions to Theorem 4.6"
SOURCES = (*LOSS, "diagnostics", "intervals", "recording.entries", "sweep.intervals")
READS = ("default_regime",)

FIT, HELD_OUT = (6, 10, 20), (30, 50)
ENOUGH, RESAMPLES = 0.95, 400

REACH, BIN = 4.0, 0.5
"""The picture goes from log x_0 - REACH to log x_0 + REACH, in bins of this width."""

DOWN_TO_LITERAL, DATA_SETS, PER_LINE = (6, 10, 20), 20, 12
"""The k whose rates are followed down to d = k^20, data sets for each rate, and rates for each k."""


class Classes(NamedTuple):
    """Classes of several runs; all arrays are (n,).

    Attributes
    ----------
    k, r0, run : numpy.ndarray
        Where they come from.
    x : numpy.ndarray
        log((T_l - T_w) / k), infinite if the second view never escapes alone.
    w : numpy.ndarray
        log((T_l - T_w) / W).
    both : numpy.ndarray
        Whether both views escaped.
    """

    k: np.ndarray
    r0: np.ndarray
    run: np.ndarray
    x: np.ndarray
    w: np.ndarray
    both: np.ndarray

    def where(self, chosen: np.ndarray) -> Classes:
        """Return some of them."""
        return Classes(*(values[chosen] for values in self))


def classes_of(rows: list[dict[str, Any]]) -> Classes:
    """Return the classes in which the lead is known."""
    found = []
    for run, row in enumerate(rows):
        for one in row.get("classes", []):
            if None in one["T"] or not one["W"]:
                continue
            lead = max(abs(one["T"][0] - one["T"][1]), 1e-12)
            found.append((row["k"], row["r0"], run, np.log(lead / row["k"]), np.log(lead / one["W"]), None not in one["escaped"]))
    return Classes(*(np.array(values) for values in zip(*found, strict=True)))


def logistic(x: np.ndarray, both: np.ndarray) -> tuple[float, float]:
    """Return log x_0 and s of the law, by maximum likelihood."""

    def negative(parameters: np.ndarray) -> float:
        z = np.exp(parameters[1]) * (x - parameters[0])
        return float(np.logaddexp(0.0, np.where(both, z, -z)).sum())

    start = float(np.median(x[both])) if both.any() else float(x.min())
    at, log_s = minimize(negative, np.array([start, 1.0]), method="Nelder-Mead").x
    return float(at), float(np.exp(log_s))


def accuracy(classes: Classes, threshold: float) -> dict[str, Any]:
    """Return how many classes the threshold tells right, with the base rate: that of saying the same of all of them."""
    right, n = int(((classes.x < threshold) == classes.both).sum()), len(classes.x)
    by_w = int(((classes.w < 0.0) == classes.both).sum())
    base, ends = int(max(classes.both.sum(), (~classes.both).sum())), share((classes.x < threshold) == classes.both, classes.run)[1:]
    return {"classes": n, "exceptions": int(classes.both.sum()), "right": right, "interval": ends, "by_W": by_w, "base": base}


def share(of: np.ndarray, run: np.ndarray) -> list[float]:
    """Return the share of classes (n,) bool, and its 95 % interval, which allows for classes of one run (n,) that are not independent."""
    runs, place = np.unique(run, return_inverse=True)
    return list(clustered_interval(np.bincount(place, weights=of, minlength=len(runs)).astype(int), np.bincount(place)))


def interval(classes: Classes) -> list[float]:
    """Return the 95 % interval of log x_0 from a bootstrap over runs."""
    rng, runs = np.random.default_rng(0), np.unique(classes.run)
    members = {run: np.flatnonzero(classes.run == run) for run in runs}
    found = []
    for _ in range(RESAMPLES):
        chosen = classes.where(np.concatenate([members[run] for run in rng.choice(runs, len(runs))]))
        if chosen.both.any() and not chosen.both.all():
            found.append(logistic(chosen.x, chosen.both)[0])
    return np.quantile(found, [0.025, 0.975]).tolist()


def options(parser: argparse.ArgumentParser) -> None:
    """Add no options."""


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Fit the law and test it."""
    source = json.loads((RESULTS / "default_regime.json").read_text(encoding="utf-8"))
    everything = classes_of(source["runs"]["rows"])
    fitted = everything.where(np.isin(everything.k, FIT))
    log_x0, s = logistic(fitted.x, fitted.both)
    results: dict[str, Any] = {"log_x0": log_x0, "s": s, "interval": interval(fitted), "fit": accuracy(fitted, log_x0)}
    results["k"] = {str(k): accuracy(everything.where(everything.k == k), log_x0) for k in np.unique(everything.k).tolist()}
    results["r0"] = {}
    for r0 in np.unique(fitted.r0).tolist():
        others = fitted.where(fitted.r0 != r0)
        at = logistic(others.x, others.both)[0]
        results["r0"][f"{r0:g}"] = accuracy(fitted.where(fitted.r0 == r0), at) | {"log_x0": at}
    results["rates_of_runs"] = [
        [int(k), float(r0), *share(some.both, some.run)]
        for k in np.unique(everything.k)
        for r0 in np.unique(everything.r0)
        if len((some := everything.where((everything.k == k) & (everything.r0 == r0))).both)
    ]
    results["down_to_literal"] = {str(k): down_to_literal(k) for k in DOWN_TO_LITERAL}
    results["rates"] = {"r0": source["rates"]["r0"], "rows": [{"k": row["k"], "shares": row["shares"]} for row in source["rates"]["rows"]]}
    results["bins"] = {"fitted": binned(fitted, log_x0), "held out": binned(everything.where(np.isin(everything.k, HELD_OUT)), log_x0)}
    return results


def binned(classes: Classes, log_x0: float) -> list[dict[str, Any]]:
    """Return the share of classes that learn both in each bin of log x, with its interval; bins without a class are left out."""
    found = []
    for low in log_x0 + np.arange(-REACH, REACH, BIN):
        inside = classes.where((classes.x >= low) & (classes.x < low + BIN))
        if len(inside.x):
            mean, *ends = share(inside.both, inside.run)
            found.append({"middle": float(low + BIN / 2.0), "classes": len(inside.x), "share": mean, "interval": ends})
    return found


def down_to_literal(k: int) -> dict[str, Any]:
    """Return rates of exceptions from r0 = 0.4 down to that of d = k^20, and their standard errors."""
    sizes = np.geomspace(mvsim.Parameters.literal(k=k).r0, 0.4, PER_LINE)
    found = [exception_share(k, float(r0), DATA_SETS) for r0 in sizes]
    return {"r0": sizes.tolist(), "shares": [one[0] for one in found], "errors": [one[1] for one in found]}


def picture(results: dict[str, Any]) -> Figure:
    """Draw the law, and the shares of exceptions in bins of the lead, of fitted and of held-out classes."""
    with styled():
        figure = Figure(figsize=(3.3, 3.4), layout="constrained")
        axes = figure.subplots()
        x = results["log_x0"] + np.linspace(-REACH, REACH, 200)
        axes.plot(np.exp(x), 1.0 / (1.0 + np.exp(results["s"] * (x - results["log_x0"]))), color=MARK, label="logistic law, fitted")
        axes.axvspan(*np.exp(results["interval"]), color=MARK, alpha=0.15, linewidth=0, label="its $x_0$")
        for part, beside, face, marker in (("fitted", -0.05, FIRST, "o"), ("held out", 0.05, "white", "s")):
            found = results["bins"][part]
            at = np.exp([one["middle"] + beside for one in found])
            mean = np.array([one["share"] for one in found])
            ends = np.array([one["interval"] for one in found]).T
            label = f"k = {', '.join(map(str, FIT if part == 'fitted' else HELD_OUT))}, {part}"
            look: dict[str, Any] = {"color": FIRST, "markerfacecolor": face, "markeredgewidth": 0.8, "markersize": 3.5, "linewidth": 0.7}
            axes.errorbar(at, mean, yerr=np.abs(ends - mean), fmt=marker, label=label, **look)
        axes.set_xscale("log")
        axes.set_xlabel(r"lead of the first view, $(T_\ell - T_w) / k$")
        axes.set_ylabel("share of classes that learn both")
        axes.set_ylim(-0.05, 1.05)
        title = "Prediction 1: the less the first view leads\nat the start, the more often both are learned"
        figure.suptitle(title, fontsize=9, x=0.01, ha="left")
        at_50 = results["k"]["50"]
        note = (
            f"Bars and shade: 95 % intervals. At k = 50 prediction 1 is\nright for {at_50['right']} of {at_50['classes']} classes; prediction 2 (not "
            f"drawn), which uses\nthe time at which the run ends, is right for {at_50['by_W']}."
        )
        figure.legend(loc="outside lower left", ncols=2, fontsize=6, title=note, title_fontsize=6, alignment="left")
        return figure


DRAWN, LEAST_COUNT = 20_000, 10
"""Classes that `default_regime` draws for a rate, at least, and the least number of exceptions among them with which a rate is drawn."""

SHOWN = (6, 10, 20, 50, 1000)
"""The k whose rates are drawn."""


def rates_picture(results: dict[str, Any]) -> Figure:
    """Draw the rate of exceptions over r0 for several k, and what was measured; and beside it the same down to d = k^20."""
    lines = results.get("down_to_literal", {})
    with styled():
        figure = Figure(figsize=(6.8 if lines else 3.3, 3.4), layout="constrained")
        axes, *others = figure.subplots(1, 2 if lines else 1, squeeze=False)[0]
        _predicted(axes, results["rates"], LEAST_DRAWN)
        _measured(axes, results.get("rates_of_runs", []))
        for far in others:
            axes.set_title("At larger $r_0$: predicted and measured")
            _down_to_literal(far, lines)
        figure.suptitle(
            "Exceptions to Theorem 4.6 are rarer as $r_0$ falls; as $k$ grows, they are predicted\n"
            "to be more frequent at the same $r_0$, and rarer at $d = k^{20}$",
            fontsize=9, x=0.01, ha="left",
        )  # fmt: skip
        title = (
            f"Lines: predicted, on the left where {LEAST_COUNT} classes or more of {DRAWN:,} are exceptions. Symbols on the left: measured, with\n"
            "95 % intervals (arrow: goes on below); hollow: none seen, upper end of the interval. Symbols on the right: $d = k^{20}$."
        )
        figure.legend(handles=_symbols(results), loc="outside lower left", ncols=4, fontsize=6, title=title, title_fontsize=6, alignment="left")
        return figure


LEAST_DRAWN = 3e-5
"""Least share on the axis of what was measured."""

MEASURED: dict[str, Any] = {"markersize": 4, "markeredgecolor": "black", "markeredgewidth": 0.6, "linewidth": 0.7, "ecolor": "black"}
LESS: dict[str, Any] = {"markersize": 4, "markerfacecolor": "white", "markeredgewidth": 0.9}
DOWN: dict[str, Any] = {"arrowstyle": "<|-", "mutation_scale": 5, "linewidth": 0.7, "shrinkA": 0, "shrinkB": 0}
"""How shares are drawn that were measured, and the ends of intervals where nothing was seen."""

BESIDE = 0.05
"""Part of r0 by which neighbouring k are moved apart, so that their intervals do not lie on each other."""


def _predicted(axes: Axes, rates: dict[str, Any], least: float) -> None:
    """Draw a line for each k, as far as enough exceptions were drawn, and its name beside the axes, where no symbol is."""
    ends: list[tuple[float, str]] = []
    for row in rates["rows"]:
        if row["k"] in SHOWN:
            counted = [(r0, one) for r0, one in zip(rates["r0"], row["shares"], strict=True) if one * DRAWN >= LEAST_COUNT]
            axes.plot(*zip(*counted, strict=True), color=colour_of_k(row["k"]))
            ends.append((counted[-1][1], f"$k$ = {row['k']}"))
    axes.set(xscale="log", yscale="log", ylim=(least, 2.0), xlim=(0.045, 0.46))
    axes.set_xlabel(r"largest initial correlation over the threshold, $r_0$")
    axes.set_ylabel("share of classes that learn both")
    axes.set_xticks([0.05, 0.1, 0.2, 0.4], ["0.05", "0.1", "0.2", "0.4"])
    axes.minorticks_off()
    _label_ends(axes, ends)


def _measured(axes: Axes, rates: list[list[Any]]) -> None:
    """Draw the shares of runs with their intervals: an arrow where one goes on below the axis, and where no exception was seen."""
    for k, r0, mean, low, high in rates:
        if k not in SHOWN:
            continue
        at, look = r0 * (1.0 + BESIDE * (SHOWN.index(k) - 1.5)), {"marker": marker_of_k(k), "linestyle": ""}
        if mean:
            axes.errorbar([at], [mean], yerr=[[mean - low], [high - mean]], markerfacecolor=colour_of_k(k), **look, **MEASURED)
            if low < axes.get_ylim()[0]:
                axes.plot([at], [0.015], transform=axes.get_xaxis_transform(), marker="v", markersize=3, color="black", clip_on=False)
        else:  # all that is known is that the share is less
            axes.plot([at], [high], color=colour_of_k(k), **look, **LESS)
            axes.annotate("", (at, high), xytext=(0, -9), textcoords="offset points", arrowprops=DOWN | {"color": colour_of_k(k)}, zorder=1)


def _symbols(results: dict[str, Any]) -> list[Line2D]:
    """Return the symbols of the k that were measured, for the legend."""
    measured = sorted({k for k, *_ in results.get("rates_of_runs", [])} & set(SHOWN))
    look = {name: value for name, value in MEASURED.items() if name != "ecolor"} | {"linestyle": ""}
    return [Line2D([], [], marker=marker_of_k(k), markerfacecolor=colour_of_k(k), label=f"$k$ = {k}", **look) for k in measured]


def _down_to_literal(axes: Axes, lines: dict[str, Any]) -> None:
    """Draw the predicted rates down to the r0 of d = k^20, where symbols stand."""
    for k, line in lines.items():
        place, colour = (line["r0"][0], line["shares"][0]), colour_of_k(int(k))
        axes.plot(line["r0"], line["shares"], color=colour)
        axes.plot(*place, color=colour, marker=marker_of_k(int(k)), markersize=5, linestyle="")
        words = f"$k$ = {k}, $d = k^{{20}}$"
        axes.annotate(words, place, xytext=(6, -2), textcoords="offset points", va="top", fontsize=7)
    axes.set(xscale="log", yscale="log")
    axes.margins(0.1)
    axes.set_ylim(top=1.0)
    axes.set_title("Down to $d = k^{20}$: predicted only")
    axes.set_ylabel("predicted share")
    axes.set_xlabel("$r_0$, down to that of $d = k^{20}$")


APART = 1.75
"""Least factor between the places of two words at the ends of lines."""


def _label_ends(axes: Axes, ends: list[tuple[float, str]]) -> None:
    """Write words beside the axes at the heights of the right ends of lines, moved apart where they would overlap."""
    height = 0.0
    for y, words in sorted(ends):
        height = max(y, height * APART)
        place: dict[str, Any] = {"xy": (1.0, height), "xycoords": ("axes fraction", "data")}
        axes.annotate(words, xytext=(3, 0), textcoords="offset points", va="center", fontsize=7, annotation_clip=False, **place)


def pictures(results: dict[str, Any]) -> dict[str, Figure]:
    """Draw what follows from the results alone."""
    return {"exceptions": picture(results), "exception-rates": rates_picture(results)}


def judge(results: dict[str, Any]) -> list[str]:
    """Return what is missed on the held-out classes."""
    held_out = {f"k = {k}": results["k"][str(k)] for k in HELD_OUT if str(k) in results["k"]}
    faults = [f"{k}: {f['right']} of {f['classes']} classes are predicted right" for k, f in held_out.items() if f["right"] < ENOUGH * f["classes"]]
    faults += [f"{k}: the base rate does as well" for k, f in held_out.items() if f["right"] <= f["base"]]
    held_out |= {f"r0 = {r0}": f for r0, f in results["r0"].items()}
    return faults + [f"{name}: {f['by_W']} of {f['classes']} by W" for name, f in held_out.items() if f["by_W"] < ENOUGH * f["classes"]]


def quotes(results: dict[str, Any]) -> list[str]:
    """Return what the README says of the held-out classes."""
    found = results["k"]["50"]
    return [
        f"At k = 50 the initial state predicts for {found['right']} of {found['classes']} classes whether ERM learns one feature or both",
        f'"one" for all is right for {found["base"]}',
    ]


def headline(results: dict[str, Any]) -> str:
    """Say how often the exceptions to Theorem 4.6 are predicted at k = 50."""
    found = results["k"]["50"]
    return (
        f"At k = 50 the initial state alone predicts for {found['right']} of {found['classes']} classes whether ERM learns one feature or both; "
        f"'one' for every class is right for {found['base']}; with the time at which the run ends, it is {found['by_W']}"
    )


def passage(results: dict[str, Any]) -> str:
    """Say how well the law predicts."""
    rows = [["fit, k = 6, 10, 20", results["fit"]]]
    rows += [[f"k = {k}{', held out' if int(k) not in FIT else ''}", found] for k, found in results["k"].items()]
    rows += [[f"r0 = {r0}, fitted to the others", found] for r0, found in results["r0"].items()]
    cells = [
        [
            name,
            f["classes"],
            f["exceptions"],
            f"{100 * f['right'] / f['classes']:.1f} % [{100 * f['interval'][0]:.1f}, {100 * f['interval'][1]:.1f}]",
            f"{100 * f['by_W'] / f['classes']:.1f} %",
            f"{100 * f['base'] / f['classes']:.1f} %",
        ]
        for name, f in rows
    ]
    heads = ["classes", "number", "exceptions", "right by x < x_0", "right by T_l - T_w < W", "the same for all classes"]
    low, high = np.exp(results["interval"])
    return (
        "![Share of classes that learn both features over the lead of the first view](../figures/exceptions.png)\n\n"
        "An exception is a class that learns both features under ERM. Two predictions are compared. T_w and T_l are the times at which the first and "
        "the second view would escape alone; they follow from initial weights and data.\n\n"
        "1. A class learns both with probability 1 / (1 + (x / x_0)^s), where x = (T_l - T_w) / k is the lead of the first view. "
        f"x_0 = {np.exp(results['log_x0']):.3g}, 95 % interval [{low:.3g}, {high:.3g}] over runs, and s = {results['s']:.3g} are fitted. Predicted: "
        "both where x < x_0.\n"
        "2. W, the integral of the residuals from the first escape to the end of the run, replaces k. W is computed from initial weights, data and "
        "the time at which the run ends, which is taken from the run. No constant is fitted. Predicted: both where T_l - T_w < W.\n\n"
        + table(heads, cells)
        + "\nThe last column predicts the more frequent outcome for all classes.\n"
        + "\n![Share of exceptions over r0 for several k](../figures/exception-rates.png)\n\n"
        + _literal_passage(results)
    )


def _literal_passage(results: dict[str, Any]) -> str:
    """Say how rare exceptions are predicted to be where d = k^20."""
    literal = {k: mvsim.Parameters.literal(k=k).r0 for k in DOWN_TO_LITERAL}
    rates = {int(k): line["shares"][0] for k, line in results.get("down_to_literal", {}).items()}
    said = ", ".join(f"{r0:.2g} at k = {k}" + (f" (predicted share about {rates[k]:.0e})" if k in rates else "") for k, r0 in literal.items())
    return f"On the literal path r0 is {said}. These shares are extrapolated: no run can test them.\n"
