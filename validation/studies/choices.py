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
from mvsim.pictures.labels import METHOD_NAMES
from mvsim.pictures.style import MARK, METHODS, styled
from mvsim.runs.recording.fresh_draws import is_learned

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

NAMED = {method: outcome for method, (outcome, *_) in OUTCOMES.items()}
"""Of each method the outcome that its theorem names."""

SHAPES = {"o": "circles", "s": "squares"}
"""How markers are called."""

OTHER = {"erm": "both", "midpoint": "one"}
"""The outcome that a class with the named one does not have; what has neither yet may come to either."""

ENOUGH, EDGE = 0.9, 1.0
"""An outcome changes with a choice if at some value the whole interval lies below this share of the classes; and where gradient descent is no longer
stable, in eta lambda_max / 2."""

SHIFT = {"erm": -0.12, "midpoint": 0.12}
"""By which the two methods are moved apart, in places along an axis."""


def _message(results: dict[str, Any], ranges: bool) -> str:
    """Say with what each outcome changes, what drawn pairs do, and whether steps below the edge of stability end as the flow does."""
    in_order = sorted(OUTCOMES, key=lambda method: not _changing(results, method))
    first, second = (f"{METHOD_NAMES[method]} {{}}with {_changes(results, method)}" for method in in_order)
    said = [f"The outcome of {first.format('changes ')}, that of {second.format('')}"]
    if not any(_changing(results, method) for method in OUTCOMES):
        said = [_unchanged(results, ranges)]
    said += _of_drawn_pairs(results)
    stable = [row for row in results.get("steps", {}).get("rows", []) if row["value"] < EDGE]
    if stable:
        same, classes = (sum(row[key] for row in stable) for key in ("same", "classes"))
        said.append(f"stable steps end as the flow in {same} of {classes} classes")
    return "; ".join(said)


def _unchanged(results: dict[str, Any], ranges: bool) -> str:
    """Say in which part of the classes both outcomes are those of the theorems, at least, and at which values; none brings it below `ENOUGH`."""
    names = _tried(results)
    if not names:
        return "No choice was tried"
    shares = [
        row[method][which][0] for name in names for row in results[name]["rows"] for method, which in NAMED.items() if row.get(method, {}).get(which)
    ]
    tried = [_short(name) + (f" ({_ranges(results[name]['rows'])})" if ranges else "") for name in names]
    within = f" in {min(shares):.2g} of the classes or more" if shares else ""
    return f"ERM learns one feature, Midpoint Mixup both,{within} at every {_and(tried)} tried"


def _and(words: Sequence[str]) -> str:
    """Return words as a list in a sentence."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def _of_drawn_pairs(results: dict[str, Any]) -> list[str]:
    """Say in which part of the classes Midpoint Mixup learns both features with the drawn pairs with which that is least."""
    rows = [row for row in results.get("pairs", {}).get("rows", []) if row["midpoint"]["both"]]
    if not rows:
        return []
    row = min(rows, key=lambda row: float(row["midpoint"]["both"][0]))
    share, low, high = row["midpoint"]["both"]
    return [f"with {row['value'].replace(',', '')} Midpoint Mixup learns both in {share:.2f} [{low:.2f}, {high:.2f}]"]


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
    """Return the choices that bring the outcome of a method clearly below `ENOUGH`, even if classes without a feature yet come to it.

    Each is told with the value at which the outcome is rarest, and how frequent it is there.
    """
    other, found = OTHER[method], []
    for name in CHOICES:
        rows = [row for row in results.get(name, {"rows": []})["rows"] if row.get(method, {}).get(other)]
        if any(1.0 - row[method][other][1] < ENOUGH for row in rows):
            least = min(rows, key=lambda row: float(row[method][NAMED[method]][0]))
            share, low, high = least[method][NAMED[method]]
            there = f"{_short(name)} = {least['value']:g}"
            found.append(f"{_short(name)} ({NAMED[method]} in {share:.2f} [{low:.2f}, {high:.2f}] at {there})")
    return found


def _short(name: str) -> str:
    """Return a choice as it is called in a sentence."""
    return "m/k" if name == "m" else name


def _tried(results: dict[str, Any]) -> list[str]:
    """Return the choices of which something is known."""
    return [name for name in CHOICES if results.get(name, {"rows": []})["rows"]]


def citations(results: dict[str, Any]) -> dict[str, list[str]]:
    """Return what the documentation says of one patch of each feature, and of many noise classes."""
    counts = {(name, row["value"]): row["midpoint"] for name in ("C_P", "Q") for row in results[name]["rows"]}
    one, many = counts["C_P", 1], counts["Q", 4]
    more = min(row["classes"]["both"] for (name, value), row in counts.items() if name == "C_P" and value > 1)
    return {
        "limits.md": [
            f"With C_P = 1, {one['classes']['both']} of {sum(one['classes'].values())} classes had both features",
            f"{one['ends']['last time']} of 10 runs at the last time of the study, {one['classes']['none']} classes without a feature yet",
            f"all {more} from C_P = 2 on",
            f"they were {many['classes']['both']} of {sum(many['classes'].values())}, where {many['ends']['gradients']} of 10 runs were given up",
        ]
    }


def picture(results: dict[str, Any]) -> Figure:
    """Draw a panel for each choice of which something is known: points with their intervals, at even distances; pairs and finite steps come last."""
    with styled():
        drawn = _drawn(results)
        wide = len(drawn) > 1
        figure = Figure(figsize=(6.8, 2.3 * _rows(len(drawn)) + 0.5) if wide else (3.3, 2.9), layout="constrained")
        panels = _panels(figure, max(len(drawn), 1))
        for axes, (name, words) in zip(panels, drawn.items(), strict=False):
            _choice_panel(axes, name, results[name]["rows"])
            axes.set_xlabel(words)
        for (method, (_, words, marker)), height in zip(OUTCOMES.items(), (0.2, 0.08), strict=True):
            place: dict[str, Any] = {"fontsize": 7, "transform": panels[0].transAxes}
            panels[0].text(0.03, height, f"{METHOD_NAMES[method]} ({SHAPES[marker]}): {words}", color=METHODS[method], **place)
        width = 92 if wide else 40
        title = _message(results, ranges=False).replace(", 0.", ",\N{NO-BREAK SPACE}0.")  # no line ends within an interval
        figure.suptitle(textwrap.fill(title, width), fontsize=9, x=0.01, ha="left")
        note = textwrap.fill(f"{_where(results)}. Bars: 95 % intervals, none for finite steps. Dotted: {ENOUGH:g}. {UNFINISHED}", round(1.5 * width))
        figure.supxlabel(note, fontsize=6, x=0.01, ha="left", color=MARK)
        return figure


def _rows(panels: int) -> int:
    """Return how many rows there are, of at most three panels."""
    return -(-panels // 3)


def _panels(figure: Figure, number: int) -> list[Axes]:
    """Return panels in rows that are as even as can be, so that none is alone; the first rows have fewer and wider ones."""
    rows, panels = _rows(number), []
    grid = figure.add_gridspec(rows, 6)
    for row in range(rows):
        size = number // rows + (row >= rows - number % rows)
        for start in range(0, 6, 6 // size):
            axes = figure.add_subplot(grid[row, start : start + 6 // size])
            axes.tick_params(labelleft=not start)
            axes.set_ylabel("" if start else "fraction of classes")
            panels.append(axes)
    return panels


UNFINISHED = "Hollow: some class had no feature yet, or a run was given up."
"""What hollow markers mean."""

SPECIAL = {"pairs": "pairs: all, or N that are drawn", "steps": r"$\eta \lambda_{max} / 2$ of gradient descent"}
"""What is no field of the parameters, and how its axis is called."""


def _drawn(results: dict[str, Any]) -> dict[str, str]:
    """Return what there is a panel for, with the label of its axis."""
    known = {name for name in SPECIAL if results.get(name, {"rows": []})["rows"]}
    return {name: CHOICES[name].label for name in _tried(results)} | {name: label for name, label in SPECIAL.items() if name in known}


def _choice_panel(axes: Axes, name: str, rows: list[dict[str, Any]]) -> None:
    """Draw the panel of one choice."""
    if name == "steps":
        _steps_panel(axes, rows)
    else:
        _panel(axes, rows)


def _where(results: dict[str, Any]) -> str:
    """Say at which k and r0 what was measured."""
    places: dict[str, list[str]] = {}
    for name in _drawn(results):
        r0 = results[name].get("r0", R0)
        places.setdefault(f"k = {results[name]['k']}, $r_0$ = {r0:g}", []).append("finite steps" if name == "steps" else _short(name))
    return "; ".join(f"{', '.join(there)}: {place}" for place, there in places.items())


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
    _even_axis(axes, [_tick(row["value"]) for row in rows])


def _tick(value: float | str) -> str:
    """Return how a value is written on an axis."""
    return value.replace(" pairs", "").replace(" drawn ", "\n") if isinstance(value, str) else f"{value:g}"


def _steps_panel(axes: Axes, rows: list[dict[str, Any]]) -> None:
    """Draw in which part of the classes gradient descent ends as the flow does."""
    for place, row in enumerate(rows):
        if row["classes"]:
            axes.plot([place], [row["same"] / row["classes"]], color=METHODS["erm"], marker="o", markersize=3.5)
    values = [row["value"] for row in rows]
    _even_axis(axes, [_tick(value) for value in values])
    stable = sum(value < EDGE for value in values)
    if 0 < stable < len(values):
        axes.axvline(stable - 0.5, color=MARK, linewidth=0.6, linestyle="--")
        axes.text(stable - 0.45, 0.03, "edge of\nstability", fontsize=7, color=MARK)
    axes.text(0.03, 0.08, "ERM: as the flow", color=METHODS["erm"], fontsize=7, transform=axes.transAxes)


def _even_axis(axes: Axes, values: list[str]) -> None:
    """Put values at even distances."""
    axes.axhline(ENOUGH, color=MARK, linewidth=0.6, linestyle=":", zorder=0)
    axes.set_xticks(range(len(values)), values, fontsize=7 if len(values) < 7 else 6)
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
    return _message(results, ranges=True)


def passage(results: dict[str, Any]) -> str:
    """Put the maps into tables, without columns that are empty."""
    text = [
        "![Fraction of classes that end as the theorems say, over what is left open](../figures/choices.png)\n",
        f"Changed is {', '.join(results)}, one thing at a time; every other field has its default. r0 = {R0:g}{_other_r0(results)}. An outcome is "
        f"said to change if its whole 95 % interval is below {ENOUGH:g} at some value, unfinished classes counted in favour of the theorem. Where "
        "all classes agree, an interval counts the runs instead of the classes, and is wider. Growth from self-pairs: the part of the early growth "
        "that pairs of a point with itself contribute.\n",
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


def _other_r0(results: dict[str, Any]) -> str:
    """Name the choices with another r0 than the usual one."""
    others = {name: part["r0"] for name, part in results.items() if part.get("r0", R0) != R0}
    return "".join(f", {name}: r0 = {r0:g}" for name, r0 in others.items())


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
