"""In which classes both views escape under ERM, predicted from the initial state alone: a logistic law in the lead of the first view.

Theorem 4.6 allows o(k) classes that learn both features. An exception is here a class of which both views have escaped, which is needed for that and
mostly enough. The classes of the runs of the study default_regime are taken from its results, nothing is simulated here. T_l and T_w are the times at
which the two views of a class would escape alone (Lemma B.11). The law is

    P(both views escape) = 1 / (1 + (x / x_0)^s),    x = (T_l - T_w) / k,

fitted by maximum likelihood on k = 6 to 20, x_0 and s the same for all. It is tested on the classes of k = 30 and 50, and on those of each start of
k = 6 to 20 after a fit to all other starts. A start is a k and a seed: runs of one start at several r0 have the same data, and the same initial
correlations times a factor, and classes of one run share a softmax. So the interval of x_0 comes from a bootstrap over starts, and those of shares
count starts as independent, not runs (`mvsim.numerics.intervals.clustered_interval`). Beside it stands the law without a fitted constant, in which W,
the integral of the residuals from the first escape to the end of the run, takes the place of k (`lib.second_view`). Left out are classes of which one
view would never escape alone: their lead is infinite.

Below, the rate of exceptions over r0 at each k, from Gaussian maxima and the second law without a simulation, with the measured rates on top, and
down to the r0 of d = k^20 (`lib.exception_rates`). The pictures are figures/exceptions.png and figures/exception-rates.png.

Fails unless at least 95 % of the classes of each held-out k are predicted right by the law, more than by the base rate, and 95 % of those of each
held-out k and of each r0 by the law without a fitted constant.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from lib.colours import colour_of_k, marker_of_k
from lib.exception_rates import exception_share
from lib.results import results_of
from lib.tables import table
from matplotlib.figure import Figure
from scipy.optimize import minimize

import mvsim
from mvsim.numerics.intervals import clustered_interval
from mvsim.pictures.style import FIRST, MARK, styled
from mvsim.runs.recording.fresh_draws import is_learned

TITLE = "Which classes are exceptions to Theorem 4.6"

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
    k, r0 : numpy.ndarray
        Parameters of their runs.
    start : numpy.ndarray
        Which k and seed: the data, and the initial correlations up to a factor.
    x : numpy.ndarray
        log((T_l - T_w) / k), infinite if the second view never escapes alone.
    w : numpy.ndarray
        log((T_l - T_w) / W).
    both : numpy.ndarray
        Whether both views escaped.
    learned : numpy.ndarray
        How many features were learned.
    """

    k: np.ndarray
    r0: np.ndarray
    start: np.ndarray
    x: np.ndarray
    w: np.ndarray
    both: np.ndarray
    learned: np.ndarray

    def where(self, chosen: np.ndarray) -> Classes:
        """Return some of them."""
        return Classes(*(values[chosen] for values in self))


def classes_of(rows: list[dict[str, Any]]) -> Classes:
    """Return the classes in which the lead is known."""
    found, starts = [], list(dict.fromkeys((row["k"], row["seed"]) for row in rows))
    for row in rows:
        start = starts.index((row["k"], row["seed"]))
        for one in filter(has_lead, row.get("classes", [])):
            lead = max(abs(one["T"][0] - one["T"][1]), 1e-12)
            learned = int(is_learned(np.array(one["learned"])).sum())
            found.append((row["k"], row["r0"], start, np.log(lead / row["k"]), np.log(lead / one["W"]), None not in one["escaped"], learned))
    return Classes(*(np.array(values) for values in zip(*found, strict=True)))


def has_lead(one: dict[str, Any]) -> bool:
    """Whether both views of a class would escape alone, and the first one did."""
    return None not in one["T"] and bool(one["W"])


def logistic(x: np.ndarray, both: np.ndarray) -> tuple[float, float]:
    """Return log x_0 and s of the law, by maximum likelihood."""

    def negative(parameters: np.ndarray) -> float:
        z = np.exp(parameters[1]) * (x - parameters[0])
        return float(np.logaddexp(0.0, np.where(both, z, -z)).sum())

    start = float(np.median(x[both])) if both.any() else float(x.min())
    at, log_s = minimize(negative, np.array([start, 1.0]), method="Nelder-Mead").x
    return float(at), float(np.exp(log_s))


def accuracy(classes: Classes, threshold: float | np.ndarray) -> dict[str, Any]:
    """Return how many classes the threshold, one or (n,), tells right, with the base rate: that of saying the same of all of them."""
    right, by_w = ((classes.x < threshold) == classes.both), int(((classes.w < 0.0) == classes.both).sum())
    base, ends = int(max(classes.both.sum(), (~classes.both).sum())), share(right, classes.start)[1:]
    counts = {"classes": len(right), "starts": len(np.unique(classes.start)), "exceptions": int(classes.both.sum())}
    return counts | {"right": int(right.sum()), "interval": ends, "by_W": by_w, "base": base}


def share(of: np.ndarray, start: np.ndarray) -> list[float]:
    """Return the share of classes (n,) bool, and its 95 % interval, which allows for classes of one start (n,) that are not independent."""
    starts, place = np.unique(start, return_inverse=True)
    return list(clustered_interval(np.bincount(place, weights=of, minlength=len(starts)).astype(int).tolist(), np.bincount(place).tolist()))


def from_others(classes: Classes) -> np.ndarray:
    """Return for each class the log x_0 (n,) of a fit to the classes of all other starts."""
    found = np.empty(len(classes.x))
    for start in np.unique(classes.start):
        others = classes.where(classes.start != start)
        found[classes.start == start] = logistic(others.x, others.both)[0]
    return found


def interval(classes: Classes) -> list[float]:
    """Return the 95 % interval of log x_0 from a bootstrap over starts."""
    rng, starts = np.random.default_rng(0), np.unique(classes.start)
    members = {start: np.flatnonzero(classes.start == start) for start in starts}
    found = []
    for _ in range(RESAMPLES):
        chosen = classes.where(np.concatenate([members[start] for start in rng.choice(starts, len(starts))]))
        if chosen.both.any() and not chosen.both.all():
            found.append(logistic(chosen.x, chosen.both)[0])
    return np.quantile(found, [0.025, 0.975]).tolist()


def measure(options: argparse.Namespace) -> dict[str, Any]:
    source = results_of("default_regime")
    rows = source["runs"]["rows"]
    everything = classes_of(rows)
    fitted = everything.where(np.isin(everything.k, FIT))
    log_x0, s = logistic(fitted.x, fitted.both)
    results: dict[str, Any] = {"log_x0": log_x0, "s": s, "interval": interval(fitted), "fit": accuracy(fitted, log_x0)}
    results["left_out"] = {
        str(k): sum(not has_lead(one) for row in rows if row["k"] == k for one in row.get("classes", [])) for k in ks_of(everything)
    }
    results["learned"] = {str(k): learned_by_exceptions(everything.where(everything.k == k)) for k in ks_of(everything)}
    results["k"] = {str(k): accuracy(everything.where(everything.k == k), log_x0) for k in ks_of(everything)}
    results["points"] = [{"k": k, "r0": r0, **accuracy(some, log_x0), "share": share(some.both, some.start)} for k, r0, some in points(everything)]
    from_starts = from_others(fitted)
    results["starts"] = accuracy(fitted, from_starts)
    results["r0"] = {f"{r0:g}": accuracy(fitted.where(at), from_starts[at]) for r0 in np.unique(fitted.r0).tolist() for at in [fitted.r0 == r0]}
    results["down_to_literal"] = {str(k): down_to_literal(k) for k in DOWN_TO_LITERAL}
    results["rates"] = {"r0": source["rates"]["r0"], "rows": [{"k": row["k"], "shares": row["shares"]} for row in source["rates"]["rows"]]}
    results["bins"] = {"fitted": binned(fitted, log_x0), "held out": binned(everything.where(np.isin(everything.k, HELD_OUT)), log_x0)}
    return results


def ks_of(classes: Classes) -> list[int]:
    """Return the numbers of classes that occur."""
    return [int(k) for k in np.unique(classes.k)]


def points(classes: Classes) -> Iterator[tuple[int, float, Classes]]:
    """Yield each k and r0 that occur, with their classes."""
    for k, r0 in sorted(set(zip(classes.k.tolist(), classes.r0.tolist(), strict=True))):
        yield k, r0, classes.where((classes.k == k) & (classes.r0 == r0))


def learned_by_exceptions(classes: Classes) -> list[int]:
    """Return in how many exceptions no feature, one and both were learned."""
    return [int(count) for count in np.bincount(classes.learned[classes.both], minlength=3)]


def binned(classes: Classes, log_x0: float) -> list[dict[str, Any]]:
    """Return the share of classes of which both views escape in each bin of log x, with its interval; bins without a class are left out."""
    found = []
    for low in log_x0 + np.arange(-REACH, REACH, BIN):
        inside = classes.where((classes.x >= low) & (classes.x < low + BIN))
        if len(inside.x):
            mean, *ends = share(inside.both, inside.start)
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
        figure = Figure(figsize=(3.3, 3.5), layout="constrained")
        axes = figure.subplots()
        x = results["log_x0"] + np.linspace(-REACH, REACH, 200)
        axes.plot(np.exp(x), 1.0 / (1.0 + np.exp(results["s"] * (x - results["log_x0"]))), color=MARK, label="logistic law, fitted")
        axes.axvspan(*np.exp(results["interval"]), color=MARK, alpha=0.15, linewidth=0, label="its $x_0$")
        for part, beside, face, marker in (("fitted", -0.05, FIRST, "o"), ("held out", 0.05, "white", "s")):
            found = results["bins"][part]
            at = np.exp([one["middle"] + beside for one in found])
            mean = np.array([one["share"] for one in found])
            ends = np.array([one["interval"] for one in found]).T
            label = f"k = {_listed(FIT)}, fitted" if part == "fitted" else f"k = {_listed(HELD_OUT)}, not fitted"
            look: dict[str, Any] = {"color": FIRST, "markerfacecolor": face, "markeredgewidth": 0.8, "markersize": 3.5, "linewidth": 0.7}
            axes.errorbar(at, mean, yerr=np.abs(ends - mean), fmt=marker, label=label, **look)
        axes.set_xscale("log")
        axes.set_xlabel(r"lead of the first view, $(T_\ell - T_w) / k$")
        axes.set_ylabel("share of classes of which\nboth views escape")
        axes.set_ylim(-0.05, 1.05)
        title = "Prediction 1: the less the first view leads\nat the start, the more often both views escape"
        figure.suptitle(title, fontsize=9, x=0.01, ha="left")
        note = textwrap.fill(_note(results), 68)
        figure.legend(loc="outside lower left", ncols=2, fontsize=6, title=note, title_fontsize=6, alignment="left")
        return figure


def _note(results: dict[str, Any]) -> str:
    """Say under the picture what bars are, and how often the predictions are right where most classes are exceptions."""
    found = _hardest(results)
    return (
        f"Bars and shade: 95 % intervals. At k = {LARGEST}, $r_0$ = {found['r0']:g} ({_starts(found['starts'])}) prediction 1 is right for "
        f"{found['right']} of {found['classes']} classes, 'one' for all for {found['base']}, prediction 2 (not drawn; uses the end of the run) "
        f"for {found['by_W']}."
    )


DRAWN, LEAST_COUNT = 20_000, 10
"""Classes that `default_regime` draws for a rate, at least, and the least number of exceptions among them with which a rate is drawn."""

SHOWN = (6, 10, 20, 50, 1000)
"""The k whose rates are drawn."""


def rates_picture(results: dict[str, Any]) -> Figure:
    """Draw the rate of exceptions over r0 for several k, and what was measured; and beside it the same down to d = k^20."""
    rates = results["rates"]
    with styled():
        figure = Figure(figsize=(6.8, 3.3), layout="constrained")
        axes, far = figure.subplots(1, 2)
        for row in rates["rows"]:
            if row["k"] in SHOWN:
                counted = [(r0, one) for r0, one in zip(rates["r0"], row["shares"], strict=True) if one * DRAWN >= LEAST_COUNT]
                axes.plot(*zip(*counted, strict=True), color=colour_of_k(row["k"]), label=f"$k$ = {row['k']}")
        for point in results["points"]:
            if (k := int(point["k"])) in SHOWN:
                mean, low, high = point["share"]
                at, face = point["r0"] * (1.0 + 0.05 * (SHOWN.index(k) - 1.5)), colour_of_k(k) if mean else "white"  # moved sideways
                look: dict[str, Any] = {"marker": marker_of_k(k), "markersize": 4, "color": colour_of_k(k), "markerfacecolor": face}
                axes.errorbar([at], [mean or high], yerr=[[mean - low if mean else 0.9 * high], [high - (mean or high)]], linewidth=0.7, **look)
        axes.set(xscale="log", yscale="log", ylim=(3e-5, 2.0), xlabel="largest initial correlation over the threshold, $r_0$")
        axes.set(title="Predicted and measured", ylabel="share of classes of which\nboth views escape")
        axes.set_xticks([0.05, 0.1, 0.2, 0.4], ["0.05", "0.1", "0.2", "0.4"])
        axes.minorticks_off()
        axes.legend(fontsize=7)
        for k, line in results["down_to_literal"].items():
            far.plot(line["r0"], line["shares"], color=colour_of_k(int(k)))
            far.plot(line["r0"][0], line["shares"][0], color=colour_of_k(int(k)), marker=marker_of_k(int(k)), markersize=5)
        far.set(xscale="log", yscale="log", title="Predicted, down to $d = k^{20}$", xlabel="$r_0$", ylabel="predicted share")
        figure.suptitle("Exceptions are rarer as $r_0$ falls, more frequent at larger $k$ and the same $r_0$, and rarer at $d = k^{20}$", fontsize=9)
        note = (
            f"Lines: predicted, on the left where {LEAST_COUNT} classes or more of {DRAWN:,} are exceptions. Symbols: measured, with 95 % intervals; "
        )
        figure.supxlabel(f"{note}\nhollow: none seen, upper end of the interval. They are moved sideways.", fontsize=6, x=0.01, ha="left", color=MARK)
        return figure


def pictures(results: dict[str, Any]) -> dict[str, Figure]:
    return {"exceptions": picture(results), "exception-rates": rates_picture(results)}


def judge(results: dict[str, Any]) -> list[str]:
    held_out = {f"k = {k}": results["k"][str(k)] for k in HELD_OUT if str(k) in results["k"]}
    faults = [
        f"{k}: {f['right']} of {f['classes']} classes ({_starts(f['starts'])}, each at several r0) are predicted right"
        for k, f in held_out.items()
        if f["right"] < ENOUGH * f["classes"]
    ]
    faults += [f"{k}: the base rate does as well" for k, f in held_out.items() if f["right"] <= f["base"]]
    held_out |= {f"r0 = {r0}": f for r0, f in results["r0"].items()}
    return faults + [f"{name}: {f['by_W']} of {f['classes']} by W" for name, f in held_out.items() if f["by_W"] < ENOUGH * f["classes"]]


LARGEST = max(HELD_OUT)
"""The k of which headline, picture and README speak."""


def citations(results: dict[str, Any]) -> dict[str, list[str]]:
    none, one, both = np.sum(list(results["learned"].values()), axis=0)
    return {"glossary.md": [f"in {both} of {none + one + both} such classes both features were learned"]}


def headline(results: dict[str, Any]) -> str:
    return _at_largest(results)


def _at_largest(results: dict[str, Any]) -> str:
    """Say for how many classes the predictions are right at the largest k, and for how many the same for all is, at each r0."""
    there = sorted(_points_of(results, LARGEST), key=lambda point: -point["r0"])
    starts, classes = there[0]["starts"], there[0]["classes"]
    without = [f"{point['r0']:g}" for point in there if not point["exceptions"]]
    said = [
        f"for {point['right']} of {point['classes']} classes at r0 = {point['r0']:g} ('one' for all: {point['base']}; with the time at which the run "
        f"ends: {point['by_W']})"
        for point in there
        if point["exceptions"]
    ]
    words = (
        f"At k = {LARGEST} ({_starts(starts)} at {len(there)} values of r0: {classes} starts of a class) the initial state tells whether one view or "
        f"both escape {', '.join(said)}"
    )
    return words + (f"; at r0 = {' and '.join(without)} no class is an exception" if without else "")


def _starts(number: int) -> str:
    return "one seed" if number == 1 else f"{number} seeds"


def _hardest(results: dict[str, Any]) -> dict[str, Any]:
    return max(_points_of(results, LARGEST), key=lambda point: int(point["exceptions"]))


def _points_of(results: dict[str, Any], k: int) -> list[dict[str, Any]]:
    return [point for point in results["points"] if point["k"] == k]


def passage(results: dict[str, Any]) -> str:
    heads = ["classes", "starts", "number", "exceptions", "right by x < x_0", "right by T_l - T_w < W", "the same for all classes"]
    low, high = np.exp(results["interval"])
    return (
        "![Share of classes of which both views escape over the lead of the first view](../figures/exceptions.png)\n\n"
        + _what_an_exception_is(results)
        + "Two predictions are compared. T_w and T_l are the times at which the first and the second view would escape alone; they follow from "
        "initial weights and data.\n\n"
        "1. Both views escape with probability 1 / (1 + (x / x_0)^s), where x = (T_l - T_w) / k is the lead of the first view. "
        f"x_0 = {np.exp(results['log_x0']):.3g}, 95 % interval [{low:.3g}, {high:.3g}] over starts, and s = {results['s']:.3g} are fitted to "
        f"k = {_listed(FIT)}. Predicted: both where x < x_0.\n"
        "2. W, the integral of the residuals from the first escape to the end of the run, replaces k. W is computed from initial weights, data and "
        "the time at which the run ends, which is taken from the run. No constant is fitted. Predicted: both where T_l - T_w < W.\n\n"
        "A start is one seed at one k. Its runs at several r0 have the same data, and the same initial weights times a factor: they are no "
        'independent trials, and intervals count starts. "Each start from the others": x_0 is fitted to all other starts.\n\n'
        + table(heads, [_row(name, found) for name, found in _rows(results)])
        + "\nThe last column predicts the more frequent outcome for all classes.\n"
        + "\n![Share of exceptions over r0 for several k](../figures/exception-rates.png)\n\n"
        + _literal_passage(results)
    )


def _what_an_exception_is(results: dict[str, Any]) -> str:
    """Say how exceptions are counted, how many of them learned both features, and which classes are left out."""
    none, one, both = np.sum(list(results["learned"].values()), axis=0)
    by_k = ", ".join(f"k = {k}: {learned[2]} of {sum(learned)}" for k, learned in results["learned"].items())
    out = {k: count for k, count in results["left_out"].items() if count}
    everything = sum(f["classes"] for f in results["k"].values()) + sum(out.values())
    where = ", ".join(f"{count} of {results['k'][k]['classes'] + count} at k = {k}" for k, count in out.items())
    return (
        f"An exception is a class of which both views escaped under ERM; in {both} of {none + one + both} both were learned as well, in {one} one of "
        f"them, in {none} none ({by_k}). "
        + (f"{sum(out.values())} of {everything:,} classes are left out, since one view would never escape alone ({where}). " if out else "")
    )


def _rows(results: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return the parts of the classes, by what x_0 is fitted to, with what was counted in them."""
    rows = [(f"k = {_listed(FIT)}, fitted", results["fit"]), (f"k = {_listed(FIT)}, each start from the others", results["starts"])]
    rows += [(f"the same, r0 = {r0}", found) for r0, found in results["r0"].items()]
    rows += [(f"k = {k}, {'fitted' if int(k) in FIT else 'not fitted'}", found) for k, found in results["k"].items()]
    return rows


def _row(name: str, found: dict[str, Any]) -> list[Any]:
    low, high = found["interval"]
    right, by_w, base = (f"{100 * found[key] / found['classes']:.1f} %" for key in ("right", "by_W", "base"))
    return [name, found["starts"], found["classes"], found["exceptions"], f"{right} [{100 * low:.1f}, {100 * high:.1f}]", by_w, base]


def _listed(ks: tuple[int, ...]) -> str:
    return ", ".join(map(str, ks))


def _literal_passage(results: dict[str, Any]) -> str:
    literal = {k: mvsim.Parameters.literal(k=k).r0 for k in DOWN_TO_LITERAL}
    rates = {int(k): line["shares"][0] for k, line in results["down_to_literal"].items()}
    said = ", ".join(f"{r0:.2g} at k = {k} (predicted share about {rates[k]:.0e})" for k, r0 in literal.items())
    return f"On the literal path r0 is {said}. These shares are extrapolated: no run can test them.\n"
