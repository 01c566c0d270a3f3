"""Where the theorems stop holding: variance of beta, initial size, noise, power, number of classes, and mixing laws between ERM and midpoint.

One parameter at a time is changed from k = 4, r0 = 0.15, N = 200, every other field at its default. What is drawn is the fraction of classes that
end as the theorem says: with exactly one feature under ERM (Theorem 4.6), with both under Midpoint Mixup (4.7); bars are 95 % intervals over the
classes of all seeds, classes of a run not counted as independent. Runs end when nothing can change any more, or after several times the time that
Midpoint Mixup takes at k = 4 (`lib.ended`). Mixing laws are compared at k = 3. The picture is figures/phase-diagrams.png.

These are maps: what they show is reported, not judged. The study fails if runs are lost, or if the theorems do not hold where the maps start from.
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from lib.ended import Ended, Job, ended
from lib.outcomes import jobs_of, last_time, tallied
from lib.regimes import with_r0
from lib.runs import add_runs_option, runs_of_present_code
from lib.study import TRAINING
from lib.tables import table
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

import mvsim
from mvsim.pictures.style import BOTH, MARK, METHODS, ONE, styled

TITLE = "Beyond the theorems: one thing at a time"
SOURCES = (*TRAINING, "archive", "intervals", "sweep.intervals", "verification.evidence")

R0, N = 0.15, 200
"""Where the maps start from: half of the default N, since a gradient of Midpoint Mixup takes N^2 time."""


def _noise(scale: float) -> mvsim.Parameters:
    largest = scale * 4**-1.5
    return with_r0(4, R0, N=N, delta3=0.5 * largest, delta4=largest)


def _variance(share: float) -> mvsim.Parameters:
    """Return the law Beta(a, a) with this part of the variance of the uniform one, which is 1 / (4 (2 a + 1)) on [0, 1]."""
    if share == 0.0:
        return with_r0(4, R0, N=N, beta_law={"kind": "discrete", "atoms": [0.5]})
    return with_r0(4, R0, N=N, beta_law={"kind": "beta", "a": 0.5 * (3.0 / share - 1.0)})


BOTH_METHODS = ("erm", "midpoint")
ENOUGH = 0.9
"""A theorem counts as holding at a value if at least this part of the classes end as it says."""

MAPS: dict[str, dict[str, Any]] = {
    "variance": {
        "short": r"the variance of $\beta$",
        "label": "variance of beta / that of the uniform law",
        "axis": r"variance of $\beta$ / that of the uniform law",
        "values": [0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 2.0],
        "make": _variance,
    },
    "r0": {
        "short": "$r_0$",
        "label": "r0, initial size over threshold",
        "axis": r"$r_0$, initial size over threshold",
        "values": [0.1, 0.15, 0.2, 0.3, 0.45, 0.7, 1.0, 1.5],
        "make": lambda r0: with_r0(4, r0, N=N),
    },
    "noise": {
        "short": "noise",
        "label": "delta4 k^1.5 (delta3 half of it)",
        "axis": r"$\delta_4 k^{1.5}$ ($\delta_3$ half of it)",
        "values": [0.0, 0.1, 0.2, 0.4, 0.7, 1.0],
        "make": _noise,
    },
    "alpha": {
        "short": r"$\alpha$",
        "label": "alpha, power of the activation",
        "axis": r"$\alpha$, power of the activation",
        "values": [2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0],
        "make": lambda alpha: with_r0(4, R0, N=N, alpha=alpha),
    },
    "k": {
        "short": "$k$",
        "label": "k, number of classes",
        "axis": r"$k$, number of classes",
        "values": [3, 4, 6, 8],
        "make": lambda k: with_r0(k, R0, N=N),
    },
    "mixing": {
        "short": "the law of mixing",
        "label": "a of the mixing law Beta(a, a), at k = 3, N = 60, t = 2e9",
        "axis": r"$a$ of the mixing law Beta$(a, a)$",
        "values": [1e-6, 1e-5, 1e-4, 0.001, 0.01, 0.1, 1.0, 10.0, 100.0],
        "make": lambda a: with_r0(3, R0).replace(N=60),
    },
}


NODES, MIXING_END = 8, 2e9
"""Each node costs a sum over all pairs, so mixing laws are compared at k = 3 with 60 points. a -> 0 is ERM, a -> infinity Midpoint Mixup."""


def row(name: str, value: float, seeds: int, runs: Path) -> dict[str, Any]:
    """Return what became of the classes at one value, and the seconds that the runs took."""
    p = MAPS[name]["make"](value)
    if name == "mixing":
        law = {"distribution": "beta", "args": [value, value]}
        made = _made({"mixup": jobs_of(runs, p, "mixup", seeds, MIXING_END, mixing=law, nodes=NODES)})
    else:
        made = _made({method: jobs_of(runs, p, method, seeds, last_time(p)) for method in BOTH_METHODS})
    seconds = sum(one.run.provenance["wall_seconds"] for there in made.values() for one in there if one.run is not None)
    return {"seconds": seconds, **{method: tallied(there) for method, there in made.items()}}


def limits(seeds: int, runs: Path) -> dict[str, Any]:
    """Return what becomes of the classes in the two limits of the mixing law, ERM and Midpoint Mixup, on the same data to the same time."""
    p = MAPS["mixing"]["make"](1.0)
    made = _made({method: jobs_of(runs, p, method, seeds, MIXING_END) for method in BOTH_METHODS})
    return {method: tallied(there) for method, there in made.items()}


def _made(asked: dict[str, list[Job]]) -> dict[str, list[Ended]]:
    """Make all runs, side by side, and return them by method."""
    made = iter(ended([job for jobs in asked.values() for job in jobs]))
    return {method: list(islice(made, len(jobs))) for method, jobs in asked.items()}


THEOREMS = (
    ("erm", "one", METHODS["erm"], "o", "ERM: exactly one feature (Theorem 4.6)"),
    ("midpoint", "both", METHODS["midpoint"], "s", "Midpoint Mixup: both (Theorem 4.7)"),
)
OF_MIXING = (("mixup", "one", ONE, "o", "Mixup: one"), ("mixup", "both", BOTH, "s", "Mixup: both"))
"""What is drawn: method, outcome, colour, marker, words."""


MOST_TICKS = 8
"""Values of an axis that all have a label; with more, every second one has."""

AS_DECIMALS = 1e-3, 1e3
"""Values that are written as decimals; where one lies outside, all of an axis are written as powers of ten."""


OTHER = {"one": "both", "both": "one"}
"""The outcome that a class with the one does not have; what has neither yet may come to either."""


def clearly_fewer(results: dict[str, Any], method: str, outcome: str) -> str:
    """Return the maps with values at which the whole interval lies below `ENOUGH` even if classes without a feature yet count, in words."""
    below = []
    for name, study in results.items():
        rows = [row for row in study["rows"] if method in row and row[method][OTHER[outcome]]]
        values = [f"{row['value']:g}" for row in rows if 1.0 - row[method][OTHER[outcome]][1] < ENOUGH]
        if values:
            below.append(f"{MAPS[name]['short']} ({', '.join(values)})")
    return " and ".join(below) or "nothing that was tried"


def is_undecided(row: dict[str, Any], method: str) -> bool:
    """Whether some class had no feature yet when its run was ended, or a run was given up for the gradients that it took."""
    return bool(row[method]["classes"]["none"] or row[method].get("ends", {}).get("gradients"))


def pictures(results: dict[str, Any]) -> dict[str, Figure]:
    """Draw a panel for each map: points with their intervals, side by side; along so few classes there is no trend that a line could follow."""
    measured = [name for name in MAPS if name in results]
    rows = math.ceil(len(measured) / 3)
    with styled():
        figure = Figure(figsize=(6.8, 2.2 * rows + 0.8), layout="constrained")
        grid = figure.subplots(rows, 3, sharey=True, squeeze=False)
        for spare in grid.flat[len(measured) :]:
            spare.remove()
        for axes, name in zip(grid.flat, measured, strict=False):
            series = OF_MIXING if name == "mixing" else THEOREMS
            _panel(axes, results[name], series)
            axes.set_xlabel(MAPS[name]["axis"])
            if series is THEOREMS:  # no theorem speaks of other mixing laws
                axes.axhline(ENOUGH, color=MARK, linewidth=0.6, linestyle=":", zorder=0)
        for row in grid:
            row[0].set_ylabel("fraction of classes")
        fewer = [clearly_fewer(results, method, outcome) for method, outcome, *_ in THEOREMS]
        title = f"The outcome of ERM changes with {fewer[0]},\nthat of Midpoint Mixup with {fewer[1]}"
        figure.suptitle(title, fontsize=9, x=0.01, ha="left")
        seeds = _seeds(results)
        note = (
            f"One thing at a time changed from $k$ = 4, $r_0$ = {R0:g}, $N$ = {N}; mixing at $k$ = 3, $N$ = 60. Bars: 95 % intervals over the\n"
            f"classes of {seeds}. Hollow: some class had no feature yet, or a run was given up. The title names what takes the whole interval\n"
            f"below {ENOUGH:g} (dotted), unfinished classes counted in favour of the theorem."
        )
        handles = _handles((*THEOREMS, *(OF_MIXING if "mixing" in measured else ())))
        look: dict[str, Any] = {"title": note, "title_fontsize": 6, "alignment": "left", "handletextpad": 0.1, "columnspacing": 1.2}
        figure.legend(handles=handles, ncols=4, loc="outside lower left", **look)
        return {"phase-diagrams": figure}


def _panel(axes: Axes, study: dict[str, Any], series: Sequence[tuple[str, str, str, str, str]]) -> None:
    """Draw the fractions at each value, the two outcomes beside each other."""
    for shift, (method, outcome, colour, marker, _) in zip((-0.14, 0.14), series, strict=True):
        for place, row in enumerate(study["rows"]):
            if row[method][outcome]:
                y, low, high = row[method][outcome]
                face = "white" if is_undecided(row, method) else colour
                look: dict[str, Any] = {
                    "color": colour,
                    "marker": marker,
                    "markersize": 3.5,
                    "markerfacecolor": face,
                    "elinewidth": 1.0,
                    "capsize": 0,
                }
                axes.errorbar([place + shift], [y], [[y - low], [high - y]], **look)
    values = [row["value"] for row in study["rows"]]
    every = 1 if len(values) <= MOST_TICKS else 2
    axes.set_xticks(range(0, len(values), every), _ticks(values)[::every], fontsize=7)
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(-0.6, len(values) - 0.4)
    axes.set_ylim(-0.05, 1.05)


def _ticks(values: Sequence[float]) -> list[str]:
    """Return how the values of an axis are written, all in one way."""
    low, high = AS_DECIMALS
    if all(value == 0.0 or low < value < high for value in values):
        return [f"{value:g}" for value in values]
    return [f"$10^{{{round(math.log10(value))}}}$" if value else "0" for value in values]


def _handles(series: Sequence[tuple[str, str, str, str, str]]) -> list[Line2D]:
    """Return the names of series with their markers, for a legend."""
    return [Line2D([], [], color=colour, marker=marker, linestyle="", markersize=4, label=words) for *_, colour, marker, words in series]


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the study."""
    add_runs_option(parser)
    parser.add_argument("--seeds", type=int, default=10, help="runs at each value")
    parser.add_argument("--only", nargs="+", choices=list(MAPS), default=list(MAPS), help="maps to draw again; the others stay")
    parser.add_argument("--values", type=float, nargs="+", help="values to look at, with one map; by default those of the map")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Measure one value after another, map by map; what was stopped goes on."""
    runs = runs_of_present_code(options.runs)

    def measured(name: str, value: float) -> dict[str, Any]:
        found = row(name, value, options.seeds, runs)
        classes = {method: outcome["classes"] for method, outcome in found.items() if method != "seconds"}
        print(name, value, classes, f"{found['seconds']:.0f} s", flush=True)
        return found

    def facts(name: str) -> dict[str, Any]:
        of_map = {"label": MAPS[name]["label"], "seeds": options.seeds}
        return of_map | ({"limits": limits(options.seeds, runs)} if name == "mixing" else {})

    results = options.file.measure_rows({name: options.values or MAPS[name]["values"] for name in options.only}, measured, facts)
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


def headline(results: dict[str, Any]) -> str:
    """Say what each outcome changes with."""
    fewer = [_plain(clearly_fewer(results, method, outcome)) for method, outcome, *_ in THEOREMS]
    return f"The outcome of ERM changes with {fewer[0]}, that of Midpoint Mixup with {fewer[1]}"


def _plain(words: str) -> str:
    """Return words without the marks of formulas."""
    return words.replace("$", "").replace("\\", "").replace("_", "")


def passage(results: dict[str, Any]) -> str:
    """Say at which values of each parameter the outcome is that of the theorems."""
    rows = []
    for study in (study for name, study in results.items() if name != "mixing"):
        values = [", ".join(_values(study["rows"], method, outcome)) or "none" for method, outcome, *_ in THEOREMS]
        rows.append([study["label"], ", ".join(f"{row['value']:g}" for row in study["rows"]), *values])
    return (
        "![Fractions of classes that end as the theorems say](../figures/phase-diagrams.png)\n\n"
        f"One thing at a time is changed from k = 4, r0 = {R0:g}, N = {N}; the picture has all fractions with their intervals. Listed are the values "
        f"at which at least {100 * ENOUGH:g} % of the classes of {_seeds(results)} end as the theorem says ({_least_counts(results)}). The "
        f"headline names what takes the whole interval below {ENOUGH:g}, with unfinished classes counted in favour of the theorem; no correction "
        "is made for how many values were tried.\n\n"
        + table(["changed", "tried", "ERM: exactly one feature", "Midpoint Mixup: both features"], rows)
        + "\nIn brackets: values at which it is fewer, but some class had learned neither view yet when its run was ended. A view that suffices "
        "on a part of the draws only is not learned.\n" + (_mixing_passage(results["mixing"]) if "mixing" in results else "")
    )


def _seeds(results: dict[str, Any]) -> str:
    """Return how many seeds maps have: the number that most of them have, and which have others."""
    usual = statistics.mode(study["seeds"] for study in results.values())
    others = [f"{name}: {study['seeds']}" for name, study in results.items() if study["seeds"] != usual]
    return f"{usual} seeds" + (f" ({', '.join(others)})" if others else "")


def _least_counts(results: dict[str, Any]) -> str:
    """Say for the numbers of classes that occur how many at least are `ENOUGH` of them."""
    rows = [row for name, study in results.items() if name != "mixing" for row in study["rows"]]
    numbers = sorted({sum(row[method]["classes"].values()) for row in rows for method in BOTH_METHODS})
    counts = [(n, math.ceil(round(ENOUGH * n, 9))) for n in numbers if n]
    return "; ".join(f"of {n} classes, at least {least}" for n, least in counts)


def _values(rows: list[dict[str, Any]], method: str, outcome: str) -> list[str]:
    """Return the values at which at least nine classes in ten have an outcome, and in brackets those at which more may still have it."""
    named = []
    for row in rows:
        share = row[method][outcome]
        if share and share[0] >= ENOUGH:
            named.append(f"{row['value']:g}")
        elif is_undecided(row, method):
            named.append(f"({row['value']:g})")
    return named


def _mixing_passage(mixing: dict[str, Any]) -> str:
    """Say what Mixup learns over the mixing law and in its limits, and since when both features were there."""
    erm, midpoint = mixing["limits"]["erm"]["one"][0], mixing["limits"]["midpoint"]["both"][0]
    rows = []
    for row in mixing["rows"]:
        since = [t for t in row["mixup"]["complete_since"] if t is not None]
        classes = [row["mixup"]["classes"][outcome] for outcome in ("one", "both", "none")]
        complete = f"{len(since)} of {len(row['mixup']['complete_since'])}"
        rows.append([f"{row['value']:g}", *classes, complete, f"{max(since):.1e}" if since else ""])
    return (
        f"\nMixup with the mixing law Beta(a, a) was followed at k = 3, N = 60 to t = {MIXING_END:g}. The table counts classes that have one "
        "feature, both, and none yet, and runs in which every class has both; the last column is since when, in the latest of them. On the same data "
        f"ERM (a to 0) has exactly one feature in {erm:.0%} of the classes by then, Midpoint Mixup (a to infinity) both in {midpoint:.0%}, classes "
        "with none yet counted as neither.\n\n" + table(["a", "one feature", "both", "none yet", "runs with both in every class", "since t"], rows)
    )
