"""Theorems 4.6 and 4.7 over 20 seeds at k = 10, r0 = 0.15; 4.6 again much later; then the negative controls.

Fails unless ERM learns exactly one feature in at least 95 % of classes, midpoint both features of every class in at least 19 of 20 runs, the winner
is predicted in at least 90 % of the classes whose initial separation satisfies Claim B.10, and every control turns. Other k, and the paths r0(k): the
study paths. Runs are kept and found again.
"""

from __future__ import annotations

import argparse
import math
import re
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from lib.readings import called
from lib.runs import add_runs_option, all_over_seeds, followed_side_by_side, runs_of_present_code
from lib.tables import table

import mvsim
from mvsim.judging.over_seeds import over_seeds
from mvsim.judging.statement import Request, Section
from mvsim.judging.verdict import BAD
from mvsim.numerics.intervals import clopper_pearson
from mvsim.papers.midpoint_mixup import judge_run
from mvsim.papers.midpoint_mixup.over_runs import OnRuns
from mvsim.papers.midpoint_mixup.paper import run_controls
from mvsim.papers.midpoint_mixup.theorems.definition import learned_features

TITLE = "Do the theorems hold?"

QUESTIONS: dict[str, tuple[list[str], mvsim.Parameters, int]] = {
    "k=10": (["4.6", "4.7"], mvsim.Parameters(k=10, d=20_000), 20),
}
"""What is asked: theorems, parameters, seeds."""


IDENTITIES = ("Calculation", "Lemma", "Proposition", "Corollary A", "Gradient flow", "Records", "Replay")
"""What these names begin is true in every run or not true at all; results that were kept tell it by the names alone."""

LATER, AT_LATER, LATER_SAID = 1e12, "k=10, t=1e12", "10^12"
"""In the slowest of the runs of ERM at k = 10, some thousand times the time of the last change; in most much more."""


def for_all_later_times(runs: Path) -> tuple[list[Section], dict[str, int]]:
    """Judge Theorem 4.6 at k = 10 again at `LATER`, and count classes: what is so when a run has settled has to stay so."""
    _, p, seeds = QUESTIONS["k=10"]
    followed = all_over_seeds(runs, p, "erm", seeds, t_end=LATER)
    judged = [judge_run.judge(run, "4.6", everything=False) for run in followed]
    return [Section(f"Theorem 4.6, k = 10, {seeds} seeds, t = {LATER:g}", over_seeds("Theorem 4.6", 10, judged))], classes_of(followed)


def classes_of(runs: list[mvsim.Run]) -> dict[str, int]:
    """Count the classes of some runs by the features they have at the end; and those that have lost one, or have a second one on a part of D."""
    learned = [learned_features(run) for run in runs]
    number, lost, partly = (
        np.concatenate([of(each) for each in learned])
        for of in (lambda each: each.by_definition.sum(axis=1), lambda each: each.lost.any(axis=1), lambda each: each.partly.any(axis=1))
    )
    return {
        "one": int((number == 1).sum()),
        "both": int((number == 2).sum()),
        "none": int((number == 0).sum()),
        "lost": int(lost.sum()),
        "second on a part": int((partly & (number == 1)).sum()),
    }


def command(theorems: list[str], p: mvsim.Parameters, seeds: int) -> str:
    """Return the command that asks the same."""
    given = "".join(f" --{name} {value}" for name, value in (("d", p.d), ("N", p.N)) if value != getattr(mvsim.Parameters(k=p.k), name))
    return "mvsim verify " + " ".join(f"midpoint/{number}" for number in theorems) + f" --k {p.k}{given} --seeds {seeds}"


def missed(name: str, answer: dict[str, Any]) -> list[str]:
    """Return which figures an answer misses."""
    verdicts = verdicts_of(answer)
    if name == "controls":
        return [v["name"] for v in verdicts if v["status"] != "holds"]
    wrong = [v["name"] for v in verdicts if v["status"] in BAD and v["name"].startswith(IDENTITIES)]
    bounds = {"Theorem 4.6 (features), classes": 0.95}
    if name != AT_LATER:
        bounds |= {"Theorem 4.7 (features), k": 0.95, "Claim B.10 (winner)": 0.9}
    for part, bound in bounds.items():
        measured = [v["measured"] for v in verdicts if v["name"].startswith(part)]
        if not measured or any(value is None or not float(value) >= bound for value in measured):  # what is not finite is a text in JSON
            wrong.append(f"{part} < {bound}")
    return wrong


def verdicts_of(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the verdicts of an answer, of each name the last one."""
    return list({v["name"]: v for section in answer["sections"] for v in section["verdicts"]}.values())


def answered(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """Ask one question, and print the answer."""
    runs, start, classes = runs_of_present_code(options.runs), time.perf_counter(), dict[str, int]()
    if name == "controls":
        sections, asked = list(run_controls(runs)), "mvsim verify --controls"
    elif name == AT_LATER:
        (sections, classes), asked = for_all_later_times(runs), "python validation/run.py theorems"
    else:
        theorems, p, seeds = QUESTIONS[name]
        for number in theorems:
            followed_side_by_side(number, p, seeds, runs, options.follow)
        how = Request(seeds, folder=runs, follow=options.follow)
        sections = [section for number in theorems for section in OnRuns(number).sections([], [p], how)]
        asked = command(theorems, p, seeds) + ("" if options.follow else " --no-follow")
    answer = {
        "command": asked,
        "seconds": time.perf_counter() - start,
        "sections": [{"title": s.title, "verdicts": [v.as_dict() for v in s.verdicts]} for s in sections],
        "classes": classes,
    }
    for v in verdicts_of(answer):
        if v["status"] != "measured":
            print(f"{v['status']:13} {v['name']}: {v['measured']} ({v['detail']})", flush=True)
    print(f"{name}: {answer['seconds']:.0f} s", flush=True)
    return answer | {"missed": missed(name, answer)}


def options(parser: argparse.ArgumentParser) -> None:
    add_runs_option(parser)
    names = [*QUESTIONS, AT_LATER, "controls"]
    parser.add_argument("--only", nargs="+", choices=names, default=names, help="questions to ask; the answers to the others stay")
    parser.add_argument("--no-follow", dest="follow", action="store_false", help="leave runs in which a feature is missing as they are")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    return options.file.measure_parts(options.only, lambda name: answered(name, options))


def judge(results: dict[str, Any]) -> list[str]:
    return [f"{name}: {fault}" for name, answer in results.items() for fault in missed(name, answer)]


class Row(NamedTuple):
    """A row of the table: what became of a statement in the runs of a question."""

    where: str
    statement: str
    needed: float
    right: int
    undecided: int
    of: int
    classes: str
    verdict: str

    @property
    def fails(self) -> int:
        """In how many runs it fails."""
        return self.of - self.right - self.undecided

    @property
    def runs(self) -> str:
        """In how many runs it holds, with the interval, and what became of the others."""
        low, high = clopper_pearson(self.right, self.of)
        others = [f"{count} {word}" for count, word in ((self.fails, "failing"), (self.undecided, "undecided")) if count]
        return "; ".join([f"{self.right} of {self.of}, [{low:.3f}, {high:.3f}]", *others])

    @property
    def told(self) -> str:
        """The same in a sentence, without the interval."""
        if self.right == self.of:
            return f"{self.statement} holds in {self.right} of {self.of} runs"
        others = [f"fails in {self.fails}"] * bool(self.fails) + [f"is undecided in {self.undecided}"] * bool(self.undecided)
        return f"{self.statement} {' and '.join([', '.join([f'holds in {self.right}', *others[:-1]]), others[-1]])} of {self.of} runs"


def _rows(results: dict[str, Any]) -> list[Row]:
    """Return what was decided over runs: the parts of theorems and the claim about winners, and every step that is contradicted."""
    rows = []
    for name, answer in sorted(results.items()):
        verdicts = verdicts_of(answer) if name != "controls" else []
        for v in verdicts:
            count, named = v["count"], v["name"].startswith(("Theorem", "Claim B.10"))
            if count and count["what"] == "runs" and (named or v["status"] in BAD):
                right, runs, undecided = (int(count[part]) for part in ("right", "of", "undecided"))
                statement = v["name"].rsplit(", k = ", 1)[0]
                rows.append(Row(_where(name), statement, v["bound"], right, undecided, runs, _classes(verdicts, v["name"]), v["status"]))
    return rows


def _where(name: str) -> str:
    p = QUESTIONS["k=10" if name == AT_LATER else name][1]
    return f"{p.k}, {p.r0:.2g}" + (f", followed to t = {LATER_SAID}" if name == AT_LATER else "")


def _classes(verdicts: list[dict[str, Any]], name: str) -> str:
    """Return in how many classes of all runs a part of a theorem is as it says, where that is counted."""
    counts = [v["count"] for v in verdicts if v["name"] == name.replace(", k =", ", classes of all runs, k =")]
    return f"{counts[0]['right']} of {counts[0]['of']}" if counts else ""


def citations(results: dict[str, Any]) -> dict[str, list[str]]:
    counts = results[AT_LATER]["classes"]
    return {
        "limits.md": [
            f"{counts['none']} of {sum(counts[name] for name in ('one', 'both', 'none'))} classes of ERM are without a feature at t = {LATER_SAID}"
        ]
    }


def headline(results: dict[str, Any]) -> str:
    rows = _rows(results)
    by_place: dict[str, list[str]] = {}
    for row in rows:
        if re.fullmatch(r"Theorem \d\.\d", row.statement):
            by_place.setdefault(row.where, []).append(row.told)
    told = [f"k = {where.replace(', ', ', r0 = ', 1)}: {', '.join(said)}" for where, said in by_place.items()]
    told += _classes_later(results)
    steps = dict.fromkeys(called(row.statement) for row in rows if row.verdict in BAD)
    return "; ".join(told) + (f"; contradicted: {', '.join(steps)}" if steps else "")


def _classes_later(results: dict[str, Any]) -> list[str]:
    """Say in how many classes Theorem 4.6 is so at `LATER`, and how many the study asks for where that is missed."""
    if AT_LATER not in results:
        return []
    count = _verdict(results, AT_LATER, "Theorem 4.6 (features), classes of all runs, k = 10")["count"]
    right, of = int(count["right"]), int(count["of"])
    asked = [fault.partition(" < ")[2] for fault in missed(AT_LATER, results[AT_LATER]) if fault.startswith("Theorem 4.6 (features), classes")]
    needed = f" (the study asks for {asked[0]}, so {math.ceil(float(asked[0]) * of)})" if asked else ""
    return [f"{right} of {of} classes have one feature then{needed}"]


def passage(results: dict[str, Any]) -> str:
    rows = _rows(results)
    cells = [(r.where, called(r.statement), f"{r.needed:.3g}", r.runs, r.classes, f"**{r.verdict}**") for r in rows]
    text = (
        "A theorem is to hold in a run with probability 1 - O(1/k), which is read as at least 1 - 1/k: the constant 1 is a convention. Established: "
        "the whole interval of that probability lies there; consistent: the interval contains 1 - 1/k, and the fraction of runs is "
        "no less; contradicted: the whole interval lies below. Undecided runs count as runs in which it does not hold; inconclusive: the fraction is "
        "less than 1 - 1/k and the interval contains it, or the verdict would be another one if undecided runs counted as runs in which it holds.\n\n"
    )
    text += table(["k, r0", "statement", "needed (1 - 1/k)", "runs in which it holds, 95 % interval", "classes of all runs", "verdict"], cells)
    if counts := results.get(AT_LATER, {}).get("classes"):
        one, both, none, lost, second = (counts[name] for name in ("one", "both", "none", "lost", "second on a part"))
        text += (
            f"\nWhat becomes of the classes of ERM by t = {LATER_SAID}: {one} have exactly one feature, {both} both, {none} none. {lost} have lost a "
            f"feature that a saved state had. {second} have one feature, and a second one on a part of the draws.\n"
        )
    if "controls" in results:
        text += _controls_passage(results["controls"])
    return text


def _controls_passage(controls: dict[str, Any]) -> str:
    verdicts = verdicts_of(controls)
    wrong = [verdict["name"].removeprefix("Control: ") for verdict in verdicts if verdict["status"] != "holds"]
    return (
        f"\nCases that were altered so that their check has to fail, and some that were not (`mvsim verify --controls`): "
        f"{len(verdicts) - len(wrong)} of {len(verdicts)} checks say what they must{'; others: ' if wrong else ''}{', '.join(wrong)}.\n"
    )


def _verdict(results: dict[str, Any], question: str, name: str) -> dict[str, Any]:
    (verdict,) = (v for v in verdicts_of(results[question]) if v["name"] == name)
    return verdict


def quotes(results: dict[str, Any]) -> list[str]:
    """Return what the README says of both theorems.

    Rows from k to the runs that hold, fail and are undecided; then what became of classes.
    """
    p = QUESTIONS["k=10"][1]
    asked = ((name, f"Theorem {number} (features), k = 10") for name, number in (("k=10", "4.6"), (AT_LATER, "4.6"), ("k=10", "4.7")))
    counts = [_verdict(results, name, part)["count"] for name, part in asked]
    fails = [count["of"] - count["right"] - count["undecided"] for count in counts]
    rows = [f"| {p.k} | {p.r0:.2g} | {count['right']} | {failed} | {count['undecided']} |" for count, failed in zip(counts, fails, strict=True)]
    right, of = _classes(verdicts_of(results["k=10"]), "Theorem 4.6 (features), k = 10").split(" of ")
    late = results[AT_LATER]["classes"]
    told = (
        f"Of the first row's {of} classes, {right} have exactly one feature when their runs settle; "
        f"at t = {LATER_SAID} {late['one']} have one, {late['none']} none."
    )
    return [*rows, told]
