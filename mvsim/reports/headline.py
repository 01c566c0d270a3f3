"""The answer in a few sentences, for reports and for `mvsim verify`: each theorem with its outcome, then how many checks of the runs passed."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from mvsim.judging.verdict import BAD, STATUSES, Count, Status, Verdict, exit_code
from mvsim.judging.words import BETWEEN_REGIMES, conclusion, margin_text
from mvsim.papers.midpoint_mixup.claims import CLAIMS
from mvsim.papers.midpoint_mixup.question import asked_of
from mvsim.papers.midpoint_mixup.section_3.results import RESULTS
from mvsim.papers.midpoint_mixup.theorems import THEOREMS
from mvsim.papers.midpoint_mixup.verify import Section

MOST = 3
"""Runs, or parts, that are named with one outcome."""

LEARNED = {"4.6": "ERM learned exactly one feature", "4.7": "Midpoint Mixup learned both features"}
"""What the features of a theorem are about."""

SAID: dict[Status, str] = {
    "fails": "fails",
    "contradicted": "is contradicted by the runs",
    "inconclusive": "is undecided",
    "consistent": "is consistent with the runs but not established",
    "established": "is established (probability at least 1 - 1/k, to the end of the runs)",
    "holds": "holds",
}
"""What became of a theorem, by its status."""

_SIZE = re.compile(r", \d+ (?:runs?|seeds?)$")
_ASSUMED = "what the theorems assume"


def answer_sentences(sections: Sequence[Section], question: Mapping[str, Any] | None = None, code: int | None = None) -> list[str]:
    """Return the answer to a question.

    Parameters
    ----------
    sections : sequence of Section
        All verdicts.
    question : mapping, optional
        What was asked, as `mvsim.papers.midpoint_mixup.question.Question.as_dict` has it; by default the theorems.
    code : int, optional
        Exit code of the answer, by default that of the verdicts.

    Returns
    -------
    list of str
        A sentence on each theorem that was judged, or on each result of Section 3, then on the steps that were asked for, on the controls, and on the
        checks of the runs. Empty if there are no verdicts.
    """
    asked = [(section.title, asked_of(question or {}, section.verdicts)) for section in sections]
    verdicts = [verdict for _, mine in asked for verdict in mine]
    if not verdicts:
        return []
    sentences = [*_of_theorems(asked), *_of_results(verdicts), *_of_steps(verdicts), *_of_controls(verdicts)]
    if not sentences:
        words = conclusion(exit_code(verdicts) if code is None else code, verdicts)
        sentences = [f"{words[0].upper()}{words[1:]}."]
    numbers = {verdict.number for verdict in verdicts}
    sentences += [not_about(number) for number in (question or {}).get("claims", []) if number not in numbers]
    checks = run_checks(verdicts)
    return [*sentences, f"{checks}."] if checks else sentences


def not_about(number: str) -> str:
    """Say of a step that was asked for and is not about what was judged which losses it is about."""
    mine = [claim for claim in CLAIMS.values() if claim.number == number]
    losses = [words for words, of in (("single points (ERM)", "erm"), ("mixed points", "mixing")) if any(getattr(claim, of) for claim in mine)]
    return f"{number} is about losses of {losses[0]}: nothing is said of it here." if len(losses) == 1 else f"{number} is not about what was judged."


def classes_text(features: Verdict) -> str:
    """Return in how many classes the features are as a theorem says, given its verdict on them; empty where it counts no classes."""
    count = features.count
    return f"{LEARNED.get(features.number, 'as it says')} in {count}" if count is not None and count.what == "classes" else ""


def run_checks(verdicts: Iterable[Verdict]) -> str:
    """Return how many checks of whether runs are what they say they are passed, and which did not; empty if there were none."""
    decided = [v for v in verdicts if v.kind == "evidence" and v.status not in ("measured", "not applicable")]
    wrong = [f"{v.name} {SAID.get(v.status, v.status)}" for v in decided if v.status in BAD or v.status == "inconclusive"]
    told = f"{len(decided) - len(wrong)} of {len(decided)} checks of the runs passed"
    return "" if not decided else f"{told}: {_first(wrong)}" if wrong else told


def regime_words(label: str) -> str:
    """Return the regime of verdicts, short: "d below k^20; 5 more departures"."""
    labels = label.split(BETWEEN_REGIMES)
    each = [_departures(one) for one in labels]
    if not all("d" in names for names in each):
        told = [f"departs in {', '.join(names)}" if names else one for names, one in zip(each, labels, strict=True)]
        return BETWEEN_REGIMES.join(dict.fromkeys(told))
    more = len({name for names in each for name in names}) - 1
    return "d below k^20" + (f"; {more} more departure{'s' * (more > 1)}" if more else "")


def regime_sentence(label: str) -> str:
    """Return the regime of verdicts as a sentence."""
    departs = [_departures(one) for one in label.split(BETWEEN_REGIMES)]
    if not any(departs):
        return f"As {_ASSUMED.removeprefix('what ')}, all hidden constants 1."
    told = " or ".join(dict.fromkeys(_and(names) if names else "nothing" for names in departs))
    return f"Departs from {_ASSUMED} in {told}."


def short_margin(verdict: Verdict) -> str:
    """Return the margin of a verdict in per cent of the bound; nothing where that says nothing: at 0, from 100 % on, and beside a bound of 0."""
    if verdict.margin is None or not verdict.bound or not 0.005 <= abs(verdict.margin) < 0.995:
        return ""
    return margin_text(verdict)


def _departures(label: str) -> list[str]:
    """Return what departs, by the label of a regime, which `mvsim.multi_view.parameters.regime_label` writes."""
    names = label.partition(": ")[2]
    return names.split(", ") if names else []


def _of_theorems(asked: Sequence[tuple[str, Collection[Verdict]]]) -> list[str]:
    """Return a sentence on each outcome of each theorem, the worst outcome of a theorem first."""
    found: dict[tuple[str, Status], list[str]] = {}
    for title, verdicts in asked:
        for number in dict.fromkeys(v.number for v in verdicts if v.kind == "theorem" and v.number in THEOREMS):
            parts = [v for v in verdicts if v.kind == "theorem" and v.number == number and _decides(v)]
            if parts:
                status = next(status for status in STATUSES if any(v.status == status for v in parts))
                found.setdefault((number, status), []).append(f"{_where(title, number)} {_by_what(parts)}".strip())
    order = sorted(found, key=lambda key: (key[0], STATUSES.index(key[1])))
    return [f"Theorem {number} {SAID.get(status, status)} {_first(found[number, status])}".rstrip() + "." for number, status in order]


def _decides(v: Verdict) -> bool:
    """Whether a verdict says if a theorem holds: measured constants and the trend in k do not."""
    return v.status not in ("measured", "not applicable")


def _where(title: str, number: str) -> str:
    """Return where a theorem was judged: in a file, or at which parameters."""
    if not title:
        return ""
    over_seeds = title.startswith(f"Theorem {number}")
    place = _SIZE.sub("", title.removeprefix(f"Theorem {number}").removeprefix(", ")) if over_seeds else title
    return f"{'at' if over_seeds else 'in'} {place}" if place else ""


def _by_what(parts: Sequence[Verdict]) -> str:
    """Return in brackets by what a theorem was decided: the count of runs, or of classes, and training accuracy if that is what is wrong."""
    by_part = {v.part: v for v in parts}
    if "" in by_part:
        return _runs_text(by_part[""].count)
    told = []
    if "features" in by_part and (words := classes_text(by_part["features"])):
        told.append(words)
    accuracy = by_part.get("training accuracy")
    if accuracy is not None and accuracy.status != "holds" and accuracy.measured is not None:
        told.append(f"training accuracy {accuracy.measured:.4g}")
    return f"({', '.join(told)})" if told else ""


def _runs_text(count: Count | None) -> str:
    """Return in brackets in how many runs a theorem holds; nothing if none was counted."""
    if count is None:
        return ""
    return f"(holds in {count}{f', {count.undecided} undecided' if count.undecided else ''})"


def _of_results(verdicts: Collection[Verdict]) -> list[str]:
    """Return a sentence on each result of Section 3, and on Proposition 4.4: which of its parts fail, and which hold."""
    found: dict[str, dict[Status, list[str]]] = {}
    for v in verdicts:
        if v.kind == "theorem" and v.number in RESULTS and v.status != "measured":
            parts, part = found.setdefault(RESULTS[v.number].name, {}).setdefault(v.status, []), v.part or "as a whole"
            parts += [part] if part not in parts else []
    return [f"{name}: {'; '.join(f'{status} ({_and(of[status])})' for status in STATUSES if status in of)}." for name, of in found.items()]


def _of_steps(verdicts: Collection[Verdict]) -> list[str]:
    """Return what became of the steps that were asked for."""
    steps = [v for v in verdicts if v.kind == "step"]
    told = []
    for status in STATUSES:
        names = [v.name for v in steps if v.status == status]
        told += [f"{len(names)} {status}" + (f" ({_first(names)})" if status in BAD or status == "inconclusive" else "")] if names else []
    return [f"Steps that were asked for: {', '.join(told)}."] if told else []


def contradicted_steps(verdicts: Iterable[Verdict]) -> str:
    """Return which steps of the proofs are contradicted, as a sentence; empty if none is."""
    names = list(dict.fromkeys(v.check or v.name for v in verdicts if v.kind == "step" and v.status == "contradicted"))
    return f"Steps of the proofs that are contradicted, which decides no theorem: {_first(names)}." if names else ""


def _of_controls(verdicts: Collection[Verdict]) -> list[str]:
    controls = [v for v in verdicts if v.kind == "control" and v.status != "not applicable"]
    return [f"{sum(v.status == 'holds' for v in controls)} of {len(controls)} controls say what they must."] if controls else []


def _first(names: Sequence[str]) -> str:
    """Return the first of some names, and how many more there are."""
    return ", ".join(names[:MOST]) + (f" and {len(names) - MOST} more" if len(names) > MOST else "")


def _and(names: Sequence[str]) -> str:
    """Return names as a sentence lists them."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
