"""Whether the theorems depend on what is left open: number of points, width, C_P, Q, patterns of noise, pairs that are drawn, finite steps.

One of them at a time is changed, every other field at its default, r0 = 0.15, and 0.5 where gradient descent is run. What is counted over seeds is
the classes that end as the theorem says: with exactly one feature under ERM (4.6), with both under Midpoint Mixup (4.7). For N the early growth that
pairs of a point with itself contribute is told as well: it is 0 in the population limit. Finite steps are those of gradient descent with
eta lambda_max / 2 from 0.1 to beyond 1, the edge of stability, lambda_max the largest on record along the flow of the same seed, which every class is
compared with. The picture is figures/choices.png.

Runs end when nothing can change any more (`lib.ended`). Midpoint Mixup is followed up to 400 points: its gradients take N^2 time.

These are maps: what they show is reported, not judged. The study fails if runs are lost.
"""

from __future__ import annotations

import argparse
import textwrap
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from lib.outcomes import counted
from lib.regimes import with_r0
from lib.runs import add_runs_option, over_seeds, runs_of_present_code, swept
from lib.study import TRAINING
from lib.tables import table
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import mvsim
from mvsim.plotting.labels import METHOD_NAMES
from mvsim.plotting.style import MARK, METHODS, styled
from mvsim.recording.feature_test import is_learned

TITLE = "What the definitions leave open"
SOURCES = (*TRAINING, "archive", "intervals", "sweep.intervals", "verification.evidence")

R0 = 0.15

MOST_POINTS = 400
"""Points up to which Midpoint Mixup is followed: its gradients take N^2 time."""


class Choice(NamedTuple):
    """One thing that is left open.

    Attributes
    ----------
    label : str
        On the axis.
    values : tuple
        What it is set to.
    make : callable
        (k, value) -> parameters.
    """

    label: str
    values: tuple[Any, ...]
    make: Callable[[int, Any], mvsim.Parameters]


CHOICES = {
    "N": Choice("N, training points", (100, 200, 400, 800, 1600, 3200, 8000), lambda k, N: with_r0(k, R0, N=int(N))),
    "m": Choice("m / k, neurons per class", (0.5, 1, 2, 4, 8), lambda k, m: with_r0(k, R0, m=round(m * k))),
    "C_P": Choice("C_P, patches of each feature", (1, 2, 4, 8), lambda k, C_P: with_r0(k, R0, C_P=int(C_P))),
    "Q": Choice("Q, classes in the noise", (1, 2, 4, 8), lambda k, Q: with_r0(k, R0, Q=min(int(Q), k - 1))),
    "G": Choice("G, patterns of noise", (5, 25, 100, 200), lambda k, G: with_r0(k, R0, G=int(G))),
}

PAIRS = {"all pairs": {}, "N pairs, drawn once": {"redraw": "once"}, "N pairs, drawn each step": {"redraw": "each step"}}
"""All pairs are midpoint; drawn pairs are Mixup with lambda = 1/2, and those of each step are made by gradient descent."""

STEPS = (0.1, 0.3, 0.7, 0.95, 1.2, 2.0)
"""eta lambda_max / 2."""


def self_pairs(p: mvsim.Parameters) -> float:
    """Return the part of the early growth under Midpoint Mixup that pairs of a point with itself contribute, for classes of N / k points.

    At outputs 0 the softmax is 1 / k. For a point i of class y, a pair with itself pulls with 1 - 1/k. On midpoints the derivative of the activation
    and the coefficient are halved alpha times together; there pull N - n points of other classes, each with 1 - 2/k, and n - 1 of the own class,
    each with 1 - 1/k in both places where it stands.
    """
    n, itself = p.N / p.k, 1.0 - 1.0 / p.k
    others = 2.0**-p.alpha * ((p.N - n) * (1.0 - 2.0 / p.k) + 2.0 * max(n - 1.0, 0.0) * itself)
    return itself / (itself + others)


def of_choice(name: str, value: float, options: argparse.Namespace, runs: Path) -> dict[str, Any]:
    """Return what became of the classes at one value of a choice."""
    p, methods = CHOICES[name].make(options.k, value), ["erm", "midpoint"]
    if p.N > MOST_POINTS:
        methods.remove("midpoint")
    return {"self_pairs": self_pairs(p), **{method: counted(runs, p, method, options.seeds) for method in methods}}


def of_pairs(kind: str, options: argparse.Namespace, runs: Path) -> dict[str, Any]:
    """Return what becomes of the classes under Midpoint Mixup of all pairs, or of as many as there are points."""
    p, drawn = with_r0(options.k, options.gd_r0), PAIRS[kind]
    given: dict[str, Any] = {"mixing": 0.5, "pairs": p.N, **drawn} if drawn else {}
    if drawn.get("redraw") == "each step":
        given |= {"integrator": "gd"}
    return {"midpoint": counted(runs, p, "mixup" if drawn else "midpoint", options.seeds, **given)}


def of_steps(factor: float, options: argparse.Namespace, runs: Path) -> dict[str, Any]:
    """Return in how many classes gradient descent ends with the features that the flow learns, with steps of one size."""
    p, same, classes, risen = with_r0(options.k, options.gd_r0), 0, 0, 0
    flows = [run for run in over_seeds(runs, p, "erm", options.seeds) if run is not None]
    descents = descended(runs, p, flows, factor)
    for flow, descent in zip(flows, descents, strict=True):
        if descent is None:
            continue
        learned = [is_learned(run.dataset["feature_learned"].to_numpy()[-1]) for run in (flow, descent)]
        same += int((learned[0] == learned[1]).all(axis=1).sum())
        classes += p.k
        loss = descent.dataset["loss"].to_numpy()
        risen += bool((loss[1:] > loss[:-1] * 1.01).any())
    lost = options.seeds - sum(descent is not None for descent in descents)
    return {"same": same, "classes": classes, "lost": lost, "runs_that_rise": risen}


def descended(runs: Path, p: mvsim.Parameters, flows: Sequence[mvsim.Run], factor: float) -> list[mvsim.Run | None]:
    """Follow gradient descent to the end of each flow, with steps of ``factor`` times 2 / lambda_max of that flow; None for what is lost."""
    steps = [float(f"{2.0 * factor / float(np.nanmax(flow.dataset['sharpness'])):.4g}") for flow in flows]
    ends = [float(flow.dataset["final_time"]) for flow in flows]
    beside = {"seed": [flow.seed for flow in flows], "eta": steps, "t_end": ends}
    values = {**p.model_dump(mode="json"), "method": "erm", "integrator": "gd", **beside}
    made = swept(runs, f"steps-{factor:g}-{len(flows)}", values, [list(beside)] if len(flows) > 1 else [])
    return [made.run(cell.index) if made.standings[cell.index].state == "done" else None for cell in made.study.cells]


OUTCOMES = {"erm": ("one", "exactly one feature", "o"), "midpoint": ("both", "both features", "s")}
"""Of each method the outcome that its theorem names, in the results and in words, and its marker."""

SHAPES = {"o": "circles", "s": "squares"}
"""How markers are called."""

OTHER = {"erm": "both", "midpoint": "one"}
"""The outcome that a class with the named one does not have; what has neither yet may come to either."""

ENOUGH, EDGE = 0.9, 1.0
"""An outcome changes with a choice if at some value the whole interval lies below this share of the classes; and where gradient descent is no longer
stable, in eta lambda_max / 2."""

SHIFT = {"erm": -0.12, "midpoint": 0.12}
"""By which the two methods are moved apart, in places along an axis."""


def _message(results: dict[str, Any]) -> str:
    """Say with what each outcome changes, and whether steps below the edge of stability end as the flow does."""
    erm, midpoint = (f"{METHOD_NAMES[method]} {{}}with {_changes(results, method)}" for method in OUTCOMES)
    said = [f"The outcome of {erm.format('changes ')}, that of {midpoint.format('')}"]
    if not any(_changing(results, method) for method in OUTCOMES):
        said = [_unchanged(results)]
    stable = [row for row in results.get("steps", {}).get("rows", []) if row["value"] < EDGE]
    if stable:
        same, classes = (sum(row[key] for row in stable) for key in ("same", "classes"))
        said.append(f"stable steps end as the flow in {same} of {classes} classes")
    return "; ".join(said)


def _unchanged(results: dict[str, Any]) -> str:
    """Say that no value brings an outcome clearly below `ENOUGH`, and which were tried: others may, and none is shown to be above it."""
    names = _tried(results)
    if not names:
        return "No choice was tried"
    tried = " or ".join(f"{_short(name)} ({_ranges(results[name]['rows'])})" for name in names)
    return f"No {tried} that was tried speaks against the theorems' outcome in {ENOUGH:g} of the classes"


def _ranges(rows: list[dict[str, Any]]) -> str:
    """Return from which to which value a choice was tried, with each method where they differ."""
    spans = {}
    for method in OUTCOMES:
        values = [row["value"] for row in rows if method in row]
        if values:
            spans[METHOD_NAMES[method]] = f"{min(values):g}" + (f" to {max(values):g}" if len(values) > 1 else "")
    alike = len(set(spans.values())) == 1
    return next(iter(spans.values())) if alike else ", ".join(f"{name} {span}" for name, span in spans.items())


def _changes(results: dict[str, Any], method: str) -> str:
    """Name the choices with which the outcome of a method changes."""
    return " and ".join(_changing(results, method)) or "nothing that was tried"


def _changing(results: dict[str, Any], method: str) -> list[str]:
    """Return the choices that bring the outcome of a method clearly below `ENOUGH`, even if classes without a feature yet come to it."""
    other, found = OTHER[method], []
    for name in CHOICES:
        others = [row[method][other] for row in results.get(name, {"rows": []})["rows"] if method in row]
        if any(share and 1.0 - share[1] < ENOUGH for share in others):
            found.append(_short(name))
    return found


def _short(name: str) -> str:
    """Return a choice as it is called in a sentence."""
    return "m / k" if name == "m" else name


def _tried(results: dict[str, Any]) -> list[str]:
    """Return the choices of which something is known."""
    return [name for name in CHOICES if results.get(name, {"rows": []})["rows"]]


def picture(results: dict[str, Any]) -> Figure:
    """Draw a panel for each choice of which something is known: points with their intervals, at even distances; finite steps are the last one."""
    with styled():
        tried, steps = _tried(results), results.get("steps", {"rows": []})["rows"]
        panels = max(len(tried) + bool(steps), 1)
        down, across = -(-panels // 3), min(panels, 3)
        figure = Figure(figsize=(6.8 if across > 1 else 3.3, 2.3 * down if across > 1 else 2.9), layout="constrained")
        grid = figure.subplots(down, across, sharey=True, squeeze=False)
        for axes, name in zip(grid.flat, tried, strict=False):
            _panel(axes, results[name]["rows"])
            axes.set_xlabel(CHOICES[name].label)
        if steps:
            _steps_panel(grid.flat[len(tried)], steps)
        for axes in grid.flat[panels:]:
            axes.set_visible(False)
        for axes in grid[:, 0]:
            axes.set_ylabel("fraction of classes")
        for (method, (_, words, marker)), height in zip(OUTCOMES.items(), (0.2, 0.08), strict=True):
            grid[0, 0].text(
                0.03, height, f"{METHOD_NAMES[method]} ({SHAPES[marker]}): {words}", color=METHODS[method], fontsize=7, transform=grid[0, 0].transAxes
            )
        width = 90 if across > 1 else 40
        figure.suptitle(textwrap.fill(_message(results), width), fontsize=9, x=0.01, ha="left")
        drawn = {**{name: _short(name) for name in tried}, **({"steps": "finite steps"} if steps else {})}
        note = textwrap.fill(
            f"{_by_k(results, drawn)}. Bars: 95 % intervals. Dotted: {ENOUGH:g}. Hollow: some class had no feature yet, or a run was given up.",
            round(1.5 * width),
        )
        figure.supxlabel(note, fontsize=6, x=0.01, ha="left", color=MARK)
        return figure


def _by_k(results: dict[str, Any], names: dict[str, str]) -> str:
    """Say at which number of classes what was measured, for parts of the results with their names."""
    places: dict[str, list[str]] = {}
    for name, words in names.items():
        places.setdefault(f"k = {results[name]['k']}", []).append(words)
    return "; ".join(f"{place}: {', '.join(there)}" for place, there in places.items())


def _panel(axes: Axes, rows: list[dict[str, Any]]) -> None:
    """Draw what became of the classes at each value of one choice."""
    for method, (outcome, _, marker) in OUTCOMES.items():
        for place, row in enumerate(rows):
            if row.get(method, {}).get(outcome):
                y, low, high = row[method][outcome]
                unfinished = row[method]["classes"]["none"] or row[method].get("ends", {}).get("gradients")
                look: dict[str, Any] = {"color": METHODS[method], "marker": marker, "markersize": 3.5, "elinewidth": 1.0}
                look["markerfacecolor"] = "white" if unfinished else METHODS[method]
                axes.errorbar([place + SHIFT[method]], [y], [[y - low], [high - y]], **look)
    _even_axis(axes, [row["value"] for row in rows])


def _steps_panel(axes: Axes, rows: list[dict[str, Any]]) -> None:
    """Draw in which part of the classes gradient descent ends as the flow does."""
    for place, row in enumerate(rows):
        if row["classes"]:
            axes.plot([place], [row["same"] / row["classes"]], color=METHODS["erm"], marker="o", markersize=3.5)
    values = [row["value"] for row in rows]
    _even_axis(axes, values)
    stable = sum(value < EDGE for value in values)
    if 0 < stable < len(values):
        axes.axvline(stable - 0.5, color=MARK, linewidth=0.6, linestyle="--")
        axes.text(stable - 0.45, 0.03, "edge of\nstability", fontsize=7, color=MARK)
    axes.text(0.03, 0.08, "ERM: as the flow", color=METHODS["erm"], fontsize=7, transform=axes.transAxes)
    axes.set_xlabel(r"$\eta \lambda_{max} / 2$ of gradient descent")


def _even_axis(axes: Axes, values: list[Any]) -> None:
    """Put values at even distances."""
    axes.axhline(ENOUGH, color=MARK, linewidth=0.6, linestyle=":", zorder=0)
    axes.set_xticks(range(len(values)), [f"{value:g}" for value in values], fontsize=7 if len(values) < 7 else 6)
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(-0.6, max(len(values), 1) - 0.4)
    axes.set_ylim(-0.05, 1.05)


def pictures(results: dict[str, Any]) -> dict[str, Figure]:
    """Draw what was measured."""
    return {"choices": picture(results)}


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the study."""
    add_runs_option(parser)
    parser.add_argument("--k", type=int, default=10, help="number of classes")
    parser.add_argument("--seeds", type=int, default=10, help="runs at each value")
    parser.add_argument("--gd-r0", type=float, default=0.5, help="r0 of the runs with drawn pairs and with finite steps, which take many steps")
    names = [*CHOICES, "pairs", "steps"]
    parser.add_argument("--only", nargs="+", choices=names, default=names, help="choices to look at; the others stay")
    parser.add_argument("--values", type=float, nargs="+", help="values to look at, with one choice; what is known of others stays")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Look at one value after another, choice by choice; what was stopped goes on."""
    runs = runs_of_present_code(options.runs)
    values: dict[str, Sequence[Any]] = {name: options.values or choice.values for name, choice in CHOICES.items()}
    values |= {"pairs": list(PAIRS), "steps": STEPS}
    special = {"pairs": of_pairs, "steps": of_steps}

    def measured(name: str, value: Any) -> dict[str, Any]:
        start = time.perf_counter()
        row = special[name](value, options, runs) if name in special else of_choice(name, value, options, runs)
        seconds = time.perf_counter() - start
        print(f"{name} = {value}: {seconds:.0f} s", flush=True)
        return row | {"seconds": seconds}

    def facts(name: str) -> dict[str, Any]:
        return {"k": options.k, "seeds": options.seeds, "r0": options.gd_r0 if name in special else R0}

    return options.file.measure_rows({name: values[name] for name in options.only}, measured, facts)


def judge(results: dict[str, Any]) -> list[str]:
    """Return where runs were lost."""
    faults = []
    for name, part in results.items():
        for row in part["rows"]:
            lost = row.get("lost", 0) + sum(row[method]["lost"] for method in ("erm", "midpoint") if method in row)
            if lost:
                faults.append(f"{name} = {row['value']}: {lost} runs are lost")
    return faults


def headline(results: dict[str, Any]) -> str:
    """Say with what the outcomes that the theorems name change."""
    return _message(results)


def passage(results: dict[str, Any]) -> str:
    """Put the maps into tables, without columns that are empty."""
    text = [
        "![Fraction of classes that end as the theorems say, over what is left open](../figures/choices.png)\n",
        f"Changed is {', '.join(results)}, one thing at a time; every other field has its default, and r0 = {R0:g} unless pairs are drawn or steps "
        f"are finite. An outcome is clearly below {ENOUGH:g} if the whole 95 % interval of its share is, unfinished classes counted in favour of the "
        "theorem. Where all classes agree, an interval counts the runs instead of the classes, and is wider. Growth from self-pairs: the part of the "
        "early growth that pairs of a point with itself contribute.\n",
    ]
    for name, part in results.items():
        if name == "steps":
            rows = [[f"{r['value']:g}", f"{r['same']} of {r['classes']}", str(r["runs_that_rise"])] for r in part["rows"]]
            heads = [f"eta lambda_max / 2, k = {part['k']}", "classes that end as under the flow", "runs whose loss rises"]
        else:
            rows = [
                [
                    f"{r['value']:g}" if isinstance(r["value"], int | float) else r["value"],
                    f"{100 * r['self_pairs']:.0f} %" if "self_pairs" in r else "",
                    *(_share(r.get(method), which) for method, (which, *_) in OUTCOMES.items()),
                ]
                for r in part["rows"]
            ]
            label = CHOICES[name].label if name in CHOICES else name
            heads = [f"{label}, k = {part['k']}", "growth from self-pairs", "ERM: exactly one", "Midpoint Mixup: both"]
        filled = [column for column in range(len(heads)) if any(row[column] for row in rows)]
        text.append(table([heads[column] for column in filled], [[row[column] for column in filled] for row in rows]))
    return "\n".join(text)


def _share(outcome: dict[str, Any] | None, which: str) -> str:
    """Return a share of the classes with its interval."""
    if outcome is None or not outcome[which]:
        return ""
    share, low, high = outcome[which]
    given_up, unfinished = outcome["ends"].get("gradients", 0), outcome["classes"]["none"]
    said = [f"{share:.2f} [{low:.2f}, {high:.2f}], {outcome['runs']} runs"]
    said += [f"{given_up} of them given up"] if given_up else []
    said += [f"{unfinished} {'class' if unfinished == 1 else 'classes'} with no feature yet"] if unfinished else []
    return ", ".join(said)
