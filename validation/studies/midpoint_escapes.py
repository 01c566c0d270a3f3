"""The order and the times of all escapes under Midpoint Mixup, predicted from the initial state alone, beside those of runs.

The reduced system of `lib.midpoint_escapes` has two ways in which the second view of a class is learned: a dormant neuron grows, at a rate that is a
constant factor lower once the first view has saturated; or the neuron that has the first view meets the second one in patches that two points share.
Where signals lie at random places, the second way is there; where they lie at fixed places, it is not. Runs of both kinds are compared with what is
predicted. A view has escaped where its largest own correlation crosses 2 rho / (delta2 - delta1), the end of the polynomial part on midpoints;
between two records ln t is interpolated. Where both views of a class escape at almost the same time, they are one event: so classes are counted, by
the first escape of each, and second views apart. The picture is figures/midpoint-escapes.png.

Fails unless for signals at random places at k = 10 nine of ten escapes are within 0.3 decades and the order has a Kendall tau of 0.8 in every run.
"""

from __future__ import annotations

import argparse
import textwrap
import time
from collections.abc import Iterable
from typing import Any

import numpy as np
from lib.colours import colour_of_k, marker_of_k
from lib.midpoint_escapes import ReducedMidpoint
from lib.runs import add_runs_option, all_over_seeds, runs_of_present_code
from lib.tables import table
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from scipy.stats import kendalltau

import mvsim
from mvsim.pictures.style import MARK, styled

TITLE = "When every view escapes under Midpoint Mixup"

POINTS = {"k=6": (6, "random", 3), "k=10": (10, "random", 3), "k=6 fixed": (6, "fixed", 2), "k=10 fixed": (10, "fixed", 2)}
"""Number of classes, layout of the signals, runs."""

LOOKED_AT, WITHIN, PART, ORDER = "k=10", 0.3, 0.9, 0.8


def crossing_times(run: mvsim.Run) -> np.ndarray:
    """Return (k, 2): when the largest own correlation of each view crosses 2 rho / (delta2 - delta1); infinite where it does not."""
    p, own, times = run.parameters, run.dataset["own_correlations"].to_numpy().max(axis=2), run.dataset["time"].to_numpy()
    level, found = 2.0 * p.rho / (p.delta2 - p.delta1), np.full((p.k, 2), np.inf)
    for y, view in np.ndindex(p.k, 2):
        after = np.flatnonzero(own[:, y, view] >= level)
        if len(after) and after[0] > 1:
            low, high = after[0] - 1, after[0]
            part = (level - own[low, y, view]) / (own[high, y, view] - own[low, y, view])
            found[y, view] = np.exp((1.0 - part) * np.log(times[low]) + part * np.log(times[high]))
    return found


def compared(run: mvsim.Run) -> dict[str, Any]:
    """Foretell the escapes of one run, and compare."""
    start, p = time.perf_counter(), run.parameters
    own = run.dataset["own_correlations"].to_numpy()[0]
    predicted, shared = np.full((p.k, 2), np.inf), np.zeros((p.k, 2), dtype=bool)
    factors = np.full((p.k, 2), np.nan)
    for escape in ReducedMidpoint(p, mvsim.sample_dataset(p, run.seed)).escapes(own):
        predicted[escape.y, escape.view], shared[escape.y, escape.view] = escape.time, escape.shared
        factors[escape.y, escape.view] = escape.factor
    came, alone = crossing_times(run), run.dataset["predicted_entry_time"].min("neuron").to_numpy()
    both = np.isfinite(came) & np.isfinite(predicted)
    has = np.einsum("yryl->yrl", run.final_correlations).argmax(axis=1)  # (k, 2): the neuron that has each view at the end
    second = came.argmax(axis=1)
    return {
        "predicted": np.log10(predicted[both]).tolist(),
        "came": np.log10(came[both]).tolist(),
        "alone": np.log10(alone[both]).tolist(),
        "shared": shared[both].tolist(),
        "views": came.size,
        "not_compared": int((~both).sum()),
        "tau": float(kendalltau(predicted[both], came[both])[0]),
        "tau_alone": float(kendalltau(alone[both], came[both])[0]),
        "factors": [float(factors[y, view]) for y, view in enumerate(second) if np.isfinite(factors[y, view])],
        "one_neuron": int((has[:, 0] == has[:, 1]).sum()),
        "classes": p.k,
        "seconds": time.perf_counter() - start,
    }


def measured(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """Compare the runs of one point."""
    k, layout, seeds = POINTS[name]
    p, folder = mvsim.Parameters(k=k, signal_layout=layout), runs_of_present_code(options.runs)
    found = [compared(run) for run in all_over_seeds(folder, p, "midpoint", seeds if options.seeds is None else min(options.seeds, seeds))]
    for seed, one in enumerate(found):
        errors = np.abs(np.array(one["predicted"]) - one["came"])
        print(f"{name}, seed {seed}: errors median {np.median(errors):.2g}, largest {errors.max():.2g}; tau {one['tau']:.2f}", flush=True)
    return {"k": k, "layout": layout, "d": p.d, "N": p.N, "P": p.P, "runs": found}


def first_escapes(answers: Iterable[dict[str, Any]]) -> tuple[np.ndarray, np.ndarray]:
    """Return when the first view of each class escaped, and the predicted time over that, both (n,), of runs in which all views did."""
    whole = [run for answer in answers for run in answer["runs"] if not run["not_compared"]]
    came, predicted = (np.concatenate([np.zeros(0), *(run[name] for run in whole)]).reshape(-1, 2).min(axis=1) for name in ("came", "predicted"))
    return 10.0**came, 10.0 ** (predicted - came)


def picture(results: dict[str, Any]) -> Figure:
    """Draw the predicted time over the actual one of the first escape of each class, a panel for each layout of the signals."""
    layouts = list(dict.fromkeys(answer["layout"] for answer in results.values()))
    with styled():
        figure = Figure(figsize=(3.3 * len(layouts), 3.0), layout="constrained")
        (row,) = figure.subplots(1, len(layouts), sharex=True, sharey=True, squeeze=False)
        for axes, layout in zip(row, layouts, strict=True):
            _panel(axes, [answer for answer in results.values() if answer["layout"] == layout])
            axes.set_title("" if len(layouts) == 1 else f"signals at {layout} places")
        row[0].set_ylabel("predicted / actual time")
        _legend(row[0], results)
        figure.suptitle(textwrap.fill(_headline(results), 50 * len(layouts)), fontsize=9, x=0.01, ha="left")
        note = f"Predicted from the initial state alone. The other view of a class follows at once.{_sizes_of_errors(results)}"
        figure.supxlabel(textwrap.fill(note, 70 * len(layouts)), fontsize=6, x=0.01, ha="left", color=MARK)
        return figure


NEAR = 2.0
"""Factor by which a predicted time may be off to be called near."""


def _headline(results: dict[str, Any]) -> str:
    """Say for how many classes the first escape comes earlier than predicted, and within a factor `NEAR`."""
    _, ratio = first_escapes(results.values())
    near, early, n = int((np.abs(np.log(ratio)) <= np.log(NEAR)).sum()), int((ratio >= 1.0).sum()), len(ratio)
    when = "earlier than predicted" if early == n else f"earlier than predicted for {early} of {n} classes"
    return f"Escapes under Midpoint Mixup come {when}: within a factor {NEAR:g} for {near} of {n} classes"


def _panel(axes: Axes, answers: list[dict[str, Any]]) -> None:
    """Draw the first escape of each class, a line where the prediction is right, and the band of a factor `NEAR`."""
    axes.axhspan(1.0 / NEAR, NEAR, color=MARK, alpha=0.15, linewidth=0)
    axes.axhline(1.0, color=MARK, linewidth=0.7, linestyle=":", zorder=1)
    for answer in answers:
        axes.plot(*first_escapes([answer]), **_look(answer["k"]))
    axes.set(xscale="log", yscale="log")
    axes.set_xlabel("time of the first escape of a class")
    axes.set_yticks([0.5, 1, 2, 5, 10, 100, 1000], ["0.5", "1", "2", "5", "10", "100", "1,000"])
    axes.minorticks_off()
    axes.margins(0.08)


def _look(k: int) -> dict[str, Any]:
    return {"color": colour_of_k(k), "marker": marker_of_k(k), "markersize": 4, "markerfacecolor": "none", "markeredgewidth": 0.8, "linestyle": ""}


def _legend(axes: Axes, results: dict[str, Any]) -> None:
    handles: list[Line2D | Patch] = [Line2D([], [], label=f"$k$ = {k}", **_look(k)) for k in sorted({answer["k"] for answer in results.values()})]
    handles.append(Line2D([], [], color=MARK, linewidth=0.7, linestyle=":", label="as predicted"))
    handles.append(Patch(color=MARK, alpha=0.15, linewidth=0, label=f"within a factor {NEAR:g}"))
    axes.legend(handles=handles, loc="upper left")


def pictures(results: dict[str, Any]) -> dict[str, Figure]:
    return {"midpoint-escapes": picture(results)}


def options(parser: argparse.ArgumentParser) -> None:
    add_runs_option(parser)
    parser.add_argument("--only", nargs="+", choices=list(POINTS), default=list(POINTS), metavar="POINT", help=f"of {', '.join(POINTS)}")
    parser.add_argument("--seeds", type=int, help="most runs of a point")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    results = options.file.measure_parts(options.only, lambda name: measured(name, options))
    return results


def judge(results: dict[str, Any]) -> list[str]:
    runs = results[LOOKED_AT]["runs"] if LOOKED_AT in results else []
    faults = []
    for seed, run in enumerate(runs):
        errors = np.abs(np.array(run["predicted"]) - np.array(run["came"]))
        if not (errors <= WITHIN).mean() >= PART:
            faults.append(f"{LOOKED_AT}, seed {seed}: {int((errors <= WITHIN).sum())} of {len(errors)} escapes are within {WITHIN:g} decades")
        if not run["tau"] >= ORDER:
            faults.append(f"{LOOKED_AT}, seed {seed}: Kendall tau {run['tau']:.2f}")
    return faults


def citations(results: dict[str, Any]) -> dict[str, list[str]]:
    late = 100.0 * delays(results)
    return {"concepts.md": [f"the time of the second escape is {np.median(late):.1g} % later in the median, and {late.max():.1g} % at most"]}


def headline(results: dict[str, Any]) -> str:
    return _headline(results)


def delays(results: dict[str, Any]) -> np.ndarray:
    """Return of each class how long after its first view the second escaped, over the time of the first, in runs in which all views did."""
    whole = [run["came"] for answer in results.values() for run in answer["runs"] if not run["not_compared"]]
    times = 10.0 ** np.concatenate([np.zeros(0), *whole]).reshape(-1, 2)
    return np.asarray(times.max(axis=1) / times.min(axis=1) - 1.0)


def passage(results: dict[str, Any]) -> str:
    rows = []
    for name, answer in results.items():
        for seed, run in enumerate(answer["runs"]):
            errors = np.abs(np.array(run["predicted"]) - np.array(run["came"]))
            factors = f"{np.median(run['factors']):.2g}" if run["factors"] else "none"
            rows.append(
                [name, seed, f"{len(errors)} of {run['views']}", f"{np.median(errors):.2g}", f"{errors.max():.2g}", f"{run['tau']:.2f}",
                 f"{run['tau_alone']:.2f}", f"{run['one_neuron']} of {run['classes']}", factors]
            )  # fmt: skip
    heads = ["runs", "seed", "views compared", "median error, decades", "largest", "Kendall tau", "tau, each view alone",
             "classes whose views are in one neuron", "growth rate of the second view, after / before"]  # fmt: skip
    places = " or ".join(dict.fromkeys(answer["layout"] for answer in results.values()))
    sizes = "; ".join(f"{name}: P = {answer['P']}, N = {answer['N']}" for name, answer in results.items())
    return (
        "![Predicted over actual times of the first escapes under Midpoint Mixup](../figures/midpoint-escapes.png)\n\n"
        f"Times are predicted from the initial state alone by a reduced system of all views. Signals lie at {places} places; {sizes}; all other "
        f"parameters have their defaults.{_not_measured(results)}{_sizes_of_errors(results)} The table has views; the two of a class are nearly one "
        'event. "Each view alone" is a prediction with everything else held at its start. The last column is predicted: the median over classes of '
        "the rate at which a dormant neuron grows on the second view, just before that escapes, over the rate at the start.\n\n"
        + table(heads, rows)
        + _delays_passage(delays(results))
    )


def _not_measured(results: dict[str, Any]) -> str:
    missing = {layout for _, layout, _ in POINTS.values()} - {answer["layout"] for answer in results.values()}
    return f" Not measured: signals at {' and '.join(sorted(missing))} places." if missing else ""


def _sizes_of_errors(results: dict[str, Any]) -> str:
    """Say by which factor the predictions for the first escapes of classes are off."""
    off = np.exp(np.abs(np.log(first_escapes(results.values())[1])))
    return f" Predicted times of first escapes are off by a factor of {np.median(off):.3g} in the median, {float(f'{off.max():.2g}'):,.0f} at worst."


def _delays_passage(late: np.ndarray) -> str:
    if not len(late):
        return ""
    return (
        f"\nThe second view of a class escapes {100 * np.median(late):.2g} % later than the first (median of {len(late)} classes; at most "
        f"{100 * late.max():.2g} %).\n"
    )
