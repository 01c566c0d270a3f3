"""The steps of the proofs over k and over both regimes: which hold, which are contradicted, which are measured and which do not apply.

Kept runs of the scaled regime (the default r0) and of the literal one (d = k^20) are judged by their theorem, with everything that is claimed on the
way. A step without a hidden constant holds in a run or is contradicted by it; of the others the constant is measured, with a bound where the proof
has one. The question is whether what is contradicted at the default r0 still is at d = k^20. The picture is figures/proof-map.png.

Fails if a calculation is contradicted anywhere, or a run is not the flow that it says it is.
"""

from __future__ import annotations

import argparse
import math
import textwrap
import time
from typing import Any, NamedTuple

import numpy as np
from lib.runs import add_runs_option, all_over_seeds, runs_of_present_code
from lib.study import TRAINING
from lib.tables import table
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patches import Patch, Rectangle

from mvsim.plotting.labels import METHOD_NAMES
from mvsim.plotting.style import MARK, NONE, styled
from mvsim.simulation.words import number
from mvsim.verification import run_verdicts
from mvsim.verification.paths import path_in_k
from mvsim.verification.statements.replay import LARGEST
from mvsim.verification.statements.theorems import THEOREMS
from mvsim.verification.verdict import BAD

TITLE = "Which steps of the proofs hold"
SOURCES = (*TRAINING, "archive", "verification")

AT = {"scaled": "default r0", "literal": "d = k^20"}
"""Where the runs of each regime are, in words."""

REGIMES = {"scaled": "default", "literal": "literal"}
"""By name the path on which d lies (`mvsim.verification.paths.path_in_k`)."""

DARK, PALE, WHITE = "#333333", "#E4E4E4", "#FFFFFF"
COLOURS = {"contradicted": DARK, "holds": PALE, "undecided": WHITE}
"""Dark where a step is contradicted in some run; white for numbers, which decide nothing."""

MEANINGS = {
    DARK: "contradicted in some of the runs that decide it (fraction: in how many it holds; ?: others are undecided)",
    PALE: "holds in all runs that decide it",
    WHITE: "not decided: median of a constant (*: beyond a bound up to a hidden constant in some run: no contradiction), or open in every run",
}

HEADS = {"scaled": "default $r_0$", "literal": "$d = k^{20}$"}
"""Of the columns of each regime."""

PLURALS = {"Claim": "Claims", "Corollary": "Corollaries", "Lemma": "Lemmas", "Calculation": "Calculations"}
"""Of the words for steps."""

LETTERS = 100
"""In a line of the title."""


REPLAYS = (
    "\nSome genuine runs fail their replay: an escape magnifies the error of a step, and in these runs a record is further from the replay than the "
    f"{LARGEST:g} tolerances that `mvsim verify` allows; the study `replays` asks the same of ten default runs of each kind.\n"
)
"""Why a run that the study itself made may be said not to be what it says it is."""


class Point(NamedTuple):
    """One k in one regime, and the loss: "4.6" for ERM, "4.7" for midpoint."""

    regime: str
    k: int
    theorem: str
    seeds: int


def points() -> dict[str, Point]:
    """Return all points by name. Runs of midpoint take minutes each at k = 20 and at k = 10 with d = k^20, so there are few."""
    found = [Point("scaled", k, theorem, seeds) for theorem in THEOREMS for k, seeds in ((4, 3), (6, 3), (10, 3), (20, 2))]
    found += [Point("literal", k, theorem, seeds) for theorem in THEOREMS for k, seeds in ((4, 3), (6, 3), (10, 2))]
    found = sorted(found, key=lambda p: (p.theorem, list(REGIMES).index(p.regime), p.k))
    return {f"{THEOREMS[p.theorem].method} {p.regime} k={p.k}": p for p in found}


def measured(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """Judge the runs of one point; of each step keep its statuses, its numbers and what the first run says of it."""
    point, start = points()[name], time.perf_counter()
    p, folder = path_in_k(REGIMES[point.regime])(k=point.k), runs_of_present_code(options.runs)
    steps: dict[str, dict[str, Any]] = {}
    broken = []
    seeds = point.seeds if options.seeds is None else min(options.seeds, point.seeds)
    for seed, run in enumerate(all_over_seeds(folder, p, THEOREMS[point.theorem].method, seeds)):
        for v in run_verdicts.judge(run, point.theorem).verdicts:
            if v.kind == "evidence" and v.status in BAD:
                broken.append(f"seed {seed}: {v.name}")
            if v.name.startswith(("Claim", "Corollary", "Lemma", "Calculation")):
                step = steps.setdefault(v.name, {"statuses": [], "measured": [], "bound": v.bound, "inside": [], "detail": v.detail})
                step["statuses"].append(v.status)
                step["measured"].append(v.measured if v.measured is not None and math.isfinite(v.measured) else None)
                step["inside"].append(None if v.margin is None else v.margin >= 0.0)
    answer = {"k": p.k, "regime": point.regime, "theorem": point.theorem, "r0": p.r0, "N": p.N, "steps": steps, "broken": broken}
    print(f"{name}: {len(steps)} steps, {time.perf_counter() - start:.0f} s", flush=True)
    return answer | {"seconds": time.perf_counter() - start}


def outcome(step: dict[str, Any]) -> tuple[str, str]:
    """Return what a step came to at one point, and what is written in its cell."""
    statuses = step["statuses"]
    held, against = statuses.count("holds"), sum(status in BAD for status in statuses)
    undecided = statuses.count("inconclusive")
    if held + against:
        return "contradicted" if against else "holds", f"{held}/{held + against}{'?' * bool(undecided)}"
    if undecided:
        return "undecided", "open"
    values = [value for value in step["measured"] if value is not None]
    if "measured" in statuses and values:
        return "undecided", number(float(f"{np.median(values):.2g}")) + "*" * (False in step["inside"])
    return "none", ""


def picture(results: dict[str, Any]) -> Figure:
    """Draw a table for each loss: a row for each step that is decided or measured with it, those that are contradicted first."""
    against = sorted(contradicted(results), key=_order)
    tables = {theorem: _rows_and_columns(results, theorem, against) for theorem in THEOREMS}
    tables = {theorem: found for theorem, found in tables.items() if found[0]}
    with styled():
        most = max((len(rows) for rows, _ in tables.values()), default=1)
        figure = Figure(figsize=(6.8, 1.4 + 0.155 * most), layout=ConstrainedLayoutEngine(w_pad=0.04, wspace=0.01))
        widths = [len(columns) for _, columns in tables.values()]
        panels = figure.subplots(1, max(len(tables), 1), squeeze=False, width_ratios=widths or None)[0]
        for axes, (theorem, (rows, columns)) in zip(panels, tables.items(), strict=False):
            _table(axes, results, rows, columns, most)
            axes.set_title(METHOD_NAMES[THEOREMS[theorem].method], loc="left")
        handles = [Patch(facecolor=colour, label=text, edgecolor="#999999", linewidth=0.4) for colour, text in MEANINGS.items()]
        figure.legend(handles=handles, loc="outside lower center", fontsize=6)
        title = textwrap.fill(f"Contradicted by some run: {_named(against)}", LETTERS)
        figure.suptitle(title, fontsize=9, x=0.01, ha="left")
        return figure


def _named(steps: list[str]) -> str:
    """Name steps, the word for each kind once: Claims B.17 (positivity), B.22."""
    kinds: dict[str, list[str]] = {}
    for step in steps:
        kind, name = step.split(" ", 1)
        kinds.setdefault(kind, []).append(name)
    words = [f"{PLURALS[kind] if len(names) > 1 else kind} {', '.join(names)}" for kind, names in kinds.items()]
    return "; ".join(words) or "none of the steps"


def _rows_and_columns(results: dict[str, Any], theorem: str, first: list[str]) -> tuple[list[str], list[str]]:
    """Return the steps and the points of one loss that have anything to show, the steps of ``first`` first."""
    columns = [name for name in points() if name in results and results[name]["theorem"] == theorem]
    said = {row for name in columns for row, step in results[name]["steps"].items() if outcome(step)[0] != "none"}
    return sorted(said, key=lambda row: (row not in first, _order(row))), columns


def _table(axes: Axes, results: dict[str, Any], rows: list[str], columns: list[str], most: int) -> None:
    """Draw one table into axes that have room for ``most`` rows."""
    for x, column in enumerate(columns):
        for y, row in enumerate(rows):
            kind, words = outcome(results[column]["steps"][row]) if row in results[column]["steps"] else ("none", "")
            if kind != "none":
                axes.add_patch(Rectangle((x - 0.48, y - 0.46), 0.96, 0.92, facecolor=COLOURS[kind], edgecolor=NONE, linewidth=0.4))
                ink = WHITE if COLOURS[kind] == DARK else "black"
                axes.text(x, y, words, ha="center", va="center", fontsize=6 if len(words) < 6 else 5.2 if len(words) < 8 else 4.5, color=ink)
    axes.set_xlim(-0.5, len(columns) - 0.5)
    axes.set_ylim(most - 0.5, -1.9)
    axes.set_xticks([])
    for x, column in enumerate(columns):
        axes.text(x, -0.6, f"$k$={results[column]['k']}", ha="center", va="bottom", fontsize=6)
    for regime, words in HEADS.items():
        places = [x for x, column in enumerate(columns) if results[column]["regime"] == regime]
        if places:
            axes.text(places[0] - 0.45, -1.35, words, ha="left", va="bottom", fontsize=6)
            axes.plot([places[0] - 0.45, places[-1] + 0.45], [-1.32, -1.32], color=MARK, linewidth=0.5)
    axes.set_yticks(
        range(len(rows)), [row.removeprefix("Claim ").removeprefix("Corollary ").removeprefix("Calculation ") for row in rows], fontsize=6
    )
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _order(name: str) -> tuple[str, int, str]:
    """Return what sorts steps by their numbers."""
    letter, number = name.split()[1].split(".")
    return letter, int(number), name


def contradicted(results: dict[str, Any]) -> dict[str, dict[str, tuple[int, int]]]:
    """Return the steps that are contradicted somewhere: at each point in how many runs, and in how many they are decided."""
    found: dict[str, dict[str, tuple[int, int]]] = {}
    for column, answer in results.items():
        for row, step in answer["steps"].items():
            against, held = sum(status in BAD for status in step["statuses"]), step["statuses"].count("holds")
            if against + held:
                found.setdefault(row, {})[column] = (against, against + held)
    return {row: cells for row, cells in found.items() if any(against for against, _ in cells.values())}


def by_regime(results: dict[str, Any]) -> dict[str, dict[str, tuple[int, int]]]:
    """Return the steps that are contradicted somewhere: in each regime in how many runs, and in how many they are decided."""
    found = {}
    for row, cells in contradicted(results).items():
        of = {regime: [cell for column, cell in cells.items() if results[column]["regime"] == regime] for regime in REGIMES}
        found[row] = {regime: (sum(against for against, _ in some), sum(decided for _, decided in some)) for regime, some in of.items()}
    return found


def where_scaled_contradicts(results: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """Return the steps that runs of the scaled regime contradict: how many of the runs at d = k^20 that decide them contradict them too."""
    return {row: of["literal"] for row, of in by_regime(results).items() if of["scaled"][0]}


def where_only_literal_contradicts(results: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """Return the steps that runs at d = k^20 contradict and no run of the scaled regime does: in how many runs, and in how many they are decided."""
    return {row: of["literal"] for row, of in by_regime(results).items() if not of["scaled"][0]}


def quotes(results: dict[str, Any]) -> list[str]:
    """Return what the README says of the steps that some runs contradict, and not all that decide them."""
    counts = {row: [sum(part) for part in zip(*cells.values(), strict=True)] for row, cells in contradicted(results).items()}
    return [f"{against} of {of} contradict {row.split()[1]}" for row, (against, of) in counts.items() if against < of]


def _vanish(results: dict[str, Any]) -> str:
    """Say which contradictions vanish at d = k^20, and which come up there."""
    found = sorted(where_scaled_contradicts(results).items(), key=lambda one: _order(one[0]))
    groups = {
        "still contradicted by some run": [f"{row} ({against} of {of})" for row, (against, of) in found if against],
        "contradicted by none": [f"{row} (0 of {of})" for row, (against, of) in found if of and not against],
        "decided by no run": [row for row, (_, of) in found if not of],
    }
    said = "; ".join(f"{words}: {', '.join(rows)}" for words, rows in groups.items() if rows)
    alone = ", ".join(f"{row} ({against} of {of})" for row, (against, of) in where_only_literal_contradicts(results).items())
    text = f"\nOf the steps that runs at the default r0 contradict, at d = k^20 are {said}.\n" if said else ""
    return text + (f"\nContradicted at d = k^20 alone: {alone}.\n" if alone else "")


FAR = 1e6
"""Factor beyond 1 from which on a constant that is to be O(1) is named, though no constant is decided."""


def _far(results: dict[str, Any]) -> str:
    """Name the constants that are far beyond 1 in the median run of some point at d = k^20: they are not counted as contradictions."""
    found: dict[str, list[str]] = {}
    for answer in results.values():
        for row, step in answer["steps"].items():
            values = [value for value in step["measured"] if value is not None]
            if answer["regime"] == "literal" and "measured" in step["statuses"] and values and np.median(values) > FAR:
                found.setdefault(row, []).append(f"{np.median(values):.0e} at k = {answer['k']}")
    if not found:
        return ""
    named = "; ".join(f"{row}: {', '.join(values)}" for row, values in sorted(found.items(), key=lambda one: _order(one[0])))
    return (
        f"\nConstants that the proofs leave open are measured and contradict nothing. Some are far beyond 1 at d = k^20 with the default N: {named}. "
        "With more points they are others: the study `paths` has their exponents along d = k^20 with N = 2000.\n"
    )


def pictures(results: dict[str, Any]) -> dict[str, Figure]:
    """Draw what was measured."""
    return {"proof-map": picture(results)}


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the study."""
    add_runs_option(parser)
    parser.add_argument("--only", nargs="+", choices=list(points()), default=list(points()), metavar="POINT", help=f"of {', '.join(points())}")
    parser.add_argument("--seeds", type=int, help="most runs of a point")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Judge one point after another, and draw what there is."""
    results = options.file.measure_parts(options.only, lambda name: measured(name, options))
    return results


def judge(results: dict[str, Any]) -> list[str]:
    """Return which runs are no flows, and which calculations are contradicted."""
    faults = [f"{name}: {fault}" for name, answer in results.items() for fault in answer["broken"]]
    return faults + [f"{row} is contradicted" for row in contradicted(results) if row.startswith("Calculation")]


def headline(results: dict[str, Any]) -> str:
    """Name the steps that some runs contradict."""
    told = []
    for row, cells in sorted(contradicted(results).items(), key=lambda one: _order(one[0])):
        against, decided = (sum(cell[place] for cell in cells.values()) for place in (0, 1))
        told.append(f"{row} ({against} of {decided})")
    return f"Steps of the proofs that some of the runs that decide them contradict: {', '.join(told) or 'none'}"


def passage(results: dict[str, Any]) -> str:
    """Show the map, and put into a table what is contradicted, and where."""
    found = contradicted(results)
    columns = [name for name in points() if any(name in cells for cells in found.values())]
    heads = [
        f"{METHOD_NAMES[THEOREMS[results[name]['theorem']].method]}, {AT[results[name]['regime']]}, k = {results[name]['k']}" for name in columns
    ]
    rows = [
        [row, *(f"{cells[column][0]} of {cells[column][1]}" if column in cells else "" for column in columns)]
        for row, cells in sorted(found.items(), key=lambda one: _order(one[0]))
    ]
    return (
        "![Steps of the proofs over k, both regimes and both losses](../figures/proof-map.png)\n\n"
        "A.n is a calculation, B.n a claim. A fraction: in how many of the runs that decide a step it "
        "holds. A number: the median of a constant that the proof hides, or bounds. Empty: what the step supposes does not occur.\n\n"
        "Runs that contradict a step, of those that decide it; steps that are contradicted nowhere are left out:\n\n"
        + table(["step", *heads], rows)
        + _vanish(results)
        + _far(results)
        + (REPLAYS if any("Replay" in fault for answer in results.values() for fault in answer["broken"]) else "")
    )
