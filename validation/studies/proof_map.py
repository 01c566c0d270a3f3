"""The steps of the proofs over k and over both regimes: which hold, which are contradicted, which are measured and which do not apply.

Kept runs of the scaled regime (the default r0) and of the literal one (d = k^20) are judged by their theorem, with everything that is claimed on the
way. A step without a hidden constant holds in a run or is contradicted by it; of the others the constant is measured, with a bound where the proof
has one. The question is whether what is contradicted at the default r0 still is at d = k^20. The picture, figures/proof-map.png, has the steps that
some run decides; the page of results has the constants, too.

Fails if a calculation is contradicted anywhere, or a run is not the flow that it says it is.
"""

from __future__ import annotations

import argparse
import math
import textwrap
import time
from typing import Any, NamedTuple

import numpy as np
from lib.bounds import BOUNDS
from lib.readings import called
from lib.runs import add_runs_option, all_over_seeds, runs_of_present_code
from lib.tables import table
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patches import Patch, Rectangle

from mvsim.judging.verdict import BAD
from mvsim.papers.midpoint_mixup import judge_run
from mvsim.papers.midpoint_mixup.paths import path_in_k
from mvsim.papers.midpoint_mixup.run_checks.replay_of_flow import LARGEST
from mvsim.papers.midpoint_mixup.theorems.theorems import THEOREMS
from mvsim.pictures.labels import METHOD_NAMES
from mvsim.pictures.style import MARK, NONE, styled
from mvsim.runs.simulation.summary import number

TITLE = "Which steps of the proofs hold"

AT = {"scaled": "default r0", "literal": "d = k^20"}
"""Where the runs of each regime are, in words."""

REGIMES = {"scaled": "default", "literal": "literal"}
"""By name the path on which d lies (`mvsim.papers.midpoint_mixup.paths.path_in_k`)."""

DARK, PALE, WHITE = "#333333", "#E4E4E4", "#FFFFFF"
COLOURS = {"contradicted": DARK, "holds": PALE, "undecided": WHITE}

MEANINGS = {
    DARK: "contradicted (a/b: a of the b runs that decide it contradict it; ?: others are undecided)",
    PALE: "holds in all runs that decide it",
    WHITE: "undecided in every run",
}

HEADS = {"scaled": "default $r_0$", "literal": "$d = k^{20}$"}
"""Of the columns of each regime."""

LETTERS = 88
"""In a line of the title."""


REPLAYS = (
    "\nSome genuine runs fail their replay: an escape magnifies the error of a step, and in these runs a record is further from the replay than the "
    f"{LARGEST:g} tolerances that `mvsim verify` allows.\n"
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
        for v in judge_run.judge(run, point.theorem).verdicts:
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
    """Return what a step came to at one point, and what is written in its cell; "none" for one that is measured only, or does not apply."""
    against, held, undecided = counts(step)
    if held + against:
        return "contradicted" if against else "holds", f"{against}/{held + against}{'?' * bool(undecided)}"
    return ("undecided", "open") if undecided else ("none", "")


def counts(step: dict[str, Any]) -> tuple[int, int, int]:
    """Return in how many runs a step is contradicted, in how many it holds, and in how many it is undecided."""
    statuses = step["statuses"]
    return sum(status in BAD for status in statuses), statuses.count("holds"), statuses.count("inconclusive")


def picture(results: dict[str, Any]) -> Figure:
    """Draw a table for each loss, one below the other: a row for each step that some run decides, those that are contradicted first."""
    tables = {theorem: _rows_and_columns(results, theorem) for theorem in THEOREMS}
    tables = {theorem: found for theorem, found in tables.items() if found[0]}
    with styled():
        heights = [len(rows) + HEAD for rows, _ in tables.values()]
        figure = Figure(figsize=(6.8, 1.0 + 0.17 * sum(heights)), layout=ConstrainedLayoutEngine(h_pad=0.02, hspace=0.0))
        panels = figure.subplots(max(len(tables), 1), 1, squeeze=False, height_ratios=heights or None)[:, 0]
        for axes, (theorem, (rows, columns)) in zip(panels, tables.items(), strict=False):
            _table(axes, results, rows, columns, METHOD_NAMES[THEOREMS[theorem].method])
        handles = [Patch(facecolor=colour, label=text, edgecolor="#999999", linewidth=0.4) for colour, text in MEANINGS.items()]
        figure.legend(handles=handles, loc="outside lower left", fontsize=8, labelspacing=0.3)
        figure.suptitle(textwrap.fill(f"{headline(results)}.", LETTERS), fontsize=9, x=0.01, ha="left")
        return figure


HEAD = 2.6
"""What is above the rows of a table, in rows."""


def _rows_and_columns(results: dict[str, Any], theorem: str) -> tuple[list[str], list[str]]:
    """Return the steps of one loss that some run decides, those that some run contradicts first, and its points."""
    columns = [name for name in points() if name in results and results[name]["theorem"] == theorem]
    kinds: dict[str, set[str]] = {}
    for row, step in ((row, step) for name in columns for row, step in results[name]["steps"].items()):
        kinds.setdefault(row, set()).add(outcome(step)[0])
    decided = [row for row, found in kinds.items() if found & {"contradicted", "holds"}]
    return sorted(decided, key=lambda row: ("contradicted" not in kinds[row], _order(row))), columns


def _table(axes: Axes, results: dict[str, Any], rows: list[str], columns: list[str], title: str) -> None:
    for x, column in enumerate(columns):
        for y, row in enumerate(rows):
            kind, words = outcome(results[column]["steps"][row]) if row in results[column]["steps"] else ("none", "")
            if kind != "none":
                axes.add_patch(Rectangle((x - 0.48, y - 0.46), 0.96, 0.92, facecolor=COLOURS[kind], edgecolor=NONE, linewidth=0.4))
                axes.text(x, y, words, ha="center", va="center", fontsize=8, color=WHITE if COLOURS[kind] == DARK else "black")
    axes.set_xlim(-0.5, len(columns) - 0.5)
    axes.set_ylim(len(rows) - 0.5, -0.5 - HEAD)
    axes.set_xticks([])
    axes.text(-0.02, -0.6, title, ha="right", va="bottom", fontsize=9, transform=axes.get_yaxis_transform())
    for x, column in enumerate(columns):
        axes.text(x, -0.6, f"$k = {results[column]['k']}$", ha="center", va="bottom", fontsize=8)
    for regime, words in HEADS.items():
        places = [x for x, column in enumerate(columns) if results[column]["regime"] == regime]
        if places:
            axes.text(places[0] - 0.45, -1.75, words, ha="left", va="bottom", fontsize=8)
            axes.plot([places[0] - 0.45, places[-1] + 0.45], [-1.65, -1.65], color=MARK, linewidth=0.5)
    axes.set_yticks(range(len(rows)), [_short(row) for row in rows], fontsize=8)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _order(name: str) -> tuple[str, int, str]:
    letter, number = name.split()[1].split(".")
    return letter, int(number), name


def _short(step: str) -> str:
    return called(step).split(" ", 1)[1]


def contradicted(results: dict[str, Any]) -> dict[str, dict[str, tuple[int, int]]]:
    """Return the steps that are contradicted somewhere: at each point in how many runs, and in how many they are decided."""
    found: dict[str, dict[str, tuple[int, int]]] = {}
    for column, answer in results.items():
        for row, step in answer["steps"].items():
            against, held, _ = counts(step)
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


def _vanish(results: dict[str, Any]) -> str:
    found = sorted(where_scaled_contradicts(results).items(), key=lambda one: _order(one[0]))
    groups = {
        "still contradicted by some run": [f"{called(row)} ({against} of {of})" for row, (against, of) in found if against],
        "contradicted by none": [f"{called(row)} (0 of {of})" for row, (against, of) in found if of and not against],
        "decided by no run": [called(row) for row, (_, of) in found if not of],
    }
    said = "; ".join(f"{words}: {', '.join(rows)}" for words, rows in groups.items() if rows)
    alone = ", ".join(f"{called(row)} ({against} of {of})" for row, (against, of) in where_only_literal_contradicts(results).items())
    text = f"\nOf the steps that runs at the default r0 contradict, at d = k^20 are {said}.\n" if said else ""
    return text + (f"\nContradicted at d = k^20 alone: {alone}.\n" if alone else "")


def _constants(results: dict[str, Any]) -> str:
    """Put the medians of the measured constants into a table for each loss, with the side from which the paper bounds them, and the bound."""
    text = (
        "\nConstants that the proofs leave open: medians over runs, with the side from which the paper bounds them, and a bound where a proof has "
        "one; it may depend on k. *: beyond that bound in some run, which contradicts nothing, for the bound is one up to a hidden constant.\n"
    )
    for theorem in THEOREMS:
        columns = [name for name in points() if name in results and results[name]["theorem"] == theorem]
        measured = {name: {row: step for row, step in results[name]["steps"].items() if "measured" in step["statuses"]} for name in columns}
        rows = []
        for row in (row for row in BOUNDS if any(row in steps for steps in measured.values())):
            steps = {name: of_point[row] for name, of_point in measured.items() if row in of_point}
            cells = [_median(steps[name]) if name in steps else "" for name in columns]
            rows.append([row, BOUNDS[row].side, _range([step["bound"] for step in steps.values()]), *cells])
        heads = [f"{AT[results[name]['regime']]}, k = {results[name]['k']}" for name in columns]
        text += f"\n{METHOD_NAMES[THEOREMS[theorem].method]}:\n\n{table(['constant', 'bounded from', 'bound', *heads], rows)}" if rows else ""
    return text


def _median(step: dict[str, Any]) -> str:
    """Return the median of a constant over the runs of a point, marked if some run is beyond the bound."""
    values = [value for value in step["measured"] if value is not None]
    return number(float(f"{np.median(values):.2g}")) + "*" * (False in step["inside"]) if values else ""


def _range(bounds: list[float | None]) -> str:
    """Return the bounds of a constant at several points, in the order of their size."""
    known = sorted({float(f"{bound:.2g}") for bound in bounds if bound is not None})
    return " to ".join(dict.fromkeys(number(bound) for bound in (*known[:1], *known[-1:])))


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
        f"\nSome constants are far beyond 1 at d = k^20 with the default N: {named}. "
        "With more points they are others: the study `paths` has their exponents along d = k^20 with N = 2000.\n"
    )


def pictures(results: dict[str, Any]) -> dict[str, Figure]:
    return {"proof-map": picture(results)}


def options(parser: argparse.ArgumentParser) -> None:
    add_runs_option(parser)
    parser.add_argument("--only", nargs="+", choices=list(points()), default=list(points()), metavar="POINT", help=f"of {', '.join(points())}")
    parser.add_argument("--seeds", type=int, help="most runs of a point")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    results = options.file.measure_parts(options.only, lambda name: measured(name, options))
    return results


def judge(results: dict[str, Any]) -> list[str]:
    faults = [f"{name}: {fault}" for name, answer in results.items() for fault in answer["broken"]]
    return faults + [f"{row} is contradicted" for row in contradicted(results) if row.startswith("Calculation")]


def headline(results: dict[str, Any]) -> str:
    return ". ".join(_told(results, theorem) for theorem in THEOREMS if any(answer["theorem"] == theorem for answer in results.values()))


def _told(results: dict[str, Any], theorem: str) -> str:
    """Say which steps the runs of one loss contradict, and how many of its runs do."""
    mine, method = {name: answer for name, answer in results.items() if answer["theorem"] == theorem}, METHOD_NAMES[THEOREMS[theorem].method]
    totals = {row: [sum(part) for part in zip(*cells.values(), strict=True)] for row, cells in contradicted(mine).items()}
    if not totals:
        return f"No run of {method} contradicts a step"
    runs = sum(max(len(step["statuses"]) for step in answer["steps"].values()) for answer in mine.values())
    ordered = sorted(totals, key=lambda row: (-totals[row][0], _order(row)))
    counted = [f"{totals[row][0]}{f' of {totals[row][1]}' if totals[row][1] < runs else ''}" for row in ordered]
    first, *others = [f"{count}{' contradict' * (place == 0)} {_short(row)}" for place, (count, row) in enumerate(zip(counted, ordered, strict=True))]
    return f"Of {runs} runs of {method}, " + (f"{', '.join([first, *others[:-1]])} and {others[-1]}" if others else first)


def passage(results: dict[str, Any]) -> str:
    found = contradicted(results)
    columns = [name for name in points() if any(name in cells for cells in found.values())]
    heads = [
        f"{METHOD_NAMES[THEOREMS[results[name]['theorem']].method]}, {AT[results[name]['regime']]}, k = {results[name]['k']}" for name in columns
    ]
    rows = [
        [called(row), *(f"{cells[column][0]} of {cells[column][1]}" if column in cells else "" for column in columns)]
        for row, cells in sorted(found.items(), key=lambda one: _order(one[0]))
    ]
    return (
        "![Steps of the proofs over k, both regimes and both losses](../figures/proof-map.png)\n\n"
        "A.n is a calculation, B.n a claim, corollary or lemma. a/b: a of the b runs that decide a step contradict it. Empty: what the step supposes "
        "does not occur. Steps that no run decides are left out; constants that the proofs leave open are in the tables below.\n\n"
        "The formula of Corollary B.26 is missing from the text at hand; it is read as: own correlations in B_{y,l} never fall.\n\n"
        "Runs that contradict a step, of those that decide it; steps that are contradicted nowhere are left out:\n\n"
        + table(["step", *heads], rows)
        + _vanish(results)
        + _constants(results)
        + _far(results)
        + (REPLAYS if any("Replay" in fault for answer in results.values() for fault in answer["broken"]) else "")
    )
