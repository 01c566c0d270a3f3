"""Theorems 4.6 and 4.7 along paths r0(k) that go to 0: the literal one, d = k^20, and a slower one.

Each point is what `mvsim verify --theorem NUMBER --path PATH` says at one k, over seeds. The picture, figures/paths.png, has the fraction of runs in
which each theorem holds. The constants of the proofs have exponents of k, with intervals from a bootstrap over seeds. The steps of the proofs: study
proof_map.

Some runs take very many steps. With ``--limit`` each run is interrupted after so long, and the theorem is undecided where it is so far.

Fails if a theorem is contradicted at any point, or a run stops or is not the flow that it says it is.
"""

from __future__ import annotations

import argparse
import math
import re
import textwrap
import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from lib.limited import Limited, judged_within
from lib.runs import add_runs_option, followed_side_by_side, runs_of_present_code
from lib.study import TRAINING
from lib.tables import table
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mvsim.intervals import clopper_pearson
from mvsim.plotting.style import FIRST, MARK, SECOND, styled
from mvsim.verification.ensemble import exponent_of_k, measured_constants, over_seeds
from mvsim.verification.paths import path_in_k
from mvsim.verification.statements.theorems import THEOREMS
from mvsim.verification.verdict import BAD, STATUSES
from mvsim.verification.verify import judgements_over_seeds

TITLE = "Along paths of the theorems"
SOURCES = (*TRAINING, "archive", "intervals", "verification")

FALLING = "r0=0.34*k^-0.22"
"""The default r0, which goes to 0."""


class Point(NamedTuple):
    """One theorem at one k on one path.

    Attributes
    ----------
    theorem : str
        "4.6" or "4.7".
    path : str
        As `mvsim verify --path` takes it.
    k : int
        Number of classes.
    seeds : int
        Runs.
    fields : dict
        Other parameters.
    """

    theorem: str
    path: str
    k: int
    seeds: int
    fields: dict[str, Any]


def points() -> dict[str, Point]:
    """Return all points by name. The last has P delta3 >= 10 delta2, so that noise outweighs the signal for linear models.

    The least k is 6: at k = 4 the noise of a point holds 2 of the 3 other classes, and often tells the class by itself. ERM at d = k^20 has 2,000
    points. Margins grow to 100 there and noise is in the linear part of the activation; with the default N, views that are learned on all training
    points then miss some of 200 fresh draws, which leaves Theorem 4.6 undecided in one of two runs at k = 6 and 10.
    """
    found = []
    for theorem in THEOREMS:
        of_literal = {"N": 2000} if theorem == "4.6" else {}
        found += [Point(theorem, "literal", k, seeds, of_literal) for k, seeds in ((6, 5), (10, 5), (20, 1))]
        found += [Point(theorem, FALLING, k, seeds, {}) for k, seeds in ((6, 30), (10, 30), (20, 10), (50, 5))]
        found.append(Point(theorem, FALLING, 10, 30, {"P": math.ceil(10.0 / (0.05 * 10**-1.5))}))
    return {f"{p.theorem} {p.path} k={p.k}{_with(p.fields)}": p for p in found}


def _with(fields: dict[str, Any]) -> str:
    """Return other parameters, for a name."""
    return "".join(f" {name}={value}" for name, value in fields.items())


def measured(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """Ask the theorem at one point."""
    point, start, runs = points()[name], time.perf_counter(), runs_of_present_code(options.runs)
    seeds = point.seeds if options.seeds is None else options.seeds
    p = path_in_k(point.path)(point.k, **point.fields)
    if options.limit is None:
        followed_side_by_side(point.theorem, p, seeds, runs, options.follow)
        known = Limited(*judgements_over_seeds(point.theorem, p, seeds, runs, follow=options.follow), interrupted=[])
    else:
        known = judged_within(options.limit, point.theorem, p, seeds, runs, options.follow)
    judgements, stopped, interrupted = known
    verdicts = over_seeds(f"Theorem {point.theorem}", p.k, judgements, len(stopped)) if judgements else []
    words = [f"--theorem {point.theorem} --k {p.k} --path '{point.path}' --seeds {seeds}"]
    words += [f"--{field} {value}" for field, value in point.fields.items()] + ([] if options.follow else ["--no-follow"])
    for v in verdicts:
        if v.kind == "theorem" or v.status in BAD:
            print(f"{v.status:13} {v.name}: {v.measured} ({v.detail})", flush=True)
    constants = {part: [v for v in values if math.isfinite(v)] for part, values in measured_constants(judgements).items()}
    return {
        "command": f"mvsim verify {' '.join(words)}",
        "seconds": time.perf_counter() - start,
        "theorem": point.theorem,
        "k": p.k,
        "path": point.path,
        "fields": point.fields,
        "r0": p.r0,
        "seeds": seeds,
        "stopped": stopped,
        "interrupted": interrupted,
        "verdicts": [v.as_dict() for v in verdicts],
        "constants": constants,
    }


def pictures(results: dict[str, Any]) -> dict[str, Figure]:
    """Draw what was measured."""
    return {"paths": picture(results)}


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the study."""
    add_runs_option(parser)
    parser.add_argument("--only", nargs="+", choices=list(points()), default=list(points()), metavar="POINT", help=f"of {', '.join(points())}")
    parser.add_argument("--seeds", type=int, help="runs of each theorem, instead of the number of each point")
    parser.add_argument(
        "--limit", type=float, metavar="SECONDS", help="after which a run is interrupted, and judged as far as it came; by default never"
    )
    parser.add_argument("--no-follow", dest="follow", action="store_false", help="leave runs in which a feature is missing as they are")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Ask one point after another, and draw what there is."""
    return options.file.measure_parts(options.only, lambda name: measured(name, options))


def _features(answer: dict[str, Any]) -> dict[str, Any] | None:
    """Return the verdict on the part about features over seeds."""
    return next((v for v in answer["verdicts"] if v["name"].startswith(f"Theorem {answer['theorem']} (features), k")), None)


def slopes(results: dict[str, Any]) -> dict[str, dict[str, tuple[float, float, float]]]:
    """Return the exponent of k in each measured constant, by its name and by path, with its interval from a bootstrap over seeds.

    A path is one theorem's, and has the same other parameters at each k. A constant that is 0 or infinite in some run has no exponent, and what is
    measured besides constants of the proofs and times has none either.
    """
    by_path: dict[str, dict[str, dict[int, list[float]]]] = {}
    for answer in results.values():
        path = by_path.setdefault(f"{answer['theorem']}, {answer['path']}{_with(answer['fields'])}", {})
        for part, values in answer["constants"].items():
            if part.startswith(CONSTANTS) or part.endswith(LASTING):
                path.setdefault(part, {})[answer["k"]] = values
    found = {
        path: {
            part: exponent_of_k(dict(sorted(values.items())))
            for part, values in parts.items()
            if len(values) > 1 and all(of_k and min(of_k) > 0.0 for of_k in values.values())
        }
        for path, parts in by_path.items()
    }
    return {path: parts for path, parts in found.items() if parts}


def _classes(answer: dict[str, Any]) -> str:
    """Return in how many classes of all runs features are as the theorem says."""
    details = [v["detail"] for v in answer["verdicts"] if v["name"].startswith(f"Theorem {answer['theorem']} (features), classes")]
    return details[0].split(",")[0] if details else ""


CONSTANTS, LASTING = ("Claim", "Calculation", "Lemma", "Proposition", "Corollary"), "(what could undo it)"
"""What the names of constants of the proofs begin with, and that of a time ends with; results that were kept tell it by the names alone. Permanence
is none: at d = k^20 a trend at the end of a run is followed over 10^36 decades and more."""

LETTERS = 108
"""In a line of the title."""


PATHS = {"literal": FIRST, FALLING: SECOND}
"""The paths that are drawn, and their colours."""

SHIFT = 0.2
"""Between two series at one k, in units of the distance from one k to the next, so that their intervals do not overlap."""


def picture(results: dict[str, Any]) -> Figure:
    """Draw the fraction of runs in which each theorem holds over k, a panel for each theorem."""
    ks = sorted({a["k"] for a in results.values()})
    with styled():
        figure = Figure(figsize=(6.8, 3.1), layout="constrained")
        panels = dict(zip(THEOREMS, figure.subplots(1, len(THEOREMS), sharey=True), strict=True))
        for (number, path, fields), asked in _series(results).items():
            axes, shift, look = panels[number], _shift(path, fields), _look(path, fields)
            shares = [(ks.index(a["k"]) + shift, v["measured"], *_interval(a["seeds"], v["measured"])) for a in asked if (v := _decided(a))]
            _points(axes, shares, label=f"{_typeset(path)}{''.join(f', ${name} = {value}$' for name, value in fields)}", **look)
            for a in (a for a in asked if not _decided(a)):
                axes.annotate("undecided", (ks.index(a["k"]) + shift, 0.02), rotation=90, ha="center", va="bottom", fontsize=6, color=look["color"])
        for number, axes in panels.items():
            axes.plot(range(len(ks)), [1.0 - 1.0 / k for k in ks], color=MARK, marker="_", linewidth=0.8, label="$1 - 1/k$, what is asked for")
            axes.set(title=f"Theorem {number}", xlabel="$k$", xlim=(-0.5, len(ks) - 0.5), ylim=(0.0, 1.05))
            axes.set_xticks(range(len(ks)), [str(k) for k in ks])
            axes.legend(loc="lower left", fontsize=6)
        panels["4.6"].set_ylabel("fraction of runs in which it holds")
        figure.suptitle(textwrap.fill(_summary(results, named=False), LETTERS), fontsize=8, x=0.01, ha="left")
        figure.supxlabel("Bars: 95 % intervals.", fontsize=6, x=0.01, ha="left", color=MARK)
        return figure


def _undecided(answer: dict[str, Any]) -> int:
    """Return in how many runs the part about features is undecided."""
    verdict = _features(answer)
    return int(verdict["count"]["undecided"]) if verdict and verdict["count"] else 0


def _decided(answer: dict[str, Any]) -> dict[str, Any] | None:
    """Return the verdict on the part about features, if it is decided in any run."""
    return _features(answer) if _undecided(answer) < answer["seeds"] else None


def _points(axes: Axes, shares: Sequence[tuple[float, ...]], **look: Any) -> None:
    """Draw (place, share, low, high) as points with their intervals."""
    if shares:
        place, share, low, high = np.array(shares).T
        axes.errorbar(place, share, yerr=[share - low, high - share], markersize=4, linewidth=0.8, linestyle="", **look)


def _series(results: dict[str, Any]) -> dict[tuple[str, str, tuple[tuple[str, Any], ...]], list[dict[str, Any]]]:
    """Return the answers by theorem, path and other parameters, in the order of the paths; without those on other paths."""
    series: dict[tuple[str, str, tuple[tuple[str, Any], ...]], list[dict[str, Any]]] = {}
    for number in THEOREMS:
        for path in PATHS:
            for answer in results.values():
                if (answer["theorem"], answer["path"]) == (number, path):
                    series.setdefault((number, path, tuple(sorted(answer["fields"].items()))), []).append(answer)
    return series


def _look(path: str, fields: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return colour and marker of a series."""
    return {"color": PATHS[path], "marker": "D" if "P" in dict(fields) else "o"}


def _shift(path: str, fields: Sequence[tuple[str, Any]]) -> float:
    return SHIFT * (list(PATHS).index(path) - 1 + ("P" in dict(fields)))


def _interval(seeds: int, share: float) -> tuple[float, float]:
    return clopper_pearson(round(seeds * share), seeds)


def _typeset(path: str) -> str:
    """Return a path as formulas are set."""
    power = re.fullmatch(r"r0=([\d.]+)\*k\^(-?[\d.]+)", path)
    return rf"$r_0 = {power[1]}\, k^{{{power[2]}}}$" if power else "$d = k^{20}$" if path == "literal" else path


def judge(results: dict[str, Any]) -> list[str]:
    """Return which theorems are contradicted, and which runs are not what they say they are or stopped."""
    faults = [
        f"{point}: {v['name']} is {v['status']}"
        for point, answer in results.items()
        for v in answer["verdicts"]
        if v["kind"] in ("theorem", "evidence") and v["status"] in BAD
    ]
    return faults + [f"{point}: {stopped}" for point, answer in results.items() for stopped in answer["stopped"]]


def quotes(results: dict[str, Any]) -> list[str]:
    """Return what the README says of both theorems: the runs that hold, fail and are undecided, at the default r0, k = 10 and 6, and at d = k^20."""

    def counted(answers: Iterable[dict[str, Any]]) -> str:
        counts = [(_features(answer) or {})["count"] for answer in answers]
        right, of, undecided = (sum(count[what] for count in counts) for what in ("right", "of", "undecided"))
        return f"{right} | {of - right - undecided} | {undecided} |"

    default = [f"| {k} | default | {counted([results[f'{number} {FALLING} k={k}']])}" for number in ("4.6", "4.7") for k in (10, 6)]
    paths = {"4.6 at d = k^20, N = 2000": ("4.6 literal", "N=2000"), "4.7 at d = k^20": ("4.7 literal", "")}
    literal = {said: [a for name, a in results.items() if name.startswith(begin) and name.endswith(end)] for said, (begin, end) in paths.items()}
    points = [answer for answers in literal.values() for answer in answers]
    ks, r0 = sorted(answer["k"] for answer in points), f"{max(answer['r0'] for answer in points):.0e}".replace("e-0", "e-")
    rows = [f"{said} | {ks[0]} to {ks[-1]} | {r0} and less | {counted(answers)}" for said, answers in literal.items()]
    return [*default, *rows, f"(default {results[f'4.6 {FALLING} k=10']['r0']:.1g} at k = 10)"]


def headline(results: dict[str, Any]) -> str:
    """Say at how many points a theorem is contradicted, and name the points that are anything but consistent with it."""
    return _summary(results, named=True)


def _summary(results: dict[str, Any], named: bool) -> str:
    """Count the points by what is found of them, and name those that are anything but consistent with a theorem, if that is asked for."""
    found = {name: v["status"] for name, answer in results.items() if (v := _features(answer))}
    if not found:
        return "No point is decided"
    against = sum(status in BAD for status in found.values())
    begins = f"{against or 'No'} point{'s' if against > 1 else ''} contradict{'s' if against <= 1 else ''} Theorem 4.6 or 4.7"
    places = {status: [_place(results[name]) for name in found if found[name] == status] for status in STATUSES}
    told = [_told(status, names, named) for status, names in places.items() if names]
    return f"{begins}; of {len(found)} points {', '.join(told)}"


def _place(answer: dict[str, Any]) -> str:
    """Name a point, as short as that goes."""
    path = {"literal": "d = k^20", FALLING: "default r0"}.get(answer["path"], answer["path"])
    return f"Theorem {answer['theorem']} at k = {answer['k']}, {path}{_with(answer['fields'])}"


def _told(status: str, names: list[str], named: bool) -> str:
    """Say how many points have a status, and which if that is asked for, unless it is what most have."""
    where = "" if status == "consistent" or not named else f" ({', '.join(names)})"
    said = f"{status} for that k" if status == "established" else status
    return f"{len(names)} {'is' if len(names) == 1 else 'are'} {said}{where}"


def passage(results: dict[str, Any]) -> str:
    """Put the theorems into a table, and the exponents of k in the constants of the proofs into another."""
    rows = []
    for answer in sorted(results.values(), key=lambda answer: (answer["theorem"], answer["path"], answer["k"])):
        if v := _features(answer):
            rows.append([f"`{answer['command']}`", f"{answer['r0']:.3g}", _counted(v, answer), _classes(answer), f"**{v['status']}**"])
    return (
        "![Fraction of runs in which the theorems hold, over k](../figures/paths.png)\n\n"
        "A theorem is asked at several k on each path, over seeds, with the command in the table. ERM at d = k^20 has N = 2000, without which noise "
        "leaves it undecided in one of two runs; with P = 6325 the noise of a point outweighs its signal for linear models.\n\n"
        + table(["command", "r0", "runs in which the part about features holds", "classes as it says", "verdict"], rows)
        + _slopes_passage(slopes(results))
    )


def _counted(verdict: dict[str, Any], answer: dict[str, Any]) -> str:
    """Say in how many runs a theorem holds, in how many it is undecided, and which runs did not come to their end."""
    told = [verdict["detail"].split(";")[0]]
    told += [f"{_undecided(answer)} undecided"] if _undecided(answer) else []
    told += [f"interrupted: {', '.join(answer['interrupted'])}"] if answer.get("interrupted") else []
    return "; ".join(told)


LEAST_EXPONENT = 0.1
"""Exponent from which on a constant is said to grow; below it, it may be that of a logarithm, or of rounding."""


def _growing(found: dict[str, dict[str, tuple[float, float, float]]], names: list[str]) -> str:
    """Say for which constants the whole interval of the exponent lies above the least one, and how many constants there are."""
    growing = {path: [part for part in names if part in parts and parts[part][1] > LEAST_EXPONENT] for path, parts in found.items()}
    told = [f"along {path}: {', '.join(parts)}" for path, parts in growing.items() if parts]
    of = f"of {len(names)} constants of the proofs the whole 95 % interval of the exponent lies above {LEAST_EXPONENT:g}"
    return f"For these {of}: {'; '.join(told)}." if told else f"For none {of}."


def _slopes_passage(found: dict[str, dict[str, tuple[float, float, float]]]) -> str:
    """Put the exponents into a table, a column for each path."""
    names = list(dict.fromkeys(part for parts in found.values() for part in parts))
    if not names:
        return ""
    cells = [[part, *("{:.2g} [{:.2g}, {:.2g}]".format(*parts[part]) if part in parts else "" for parts in found.values())] for part in names]
    return (
        f"\n{_growing(found, names)} The table has the exponents: of each constant the median over seeds is taken at every k, and a power of k is "
        "fitted to the medians. Intervals are 95 %, from a bootstrap over seeds; where a k has one run, they do not contain its spread. The paper "
        "bounds most constants from above, where a negative exponent is as good as 0, and some from below.\n\n" + table(["constant", *found], cells)
    )
