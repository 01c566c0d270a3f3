"""Where the theorems stop holding: variance of beta, initial size, noise, power, number of classes, and mixing laws between ERM and midpoint.

One parameter at a time is changed from k = 4, r0 = 0.15, every other field at its default. What is drawn is the fraction of classes that end as
the theorem says: with exactly one feature under ERM (Theorem 4.6), with both under Midpoint Mixup (4.7); bars are 95 % Clopper-Pearson
intervals over the classes of all seeds. Mixing laws are compared at k = 3. The picture is figures/phase-diagrams.png.

These are maps: what they show is reported, not judged. The study fails if runs are lost, or if the theorems do not hold where the maps start from.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

from lib.outcomes import last_time, tallied
from lib.regimes import with_r0
from lib.runs import add_runs_option, runs_of_present_code, side_by_side, swept
from lib.study import TRAINING
from lib.tables import table
from matplotlib.figure import Figure

import mvsim
from mvsim.plotting.labels import METHOD_NAMES
from mvsim.plotting.style import METHODS, OUTCOMES, styled

TITLE = "Beyond the theorems: one thing at a time"
SOURCES = (*TRAINING, "archive", "intervals", "verification.evidence")

R0 = 0.15


def _noise(scale: float) -> mvsim.Parameters:
    largest = scale * 4**-1.5
    return with_r0(4, R0, delta3=0.5 * largest, delta4=largest)


def _variance(share: float) -> mvsim.Parameters:
    """Return the law Beta(a, a) with this part of the variance of the uniform one, which is 1 / (4 (2 a + 1)) on [0, 1]."""
    if share == 0.0:
        return with_r0(4, R0, beta_law={"kind": "discrete", "atoms": [0.5]})
    return with_r0(4, R0, beta_law={"kind": "beta", "a": 0.5 * (3.0 / share - 1.0)})


BOTH_METHODS = ("erm", "midpoint")
ENOUGH = 0.9
"""A theorem counts as holding at a value if at least this part of the classes end as it says."""

MAPS: dict[str, dict[str, Any]] = {
    "variance": {
        "label": "variance of beta / that of the uniform law",
        "axis": r"variance of $\beta$ / that of the uniform law",
        "values": [0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 2.0],
        "make": _variance,
    },
    "r0": {
        "label": "r0, initial size over threshold",
        "axis": r"$r_0$, initial size over threshold",
        "values": [0.1, 0.15, 0.2, 0.3, 0.45, 0.7, 1.0, 1.5],
        "make": lambda r0: with_r0(4, r0),
    },
    "noise": {
        "label": "delta4 k^1.5 (delta3 half of it)",
        "axis": r"$\delta_4 k^{1.5}$ ($\delta_3$ half of it)",
        "values": [0.0, 0.1, 0.2, 0.4, 0.7, 1.0],
        "make": _noise,
    },
    "alpha": {
        "label": "alpha, power of the activation",
        "axis": r"$\alpha$, power of the activation",
        "values": [2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0],
        "make": lambda alpha: with_r0(4, R0, alpha=alpha),
    },
    "k": {"label": "k, number of classes", "axis": r"$k$, number of classes", "values": [3, 4, 6, 8], "make": lambda k: with_r0(k, R0)},
    "mixing": {
        "label": "a of the mixing law Beta(a, a), at k = 3, N = 60, t = 2e9",
        "axis": r"$a$ of the mixing law Beta$(a, a)$",
        "values": [1e-6, 1e-5, 1e-4, 0.001, 0.01, 0.1, 1.0, 10.0, 100.0],
        "make": lambda a: with_r0(3, R0).replace(N=60),
    },
}


NODES, MIXING_END = 8, 2e9
"""Each node costs a sum over all pairs, so mixing laws are compared at k = 3 with 60 points. a -> 0 is ERM, a -> infinity Midpoint Mixup."""


def along(name: str, values: list[float], seeds: int, runs: Path) -> list[dict[str, Any]]:
    """Return what became of the classes at each value."""
    parameters = [MAPS[name]["make"](value) for value in values]
    if name == "mixing":
        given, _ = side_by_side(parameters[:1])
        laws = [{"distribution": "beta", "args": [value, value]} for value in values]
        given, beside, methods = {**given, "mixing": laws, "nodes": NODES, "t_end": MIXING_END}, [], ("mixup",)
    else:
        given, names = side_by_side(parameters)
        given, beside, methods = {**given, "t_end": [last_time(p) for p in parameters]}, [*names, "t_end"], BOTH_METHODS
    zips = [beside] if len(beside) > 1 and len(values) > 1 else []
    if not zips and beside:
        given["t_end"] = given["t_end"][0]
    study = {**given, "method": list(methods), "seed": f"0:{seeds}"}
    made = swept(runs, f"{name}-{len(values)}", study, zips)
    rows = []
    for place, value in enumerate(values):
        there = {method: _runs_at(made, method, place, seeds) for method in methods}
        seconds = sum(run.provenance["wall_seconds"] for of_method in there.values() for run in of_method if run is not None)
        rows.append({"value": value, **{method: tallied(there[method]) for method in methods}, "seconds": seconds})
    return rows


def _runs_at(made: mvsim.Runs, method: str, place: int, seeds: int) -> list[mvsim.Run | None]:
    """Return the runs at one value, None for one that is lost; the seed changes first, and the method last."""
    cells = [cell for cell in made.study.cells if cell.method == method][place * seeds : (place + 1) * seeds]
    return [made.run(cell.index) if made.standings[cell.index].state == "done" else None for cell in cells]


def limits(seeds: int, runs: Path) -> dict[str, Any]:
    """Return what becomes of the classes in the two limits of the mixing law, ERM and Midpoint Mixup, on the same data at the same time."""
    given, _ = side_by_side([MAPS["mixing"]["make"](1.0)])
    made = swept(runs, "limits", {**given, "t_end": MIXING_END, "method": list(BOTH_METHODS), "seed": f"0:{seeds}"})
    return {method: tallied(_runs_at(made, method, 0, seeds)) for method in BOTH_METHODS}


def picture(results: dict[str, Any]) -> Figure:
    """Draw a panel for each map."""
    with styled():
        figure = Figure(figsize=(7.0, 4.5))
        for axes, (name, study) in zip(figure.subplots(2, 3, sharey=True).flat, MAPS.items(), strict=True):
            rows = results[name]["rows"] if name in results else []
            lines = [("erm", "one", METHODS["erm"], 6, "ERM: exactly one"), ("midpoint", "both", METHODS["midpoint"], 3, "midpoint: both")]
            if name == "mixing":
                lines = [("mixup", "one", OUTCOMES["one"], 6, "exactly one"), ("mixup", "both", OUTCOMES["both"], 3, "both")]
            for method, which, colour, size, label in lines:  # where both are the same, one shows behind the other
                shown = [(row["value"], row[method][which]) for row in rows if row[method][which]]
                x = [value for value, _ in shown]
                y = [fraction for _, (fraction, _, _) in shown]
                bars = [[f - low for _, (f, low, _) in shown], [high - f for _, (f, _, high) in shown]]
                axes.errorbar(
                    x, y, bars, color=colour, marker="o", markersize=size, linewidth=size / 3, elinewidth=size / 4, capsize=size / 2, label=label
                )
            if name in ("variance", "r0", "mixing"):
                axes.set_xscale("symlog", linthresh=0.01) if name == "variance" else axes.set_xscale("log")
            axes.set_xlabel(study["axis"])
            axes.set_ylim(-0.05, 1.05)
            if name == "variance":
                axes.legend(loc="best")
            if name == "mixing":
                axes.legend(loc="lower center", bbox_to_anchor=(0.5, 0.97), ncols=2)
        figure.supylabel("fraction of classes")
        figure.suptitle(_message(results), fontsize=8)
        return figure


def _message(results: dict[str, Any]) -> str:
    """Say at how many of the values that were tried each theorem's outcome is that of at least nine classes in ten."""
    told = []
    for method, outcome in (("erm", "one"), ("midpoint", "both")):
        shares = [row[method][outcome] for study in results.values() for row in study["rows"] if method in row and row[method][outcome]]
        told.append(f"{sum(share[0] >= ENOUGH for share in shares)} of {len(shares)} values ({METHOD_NAMES[method]})")
    return f"Nine classes in ten end as the theorem says at {' and '.join(told)}"


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the study."""
    add_runs_option(parser)
    parser.add_argument("--seeds", type=int, default=10, help="runs at each value")
    parser.add_argument("--only", nargs="+", choices=list(MAPS), default=list(MAPS), help="maps to draw again; the others stay")
    parser.add_argument("--values", type=float, nargs="+", help="values to look at, with one map; by default those of the map")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Measure one map after another, and draw all."""
    runs = runs_of_present_code(options.runs)

    def drawn(name: str) -> dict[str, Any]:
        rows = along(name, options.values or MAPS[name]["values"], options.seeds, runs)
        part = {"label": MAPS[name]["label"], "seeds": options.seeds, "rows": rows}
        return part | ({"limits": limits(options.seeds, runs)} if name == "mixing" else {})

    results = options.file.measure_parts(options.only, drawn)
    options.figures.save("phase-diagrams", picture(results))
    return {name: results[name] for name in MAPS if name in results}


def judge(results: dict[str, Any]) -> list[str]:
    """Return where runs are lost, and whether the theorems hold where the maps start from."""
    wrong = []
    for name, study in results.items():
        for row in study["rows"]:
            outcomes = {method: row[method] for method in (*BOTH_METHODS, "mixup") if method in row}
            wrong += [f"{name} = {row['value']:g}, {method}: {one['lost']} runs lost" for method, one in outcomes.items() if one["lost"]]
            if (name, row["value"]) == ("r0", R0):
                wrong += [f"r0 = {R0:g}: {fault}" for fault in _not_as_the_theorems_say(row)]
    return wrong


def _not_as_the_theorems_say(row: dict[str, Any]) -> list[str]:
    expected = {"erm": "one", "midpoint": "both"}
    return [
        f"{method}: {row[method]['classes']}" for method, outcome in expected.items() if not row[method][outcome] or row[method][outcome][0] < ENOUGH
    ]


def passage(results: dict[str, Any]) -> str:
    """Say at which values of each parameter the outcome is that of the theorems."""
    rows = []
    for name, study in results.items():
        columns = (("mixup", "one"), ("mixup", "both")) if name == "mixing" else (("erm", "one"), ("midpoint", "both"))
        values = [", ".join(_values(study["rows"], method, outcome)) or "none" for method, outcome in columns]
        rows.append([study["label"], ", ".join(f"{row['value']:g}" for row in study["rows"]), *values])
    return (
        "![Fractions of classes that end as the theorems say](../figures/phase-diagrams.png)\n\n"
        "One thing at a time changed from k = 4, r0 = 0.15. The values at which at least nine classes in\n"
        f"ten, over {min(study['seeds'] for study in results.values())} seeds, end as the theorem says; of\n"
        "eight classes that is all (picture: all fractions, with intervals):\n\n"
        + table(["changed", "tried", "ERM: exactly one feature", "Midpoint Mixup: both features"], rows)
        + "\nIn brackets: values at which it is fewer, but some class had learned neither view yet when its run was ended; a view that\n"
        "suffices on a part of the draws only is not learned.\n" + (_mixing_passage(results["mixing"]) if "mixing" in results else "")
    )


def _values(rows: list[dict[str, Any]], method: str, outcome: str) -> list[str]:
    """Return the values at which at least nine classes in ten have an outcome, and in brackets those at which more may still have it."""
    named = []
    for row in rows:
        share = row[method][outcome]
        if share and share[0] >= ENOUGH:
            named.append(f"{row['value']:g}")
        elif row[method]["classes"]["none"]:
            named.append(f"({row['value']:g})")
    return named


def _mixing_passage(mixing: dict[str, Any]) -> str:
    """Say what becomes of the classes in the limits of the mixing law, and since when both features were there."""
    erm, midpoint = mixing["limits"]["erm"]["one"][0], mixing["limits"]["midpoint"]["both"][0]
    lines = []
    for row in mixing["rows"]:
        since = [math.inf if t is None else t for t in row["mixup"]["complete_since"]]
        missing = since.count(math.inf)
        lines.append(f"{f'no time in {missing} of {len(since)} runs' if missing else f't = {max(since):.1e}'} (a = {row['value']:g})")
    return (
        f"\nOf the data of the last row ERM learns exactly one feature in {erm:.0%} of the classes, Midpoint Mixup both in {midpoint:.0%}.\n"
        "With mixing laws both features of every class were there, in the latest run, since\n" + ",\n".join(lines) + ".\n"
    )
