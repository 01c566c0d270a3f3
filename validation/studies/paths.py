"""Theorems 4.6 and 4.7 along paths r0(k) that go to 0: the literal one, d = k^20, and a slower one.

Each point is what `mvsim verify midpoint/NUMBER --path PATH` says at one k, over seeds. The picture, figures/paths.png, has the fraction of runs in
which each theorem holds. The constants of the proofs have exponents of k, with intervals from a bootstrap over seeds. Which steps of the proofs runs
contradict is counted over the same seeds; all steps, at more k and fewer seeds: study proof_map.

Some runs take very many steps. With ``--limit`` each run is interrupted after so long, and the theorem is undecided where it is so far. Constants of
such a run are no constants yet, and are left out.

Fails if a theorem is contradicted at any point, or a run stops or is not the flow that it says it is.
"""

from __future__ import annotations

import argparse
import math
import re
import textwrap
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

from lib.bounds import BOUNDS, goes_against
from lib.limited import Limited, judged_within
from lib.readings import READ, called
from lib.runs import add_runs_option, followed_side_by_side, runs_of_present_code
from lib.tables import table
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from mvsim.judging.over_seeds import DECIDED, over_seeds
from mvsim.judging.over_sizes import exponent_of, measured_constants
from mvsim.judging.statement import Request
from mvsim.judging.verdict import BAD, STATUSES
from mvsim.numerics.intervals import clopper_pearson
from mvsim.papers.midpoint_mixup.assumptions import noise
from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence
from mvsim.papers.midpoint_mixup.judge_run import Judgement
from mvsim.papers.midpoint_mixup.over_runs import judgements_over_seeds
from mvsim.papers.midpoint_mixup.paths import path_in_k
from mvsim.papers.midpoint_mixup.theorems.theorems import THEOREMS
from mvsim.pictures.style import FIRST, MARK, styled

TITLE = "Along paths of the theorems"

FALLING = "r0=0.34*k^-0.22"
"""The default r0, which goes to 0."""

MANY = 2000
"""N of ERM at d = k^20, besides the default. It was chosen after runs with the default N had left Theorem 4.6 undecided."""


class Point(NamedTuple):
    """One theorem at one k on a path of `mvsim verify --path`, with other parameters."""

    theorem: str
    path: str
    k: int
    seeds: int
    fields: dict[str, Any]


def points() -> dict[str, Point]:
    """Return all points by name. The last has P delta3 >= 10 delta2, so that noise outweighs the signal for linear models.

    The least k is 6: at k = 4 the noise of a point holds 2 of the 3 other classes, and often tells the class by itself. ERM at d = k^20 is asked with
    2,000 points and with the default N. Margins grow to 100 there and noise is in the linear part of the activation; with the default N, views that
    are learned on all training points may then miss some of 200 fresh draws, which leaves Theorem 4.6 undecided.
    """
    found = [Point("4.6", "literal", k, 5, {}) for k in (6, 10)]
    for theorem in THEOREMS:
        of_literal = {"N": MANY} if theorem == "4.6" else {}
        found += [Point(theorem, "literal", k, seeds, of_literal) for k, seeds in ((6, 5), (10, 5), (20, 1))]
        found += [Point(theorem, FALLING, k, seeds, {}) for k, seeds in ((6, 30), (10, 30), (20, 10), (50, 5))]
        found.append(Point(theorem, FALLING, 10, 30, {"P": math.ceil(10.0 / (0.05 * 10**-1.5))}))
    return {f"{p.theorem} {p.path} k={p.k}{_with(p.fields)}": p for p in found}


def _with(fields: dict[str, Any]) -> str:
    return "".join(f" {name}={value}" for name, value in fields.items())


def measured(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """Ask the theorem at one point."""
    point, start, runs = points()[name], time.perf_counter(), runs_of_present_code(options.runs)
    seeds = point.seeds if options.seeds is None else options.seeds
    p = path_in_k(point.path)(point.k, **point.fields)
    if options.limit is None:
        followed_side_by_side(point.theorem, p, seeds, runs, options.follow)
        known = Limited(*judgements_over_seeds(point.theorem, p, Request(seeds, folder=runs, follow=options.follow)), interrupted=[])
    else:
        known = judged_within(options.limit, point.theorem, p, seeds, runs, options.follow)
    judgements, stopped, interrupted = known
    last_noise = [float(noise(Evidence(judgement.run))[-1]) for judgement in judgements]
    ends = [float(judgement.run.dataset["final_time"]) for judgement in judgements if _holds(judgement)]
    verdicts = over_seeds(f"Theorem {point.theorem}", p.k, judgements, len(stopped)) if judgements else []
    words = [f"midpoint/{point.theorem} --k {p.k} --path '{point.path}' --seeds {seeds}"]
    words += [f"--{field} {value}" for field, value in point.fields.items()] + ([] if options.follow else ["--no-follow"])
    for v in verdicts:
        if v.kind == "theorem" or v.status in BAD:
            print(f"{v.status:13} {v.name}: {v.measured} ({v.detail})", flush=True)
    constants = {part: [v for v in values if math.isfinite(v)] for part, values in measured_constants(known.finished).items()}
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
        "noise": max(last_noise, default=None),
        "ends": [min(ends), max(ends)] if ends else [],
        "verdicts": [v.as_dict() for v in verdicts],
        "constants": constants,
        "left_out": len(judgements) - len(known.finished),
    }


def _holds(judgement: Judgement) -> bool:
    statuses = {v.status for v in judgement.verdicts if v.kind == "theorem"} & set(DECIDED)
    return statuses == {"holds"}


def pictures(results: dict[str, Any]) -> dict[str, Figure]:
    return {"paths": picture(results)}


def options(parser: argparse.ArgumentParser) -> None:
    add_runs_option(parser)
    parser.add_argument("--only", nargs="+", choices=list(points()), default=list(points()), metavar="POINT", help=f"of {', '.join(points())}")
    parser.add_argument("--seeds", type=int, help="runs of each theorem, instead of the number of each point")
    parser.add_argument(
        "--limit", type=float, metavar="SECONDS", help="after which a run is interrupted, and judged as far as it came; by default never"
    )
    parser.add_argument("--no-follow", dest="follow", action="store_false", help="leave runs in which a feature is missing as they are")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    return options.file.measure_parts(options.only, lambda name: measured(name, options))


def _path(answer: dict[str, Any]) -> str:
    """Name the path of an answer: one theorem's, with the same other parameters at each k."""
    return f"{answer['theorem']}, {answer['path']}{_with(answer['fields'])}"


def _features(answer: dict[str, Any]) -> dict[str, Any] | None:
    return next((v for v in answer["verdicts"] if v["name"].startswith(f"Theorem {answer['theorem']} (features), k")), None)


def slopes(results: dict[str, Any]) -> dict[str, dict[str, tuple[float, float, float]]]:
    """Return the exponent of k in each measured constant, by its name and by path, with its interval from a bootstrap over seeds.

    A constant that is 0 or infinite in some run has no exponent, and what is measured besides constants of the proofs and times has none either.
    """
    by_path: dict[str, dict[str, dict[int, list[float]]]] = {}
    for answer in results.values():
        path = by_path.setdefault(_path(answer), {})
        for part, values in answer["constants"].items():
            if part.startswith(CONSTANTS) or part.endswith(LASTING):
                path.setdefault(part, {})[answer["k"]] = values
    found = {
        path: {
            part: exponent_of(dict(sorted(values.items())))
            for part, values in parts.items()
            if len(values) > 1 and all(of_k and min(of_k) > 0.0 for of_k in values.values())
        }
        for path, parts in by_path.items()
    }
    return {path: parts for path, parts in found.items() if parts}


def _classes(answer: dict[str, Any]) -> str:
    details = [v["detail"] for v in answer["verdicts"] if v["name"].startswith(f"Theorem {answer['theorem']} (features), classes")]
    return details[0].split(",")[0] if details else ""


CONSTANTS, LASTING = ("Claim", "Calculation", "Lemma", "Proposition", "Corollary"), "(what could undo it)"
"""What the names of constants of the proofs begin with, and that of a time ends with; results that were kept tell it by the names alone. Permanence
is none: at d = k^20 a trend at the end of a run is followed over 10^36 decades and more."""

LETTERS = 92
"""In a line of the title."""

PATHS = ("literal", FALLING)
"""The paths that are drawn."""

SHIFT = 0.17
"""Between two series at one k, in units of the distance from one k to the next, so that their intervals do not overlap."""

MARKERS: dict[tuple[str, tuple[str, ...]], str] = {("literal", ()): "s", ("literal", ("N",)): "^", (FALLING, ()): "o", (FALLING, ("P",)): "D"}
"""Of each path, with the names of other parameters. Colours tell methods, so all of them are black."""


CAPTION = (
    "Filled: holds; hollow: if every undecided run held. Bars: 95 % intervals, from the lower end of the one to\nthe upper end of the other. "
    "Line: the theorems say $1 - O(1/k)$, which is read with the constant 1, a convention."
)
"""Beneath the picture."""


class Share(NamedTuple):
    """The fraction of runs in which a theorem holds, undecided ones counted as failing and as holding, the interval, and whether any is decided."""

    holds: float
    at_most: float
    low: float
    high: float
    decided: bool


def _share(verdict: dict[str, Any]) -> Share:
    right, of, undecided = (int(verdict["count"][what]) for what in ("right", "of", "undecided"))
    low, high = clopper_pearson(right, of)[0], clopper_pearson(right + undecided, of)[1]
    return Share(right / of, (right + undecided) / of, low, high, undecided < of)


def picture(results: dict[str, Any]) -> Figure:
    """Draw the fraction of runs in which each theorem holds over k, a panel for each theorem."""
    ks, series = sorted({a["k"] for a in results.values()}), _series(results)
    with styled():
        figure = Figure(figsize=(6.8, 3.6), layout="constrained")
        panels = dict(zip(THEOREMS, figure.subplots(1, len(THEOREMS), sharey=True), strict=True))
        for number, axes in panels.items():
            axes.plot(range(len(ks)), [1.0 - 1.0 / k for k in ks], color=MARK, marker="_", linewidth=0.8)
            mine = [(path, fields, asked) for (theorem, path, fields), asked in series.items() if theorem == number]
            for place, (path, fields, asked) in enumerate(mine):
                shift = SHIFT * (place - 0.5 * (len(mine) - 1))
                _points(axes, {ks.index(a["k"]) + shift: _share(v) for a in asked if (v := _features(a))}, _marker(path, fields))
            axes.set(title=f"Theorem {number}", xlabel="$k$", xlim=(-0.5, len(ks) - 0.5), ylim=(-0.02, 1.05))
            axes.set_xticks(range(len(ks)), [str(k) for k in ks])
        panels["4.6"].set_ylabel("fraction of runs in which it holds")
        drawn = {_label(path, fields): _marker(path, fields) for _, path, fields in series}
        handles = [Line2D([], [], color=FIRST, marker=marker, linestyle="", markersize=5, label=label) for label, marker in sorted(drawn.items())]
        handles += [Line2D([], [], color=MARK, linewidth=0.8, label="$1 - 1/k$")]
        look = {"fontsize": 8, "title_fontsize": 8, "columnspacing": 1.2}
        figure.legend(handles=handles, loc="outside lower left", ncols=len(handles), title=CAPTION, alignment="left", **look)
        figure.suptitle(textwrap.fill(_message(results), LETTERS), x=0.01, ha="left")
        return figure


def _undecided(answer: dict[str, Any]) -> int:
    verdict = _features(answer)
    return int(verdict["count"]["undecided"]) if verdict and verdict["count"] else 0


def _points(axes: Axes, shares: dict[float, Share], marker: str) -> None:
    """Draw fractions with their intervals, by their places: a filled mark if any run is decided, a hollow one if any is not."""
    for place, share in shares.items():
        axes.plot([place, place], [share.low, share.high], color=FIRST, linewidth=0.9)
        if share.at_most > share.holds:
            axes.plot(place, share.at_most, color=FIRST, marker=marker, markersize=5, markerfacecolor="white")
        if share.decided:
            axes.plot(place, share.holds, color=FIRST, marker=marker, markersize=5)


def _series(results: dict[str, Any]) -> dict[tuple[str, str, tuple[tuple[str, Any], ...]], list[dict[str, Any]]]:
    """Return the answers by theorem, path and other parameters, in the order of the paths; without those on other paths."""
    series: dict[tuple[str, str, tuple[tuple[str, Any], ...]], list[dict[str, Any]]] = {}
    for number in THEOREMS:
        for path in PATHS:
            for answer in results.values():
                if (answer["theorem"], answer["path"]) == (number, path):
                    series.setdefault((number, path, tuple(sorted(answer["fields"].items()))), []).append(answer)
    return series


def _marker(path: str, fields: Iterable[tuple[str, Any]]) -> str:
    return MARKERS[path, tuple(name for name, _ in fields)]


def _label(path: str, fields: Iterable[tuple[str, Any]]) -> str:
    return f"{_typeset(path)}{''.join(f', ${name} = {value}$' for name, value in fields)}"


def _message(results: dict[str, Any]) -> str:
    """Say what there is to see: at how many points the theorems are contradicted, and at how many established."""
    found = [v["status"] for answer in results.values() if (v := _features(answer))]
    against, established = sum(status in BAD for status in found), found.count("established")
    if against:
        return f"{against} of {len(found)} points contradict Theorem 4.6 or 4.7"
    few = "any point" if not established else "one point" if established == 1 else f"{established} points"
    return f"Too few runs to establish {'' if not established else 'more than '}{few}; none of {len(found)} contradicts Theorem 4.6 or 4.7"


def _typeset(path: str) -> str:
    power = re.fullmatch(r"r0=([\d.]+)\*k\^(-?[\d.]+)", path)
    return rf"$r_0 = {power[1]}\, k^{{{power[2]}}}$" if power else "$d = k^{20}$" if path == "literal" else path


def judge(results: dict[str, Any]) -> list[str]:
    faults = [
        f"{point}: {v['name']} is {v['status']}"
        for point, answer in results.items()
        for v in answer["verdicts"]
        if v["kind"] in ("theorem", "evidence") and v["status"] in BAD
    ]
    return faults + [f"{point}: {stopped}" for point, answer in results.items() for stopped in answer["stopped"]]


def quotes(results: dict[str, Any]) -> list[str]:
    """Return what the README says of both theorems, and of the steps of the proofs that runs contradict.

    Of a theorem: the runs that hold, fail and are undecided, at the default r0, k = 10 and 6, and at d = k^20.
    """

    def counted(answers: Iterable[dict[str, Any]]) -> str:
        counts = [(_features(answer) or {})["count"] for answer in answers]
        right, of, undecided = (sum(count[what] for count in counts) for what in ("right", "of", "undecided"))
        return f"{right} | {of - right - undecided} | {undecided} |"

    default = [f"| {k} | default | {counted([results[f'{number} {FALLING} k={k}']])}" for number in ("4.6", "4.7") for k in (10, 6)]
    asked: dict[str, tuple[str, dict[str, Any]]] = {f"4.6 at d = k^20, N = {MANY}": ("4.6", {"N": MANY}), "4.7 at d = k^20": ("4.7", {})}
    literal = {
        said: [a for a in results.values() if (a["theorem"], a["path"], a["fields"]) == (number, "literal", fields)]
        for said, (number, fields) in asked.items()
    }
    points = [answer for answers in literal.values() for answer in answers]
    ks, r0 = sorted(answer["k"] for answer in points), f"{max(answer['r0'] for answer in points):.0e}".replace("e-0", "e-")
    rows = [f"{said} | {ks[0]} to {ks[-1]} | {r0} and less | {counted(answers)}" for said, answers in literal.items()]
    at_default = [a for a in results.values() if (a["theorem"], a["path"], a["fields"]) == ("4.6", "literal", {})]
    right, failed, undecided = (int(count) for count in counted(at_default).split("|")[:3])
    by_default = f"With the default N {right} of {right + failed + undecided} runs of 4.6 hold at d = k^20, {undecided} are undecided"
    return [*default, *rows, by_default, *_quoted_steps(results), f"(default {results[f'4.6 {FALLING} k=10']['r0']:.1g} at k = 10)"]


def headline(results: dict[str, Any]) -> str:
    found = {name: v["status"] for name, answer in results.items() if (v := _features(answer))}
    if not found:
        return "No point is decided"
    against = sum(status in BAD for status in found.values())
    begins = f"{against or 'No'} point{'s' if against > 1 else ''} contradict{'s' if against <= 1 else ''} Theorem 4.6 or 4.7"
    places = {status: [_place(results[name]) for name in found if found[name] == status] for status in STATUSES}
    told = [_told(status, names) for status, names in places.items() if names]
    return f"{begins}; of {len(found)} points {', '.join(told)}"


def _place(answer: dict[str, Any]) -> str:
    path = {"literal": "d = k^20", FALLING: "default r0"}.get(answer["path"], answer["path"])
    return f"Theorem {answer['theorem']} at k = {answer['k']}, {path}{_with(answer['fields'])}"


def _told(status: str, names: list[str]) -> str:
    where = "" if status == "consistent" else f" ({', '.join(names)})"
    said = f"{status} for that k" if status == "established" else status
    return f"{len(names)} {'is' if len(names) == 1 else 'are'} {said}{where}"


def contradicted(results: dict[str, Any]) -> dict[str, dict[str, tuple[int, int]]]:
    """Return the steps of the proofs that some run contradicts: at each point in how many runs, and in how many they are decided."""
    found: dict[str, dict[str, tuple[int, int]]] = {}
    for point, answer in results.items():
        for verdict in answer["verdicts"]:
            count = verdict["count"]
            if verdict["kind"] == "step" and count and count["what"] == "runs":
                decided = int(count["of"]) - int(count["undecided"])
                found.setdefault(verdict["name"].rsplit(", k = ", 1)[0], {})[point] = (decided - int(count["right"]), decided)
    return {step: at for step, at in found.items() if any(against for against, _ in at.values())}


def _over_points(at: dict[str, tuple[int, int]], results: dict[str, Any], path: str = "") -> tuple[int, int]:
    """Add up the runs that contradict a step and those that decide it, over all points or over those of a path."""
    chosen = [counts for point, counts in at.items() if path in ("", results[point]["path"])]
    return sum(against for against, _ in chosen), sum(decided for _, decided in chosen)


def _quoted_steps(results: dict[str, Any]) -> list[str]:
    """Say in how many runs steps are contradicted: those that all runs contradict together, of the others at the default r0 and at d = k^20."""
    always: dict[int, list[str]] = {}
    sometimes = []
    for step, at in contradicted(results).items():
        wrong, decided = _over_points(at, results)
        name = " ".join([step.split()[1], *([READ[step]] if step in READ else [])])
        if wrong == decided:
            always.setdefault(decided, []).append(name)
        else:
            default, literal = (" of ".join(map(str, _over_points(at, results, path))) for path in (FALLING, "literal"))
            sometimes.append(f"{default} {name} at default r0, {literal} at d = k^20")
    return [f"All {runs} runs of Midpoint Mixup contradict step {', and '.join(names)}" for runs, names in always.items()] + sometimes


def passage(results: dict[str, Any]) -> str:
    rows = []
    for answer in map(results.__getitem__, _in_order(results)):
        if v := _features(answer):
            loud = "" if answer.get("noise") is None else f"{answer['noise']:.3g}"
            cells = [_counted(v, answer), _classes(answer), _ends(answer), f"**{v['status']}**"]
            rows.append([f"`{answer['command']}`", f"{answer['r0']:.3g}", loud, *cells])
    heads = ["command", "r0", "V Q delta4 max c / rho", "runs in which the part about features holds", CLASSES, "those that hold end at t", "verdict"]
    return (
        "![Fraction of runs in which the theorems hold, over k](../figures/paths.png)\n\n"
        "A theorem is asked at several k on each path, over seeds, with the command in the table. It says 1 - O(1/k) of the probability with which "
        "it holds; that is read as 1 - 1/k, with the constant 1, a convention. The proofs suppose V Q delta4 max c / rho << 1, so that noise stays "
        "in the polynomial part of the activation; the table has its value at the end, the largest over runs. Runs in which the theorem holds end "
        "soon after they have settled, and some of them change later (study `theorems`); those in which something is missing are followed longer. "
        "Undecided runs count as not holding. "
        f"ERM at d = k^20 has N = {MANY}, chosen after runs with the default N, which are in the table, too, had left the theorem "
        "undecided. With P = 6325 the noise of a point outweighs its signal for linear models.\n\n"
        + table(heads, rows)
        + _steps_passage(results)
        + _slopes_passage(results)
    )


def _in_order(results: dict[str, Any]) -> list[str]:
    """Return the points as tables have them: by theorem, then by path, then by k."""
    return sorted(results, key=lambda point: (results[point]["theorem"], results[point]["path"], results[point]["k"]))


def _ends(answer: dict[str, Any]) -> str:
    ends = answer.get("ends", [])
    return " to ".join(dict.fromkeys(f"{end:.2g}" for end in ends))


CLASSES = "classes with the theorem's number of features"
"""A column of the table."""


def _steps_passage(results: dict[str, Any]) -> str:
    found = contradicted(results)
    points = [point for point in _in_order(results) if any(point in at for at in found.values())]
    if not points:
        return "\nNo run contradicts a step of the proofs.\n"
    totals = {step: [" of ".join(map(str, _over_points(at, results, path))) for path in (FALLING, "literal")] for step, at in found.items()}
    told = "; ".join(f"{called(step)}: {default} at the default r0, {literal} at d = k^20" for step, (default, literal) in totals.items())
    rows = [[called(step), *(" of ".join(map(str, at[point])) if point in at else "" for point in points)] for step, at in found.items()]
    return (
        f"\nRuns that contradict a step of the proofs, of those that decide it: {told}. Steps that no run contradicts are left out. An "
        "interrupted run counts as far as it has come.\n\n" + table(["step", *(_place(results[point]) for point in points)], rows)
    )


def _counted(verdict: dict[str, Any], answer: dict[str, Any]) -> str:
    """Say in how many runs a theorem holds, in how many it is undecided, and which runs did not come to their end."""
    told = [verdict["detail"].split(";")[0]]
    told += [f"{_undecided(answer)} undecided"] if _undecided(answer) else []
    told += [f"interrupted: {', '.join(answer['interrupted'])}"] if answer.get("interrupted") else []
    return "; ".join(told)


LEAST_EXPONENT, ROUNDING = 0.1, 1e-6
"""Exponent beyond which a constant is said to go against its bound; less may be that of a logarithm. And one below which it is that of rounding."""


def _wrong(found: dict[str, dict[str, tuple[float, float, float]]]) -> dict[str, list[str]]:
    """Return by path the constants whose exponents go against the bound of the paper."""
    wrong = {path: [part for part, (_, low, high) in parts.items() if goes_against(part, low, high, LEAST_EXPONENT)] for path, parts in found.items()}
    return {path: parts for path, parts in wrong.items() if parts}


def _against(found: dict[str, dict[str, tuple[float, float, float]]]) -> str:
    wrong = "; ".join(f"along {path}: {', '.join(parts)}" for path, parts in _wrong(found).items()) or "none"
    return f"Against the bound of the paper, beyond {LEAST_EXPONENT:g} with the whole 95 % interval: {wrong}."


def _exponent(exponent: tuple[float, float, float] | None, measured: bool) -> str:
    """Return an exponent with its interval, 0 if all of it is rounding; without one say whether the constant is measured."""
    if exponent is None:
        return "none" if measured else ""
    slope, low, high = exponent
    return "0" if max(map(abs, exponent)) < ROUNDING else f"{slope:.2g} [{low:.2g}, {high:.2g}]"


def _slopes_passage(results: dict[str, Any]) -> str:
    found = slopes(results)
    if not found:
        return ""
    asked = {path: sorted((a for a in results.values() if _path(a) == path and a["constants"]), key=lambda a: a["k"]) for path in found}
    measured = {path: [name for name in BOUNDS if sum(name in a["constants"] for a in answers) > 1] for path, answers in asked.items()}
    heads = [f"{path} (k = {', '.join(str(a['k']) for a in answers)})" for path, answers in asked.items()]
    names = [name for name in BOUNDS if any(name in of_path for of_path in measured.values())]
    cells = [[name, BOUNDS[name].side, *(_exponent(parts.get(name), name in measured[path]) for path, parts in found.items())] for name in names]
    return (
        f"\n{_against(found)} The table has the exponents: of each constant the median over seeds is taken at every k, and a power of k is "
        f"fitted to the medians. Constants of interrupted runs are left out. "
        "Intervals are 95 %, from a bootstrap over seeds; where a k has one run, they do not contain its "
        'spread, and two k fix a line whatever the law. "None": the constant is 0 or less, or infinite, in some run. A constant that the paper '
        "bounds from above may fall with k, and one that it bounds from below may grow.\n\n" + table(["constant", "bounded from", *heads], cells)
    )
