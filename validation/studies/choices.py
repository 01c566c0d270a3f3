"""One thing changed at a time: with what the outcomes that the theorems name change.

Counted over seeds are the classes that end as the theorem says: with exactly one feature under ERM (4.6), with both under Midpoint Mixup (4.7).

`PARTS` has what the definitions leave open (N, m, C_P, Q, G), what the theorems suppose (variance of beta, initial size, noise, power, number of
classes), and the law of mixing between ERM and Midpoint Mixup. Part ``pairs`` draws N pairs instead of all. Part ``steps`` follows gradient descent
with eta lambda_max / 2 from 0.1 to beyond 1, the edge of stability, lambda_max the largest on record along the flow of the same seed, which every
class is compared with. The picture is figures/choices.png.

Runs end when nothing can change any more, or at a last time (`lib.ended`). These are maps: what they show is reported, not judged. The study fails if
runs are lost, or if the theorems do not hold at r0 = 0.15.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from lib.ended import ended
from lib.outcomes import jobs_of, last_time, tallied
from lib.regimes import with_r0
from lib.runs import add_runs_option, over_seeds, runs_of_present_code, swept
from lib.tables import table
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import mvsim
from mvsim.pictures.style import BOTH, MARK, METHODS, ONE, styled
from mvsim.runs.recording.fresh_draws import is_learned

TITLE = "Beyond the theorems: one thing at a time"

R0, GD_R0 = 0.15, 0.5
"""Of all parts, and of drawn pairs and finite steps, which take many steps."""

MOST_POINTS = 400
"""Points up to which Midpoint Mixup is followed: its gradients take N^2 time."""

NODES, MIXING_END, LAWS = 8, 2e9, (1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1.0, 10.0, 100.0)
"""Each node costs a sum over all pairs, so mixing laws are compared at k = 3 with 60 points. a -> 0 is ERM, a -> infinity Midpoint Mixup."""

ENOUGH = 0.9
"""A theorem counts as holding at a value if at least this part of the classes end as it says."""

NAMED = {"erm": ("one", "both"), "midpoint": ("both", "one")}
"""Of each method the outcome that its theorem names, and the other one; what has neither feature yet may come to either."""


class Part(NamedTuple):
    """One thing that is changed: its axis, the base, the values, and the parameters at a value."""

    label: str
    base: str
    values: tuple[Any, ...]
    make: Callable[[Any], mvsim.Parameters]


def _left_open(name: str, label: str, values: tuple[Any, ...], k: int = 6, scale: int = 1) -> Part:
    return Part(label, f"k = {k}", values, lambda value: with_r0(k, R0, **{name: round(scale * value)}))


def _supposed(label: str, values: tuple[Any, ...], fields: Callable[[Any], dict[str, Any]]) -> Part:
    return Part(label, "k = 4, N = 200", values, lambda value: with_r0(**{"k": 4, "r0": R0, "N": 200, **fields(value)}))


def _beta_law(share: float) -> dict[str, Any]:
    """Return the law Beta(a, a) with this part of the variance of the uniform one, which is 1 / (4 (2 a + 1)) on [0, 1]."""
    return {"kind": "discrete", "atoms": [0.5]} if share == 0.0 else {"kind": "beta", "a": 0.5 * (3.0 / share - 1.0)}


PARTS = {
    "N": _left_open("N", "N, training points", (100, 200, 400, 800, 1600, 3200, 8000), k=10),
    "m": _left_open("m", "m / k, neurons per class", (0.5, 1, 2, 4, 8), scale=6),
    "C_P": _left_open("C_P", "C_P, patches of each feature", (1, 2, 4, 8)),
    "Q": _left_open("Q", "Q, classes in the noise", (1, 2, 4)),
    "G": _left_open("G", "G, patterns of noise", (5, 25, 100, 200)),
    "variance": _supposed(
        "variance of beta / that of the uniform law", (0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 2.0), lambda share: {"beta_law": _beta_law(share)}
    ),
    "r0": _supposed("r0, initial size over threshold", (0.1, 0.15, 0.2, 0.3, 0.45, 0.7, 1.0, 1.5), lambda r0: {"r0": r0}),
    "noise": _supposed(
        "delta4 k^1.5 (delta3 half of it)", (0.0, 0.1, 0.2, 0.4, 0.7, 1.0), lambda size: {"delta3": size / 16.0, "delta4": size / 8.0}
    ),
    "alpha": _supposed("alpha, power of the activation", (2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0), lambda alpha: {"alpha": alpha}),
    "k": Part("k, number of classes", "N = 200", (3, 4, 6, 8), lambda k: with_r0(k=k, r0=R0, N=200)),
    "mixing": Part(
        "a of the mixing law Beta(a, a)",
        "k = 3, N = 60",
        (1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1.0, 10.0, 100.0),
        lambda a: with_r0(3, R0).replace(N=60),
    ),
    "pairs": Part(
        "pairs", f"k = 6, r0 = {GD_R0:g}", ("all pairs", "N pairs, drawn once", "N pairs, drawn each step"), lambda kind: with_r0(6, GD_R0)
    ),
    "steps": Part("eta lambda_max / 2", f"k = 10, r0 = {GD_R0:g}", (0.1, 0.3, 0.7, 0.95, 1.2, 2.0), lambda factor: with_r0(10, GD_R0)),
}


def row(name: str, value: Any, seeds: int, runs: Path) -> dict[str, Any]:
    """Return what became of the classes at one value."""
    p = PARTS[name].make(value)
    if name == "steps":
        return of_steps(p, value, seeds, runs)
    if name == "mixing":
        law = {"distribution": "beta", "args": [value, value]}
        return {"mixup": tallied(ended(jobs_of(runs, p, "mixup", seeds, MIXING_END, mixing=law, nodes=NODES)))}
    if name == "pairs":
        drawn: dict[str, Any] = {} if value == "all pairs" else {"mixing": 0.5, "pairs": p.N, "redraw": value.split("drawn ")[1]}
        drawn |= {"integrator": "gd"} if value.endswith("step") else {}
        return {"midpoint": tallied(ended(jobs_of(runs, p, "mixup" if drawn else "midpoint", seeds, last_time(p), **drawn)))}
    methods = ["erm", "midpoint"] if p.N <= MOST_POINTS else ["erm"]
    return {method: tallied(ended(jobs_of(runs, p, method, seeds, last_time(p)))) for method in methods}


def of_steps(p: mvsim.Parameters, factor: float, seeds: int, runs: Path) -> dict[str, Any]:
    """Return in how many classes gradient descent, with steps of ``factor`` times 2 / lambda_max, ends with the features that the flow learns."""
    flows = [run for run in over_seeds(runs, p, "erm", seeds) if run is not None]
    steps = [float(f"{2.0 * factor / float(np.nanmax(flow.dataset['sharpness'])):.4g}") for flow in flows]
    beside = {"seed": [flow.seed for flow in flows], "eta": steps, "t_end": [float(flow.dataset["final_time"]) for flow in flows]}
    values = {**p.model_dump(mode="json"), "method": "erm", "integrator": "gd", **beside}
    made = swept(runs, f"steps-{factor:g}-{len(flows)}", values, [list(beside)] if len(flows) > 1 else [])
    done = [(flow, made.run(cell.index)) for flow, cell in zip(flows, made.study.cells, strict=True) if made.standings[cell.index].state == "done"]
    same = risen = 0
    for pair in done:
        learned = [is_learned(run.dataset["feature_learned"].to_numpy()[-1]) for run in pair]
        same += int((learned[0] == learned[1]).all(axis=1).sum())
        loss = pair[1].dataset["loss"].to_numpy()
        risen += bool((loss[1:] > loss[:-1] * 1.01).any())
    return {"same": same, "classes": p.k * len(done), "lost": seeds - len(done), "runs_that_rise": risen}


def options(parser: argparse.ArgumentParser) -> None:
    add_runs_option(parser)
    parser.add_argument("--seeds", type=int, default=10, help="runs at each value")
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS), help="parts to measure again; the others stay")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    runs = runs_of_present_code(options.runs)

    def part(name: str) -> dict[str, Any]:
        print(name, flush=True)
        return {"seeds": options.seeds, "rows": [{"value": value, **row(name, value, options.seeds, runs)} for value in PARTS[name].values]}

    return options.file.measure_parts(options.only, part)


def judge(results: dict[str, Any]) -> list[str]:
    faults = []
    for name, part in results.items():
        for row in part["rows"]:
            lost = row.get("lost", 0) + sum(outcome["lost"] for outcome in row.values() if isinstance(outcome, dict))
            faults += [f"{name} = {row['value']}: {lost} runs are lost"] if lost else []
            if (name, row["value"]) == ("r0", R0):
                faults += [f"r0 = {R0:g}, {method}: {row[method]['classes']}" for method in NAMED if not _mostly(row, method)]
    return faults


def _mostly(row: dict[str, Any], method: str) -> bool:
    share = row[method][NAMED[method][0]]
    return bool(share) and share[0] >= ENOUGH


def _clearly_fewer(row: dict[str, Any], method: str) -> bool:
    """Whether the whole interval lies below `ENOUGH` even if classes without a feature yet count."""
    other = row.get(method, {}).get(NAMED[method][1])
    return bool(other) and 1.0 - other[1] < ENOUGH


def changing(results: dict[str, Any], method: str) -> str:
    """Return the parts with values at which the outcome of a method is clearly another one, in words."""
    fewer = {name: [f"{row['value']:g}" for row in part["rows"] if _clearly_fewer(row, method)] for name, part in results.items() if name != "pairs"}
    return ", ".join(f"{name} ({', '.join(values)})" for name, values in fewer.items() if values) or "nothing that was tried"


def headline(results: dict[str, Any]) -> str:
    said = [f"The outcome of ERM changes with {changing(results, 'erm')}; that of Midpoint Mixup with {changing(results, 'midpoint')}"]
    if "steps" in results:
        stable = [row for row in results["steps"]["rows"] if row["value"] < 1.0]
        same, classes = (sum(row[key] for row in stable) for key in ("same", "classes"))
        said.append(f"stable steps of gradient descent end as the flow in {same} of {classes} classes")
    return "; ".join(said)


def passage(results: dict[str, Any]) -> str:
    text = [
        "![Fraction of classes that end as the theorems say](../figures/choices.png)\n",
        f"Fractions of classes that end as the theorem says, by value; r0 = {R0:g} where nothing else is said. The picture has the 95 % "
        "intervals, which do not count classes of one run as independent. In brackets: runs that were given up, and classes without a feature yet. "
        f"An outcome changes if the whole interval lies below {ENOUGH:g}, unfinished classes counted in favour of the theorem.\n",
    ]
    rows = []
    for name, part in results.items():
        if name == "steps":
            said = [
                f"{row['value']:g}: {row['same']} of {row['classes']} as the flow, the loss rises in {row['runs_that_rise']} runs"
                for row in part["rows"]
            ]
            cells = ["; ".join(said), ""]
        elif name == "mixing":
            cells = [
                "; ".join(
                    f"{row['value']:g}: one in {{one}}, both in {{both}}, none in {{none}}".format(**row["mixup"]["classes"]) for row in part["rows"]
                ),
                "",
            ]
        else:
            cells = ["; ".join(_share(row, method) for row in part["rows"] if method in row) for method in NAMED]
        rows.append([f"{PARTS[name].label} ({PARTS[name].base})", *cells])
    return "\n".join([*text, table(["changed", "ERM: exactly one", "Midpoint Mixup: both"], rows)])


def _share(row: dict[str, Any], method: str) -> str:
    outcome, value = row[method], row["value"] if isinstance(row["value"], str) else f"{row['value']:g}"
    given_up, unfinished = outcome["ends"].get("gradients", 0), outcome["classes"]["none"]
    said = ", ".join([*([f"{given_up} runs given up"] if given_up else []), *([f"{unfinished} classes without"] if unfinished else [])])
    return f"{value}: {outcome[NAMED[method][0]][0]:.2f}" + (f" ({said})" if said else "")


def citations(results: dict[str, Any]) -> dict[str, list[str]]:
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


SERIES = (("erm", "one", METHODS["erm"], "o"), ("midpoint", "both", METHODS["midpoint"], "s"))
OF_MIXING = (("mixup", "one", ONE, "o"), ("mixup", "both", BOTH, "s"))
"""What is drawn: method, outcome, colour, marker."""


def pictures(results: dict[str, Any]) -> dict[str, Figure]:
    drawn = [name for name in PARTS if name in results and name != "steps"]
    if not drawn:
        return {}
    with styled():
        figure = Figure(figsize=(6.8, 2.1 * -(-len(drawn) // 3) + 0.8), layout="constrained")
        grid = figure.subplots(-(-len(drawn) // 3), 3, sharey=True, squeeze=False)
        for spare in grid.flat[len(drawn) :]:
            spare.remove()
        for axes, name in zip(grid.flat, drawn, strict=False):
            _panel(axes, results[name]["rows"], OF_MIXING if name == "mixing" else SERIES)
            axes.set_xlabel(f"{PARTS[name].label}\n({PARTS[name].base})", fontsize=7)
        for panels in grid:
            panels[0].set_ylabel("fraction of classes")
        title = f"The outcome of ERM changes with {changing(results, 'erm')},\nthat of Midpoint Mixup with {changing(results, 'midpoint')}"
        figure.suptitle(title, fontsize=9, x=0.01, ha="left")
        note = (
            "Circles: exactly one feature under ERM (law of mixing: under Mixup). Squares: both under Midpoint Mixup (Mixup). Bars: 95 % intervals.\n"
            f"Hollow: some class had no feature yet, or a run was given up. Dotted: {ENOUGH:g}."
        )
        figure.supxlabel(note, fontsize=6, x=0.01, ha="left", color=MARK)
        return {"choices": figure}


def _panel(axes: Axes, rows: list[dict[str, Any]], series: Sequence[tuple[str, str, str, str]]) -> None:
    for shift, (method, outcome, colour, marker) in zip((-0.14, 0.14), series, strict=True):
        for place, row in enumerate(rows):
            if row.get(method, {}).get(outcome):
                y, low, high = row[method][outcome]
                unfinished = row[method]["classes"]["none"] or row[method]["ends"].get("gradients")
                look: dict[str, Any] = {"color": colour, "marker": marker, "markersize": 3.5, "elinewidth": 1.0}
                look["markerfacecolor"] = "white" if unfinished else colour
                axes.errorbar([place + shift], [y], [[y - low], [high - y]], **look)
    ticks = [row["value"].replace(" pairs", "").replace(" drawn ", "\n") if isinstance(row["value"], str) else f"{row['value']:g}" for row in rows]
    axes.axhline(ENOUGH, color=MARK, linewidth=0.6, linestyle=":", zorder=0)
    every = 1 if len(rows) < 9 else 2
    axes.set_xticks(range(0, len(rows), every), ticks[::every], fontsize=7 if len(rows) < 7 else 6)
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(-0.6, len(rows) - 0.4)
    axes.set_ylim(-0.05, 1.05)
