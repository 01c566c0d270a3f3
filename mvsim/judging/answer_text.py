"""An answer in words: what was asked for, what became of each theorem, which steps and checks failed."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence

from mvsim.judging.number_text import number_text
from mvsim.judging.statement import Section, Statement
from mvsim.judging.verdict import BAD, STATUSES, ExitCode, Status, Verdict, exit_code

MOST = 3
"""Runs, parts or steps that are named with one outcome."""

MOST_CAUSES = 5
"""Verdicts that are named as the cause of an exit code."""

SOON = "; settled, and may change later: "
"""Stands between what holds of a run and what is predicted to end it."""

UNFAVOURABLE = {1: "something that was asked for fails or is contradicted", 3: "something that was asked for is inconclusive"}
"""What an exit code of `mvsim verify` says if it is not 0."""

SAID: dict[Status, str] = {
    "fails": "fails",
    "contradicted": "is contradicted by the runs",
    "inconclusive": "is undecided",
    "consistent": "is consistent with the runs but not established",
    "established": "is established (probability at least 1 - 1/k, to the end of the runs)",
    "holds": "holds",
}
"""What became of a theorem, by its status."""

OF_ONE_RUN: dict[Status, str] = {"holds": "holds in this run", "fails": "fails in this run", "inconclusive": "is undecided by this run"}

SEVERAL = {
    "theorem": ("part of a theorem", "parts of theorems"),
    "step": ("step of the proofs or definition", "steps of the proofs and definitions"),
    "control": ("control", "controls"),
    "evidence": ("check of the runs", "checks of the runs"),
}
"""What verdicts are called where they are only counted, by kind: one of them, and several."""

ASSUMED = "what the theorems assume"

AS_ASSUMED = "as the theorems assume"


# ---- What was asked for -----------------------------------------------------------------------------------------------------------


def asked_for(verdicts: Iterable[Verdict], statements: Sequence[Statement] = (), strict: bool = False) -> list[Verdict]:
    """Return the verdicts that an exit code is about.

    Besides what is asked for these are always the checks of whether runs are what they say they are, on which all else rests.
    """
    steps = {statement.number for statement in statements if statement.step}
    theorems = not statements or any(not statement.step for statement in statements)
    counts = {"theorem": theorems, "step": strict, "evidence": True, "control": True}
    return [verdict for verdict in verdicts if counts[verdict.kind] or (verdict.kind == "step" and verdict.number in steps)]


def unanswered(verdicts: Collection[Verdict], statements: Sequence[Statement]) -> list[Statement]:
    """Return the steps that were named and are not about what was judged."""
    return [statement for statement in statements if statement.step and not any(verdict.number == statement.number for verdict in verdicts)]


def code_of(verdicts: Collection[Verdict], statements: Sequence[Statement] = (), strict: bool = False) -> ExitCode:
    """Return the exit code of an answer."""
    return exit_code(asked_for(verdicts, statements, strict)) or (3 if unanswered(verdicts, statements) else 0)


def is_about(verdict: Verdict, statement: Statement) -> bool:
    """Whether a verdict is about a statement; that no theorem speaks of a run is about each of them."""
    return verdict.number == statement.number or (verdict.kind == "theorem" and not verdict.number and not statement.step)


# ---- Sentences --------------------------------------------------------------------------------------------------------------------


def conclusion(code: int, verdicts: Collection[Verdict]) -> str:
    """Return the answer to what was asked, in words.

    Exit code 0 says only that nothing speaks against a theorem. Whether its probability is established, or only consistent with the runs, or whether
    single runs were judged, which show no probability, is told by the statuses of the theorems.
    """
    if code in UNFAVOURABLE:
        return UNFAVOURABLE[code]
    verdicts = [verdict for verdict in verdicts if verdict.status != "not applicable"]
    statuses = {verdict.status for verdict in verdicts if verdict.kind == "theorem"} or {verdict.status for verdict in verdicts}
    if "consistent" in statuses:
        return "the runs are consistent with what was asked for and do not establish it"
    if "established" in statuses:
        return "at these k and parameters the probability that was asked for is established"
    if "holds" in statuses and all(verdict.kind == "evidence" for verdict in verdicts):
        return "no theorem was judged, and no check of the runs failed"
    return "what was asked for holds in what was judged" if "holds" in statuses else "nothing was decided"


def answer_sentences(sections: Sequence[Section], statements: Sequence[Statement] = (), strict: bool = False, code: int | None = None) -> list[str]:
    """Return the answer: a sentence on each theorem or result that was judged, then on the steps that were asked for, the controls, the checks."""
    selected = [(section.place, asked_for(section.verdicts, statements, strict)) for section in sections]
    verdicts = [verdict for _, own in selected for verdict in own]
    if not verdicts:
        return []
    sentences = [*_of_theorems(selected), *_of_results(verdicts), *_of_steps(verdicts), *_of_controls(verdicts)]
    if not sentences:
        words = conclusion(exit_code(verdicts) if code is None else code, verdicts)
        sentences = [f"{_capital(words)}."]
    sentences += [not_about(statement) for statement in unanswered(verdicts, statements)]
    checks = run_checks(verdicts)
    return [*sentences, f"{checks}."] if checks else sentences


def not_about(statement: Statement) -> str:
    """Say of a step that was asked for and is not about what was judged what it is about."""
    if statement.about:
        return f"{statement.number} is about {statement.about}: nothing is said of it here."
    return f"{statement.number} is not about what was judged."


def run_checks(verdicts: Iterable[Verdict]) -> str:
    """Return how many checks of whether runs are what they say they are passed, and which did not; empty if there were none."""
    decided = [v for v in verdicts if v.kind == "evidence" and v.status not in ("measured", "not applicable")]
    wrong = [f"{v.name} {SAID.get(v.status, v.status)}" for v in decided if v.status in BAD or v.status == "inconclusive"]
    passed = f"{len(decided) - len(wrong)} of {len(decided)} checks of the runs passed"
    return "" if not decided else f"{passed}: {_first(wrong)}" if wrong else passed


def contradicted_steps(verdicts: Iterable[Verdict]) -> str:
    """Return which steps of the proofs are contradicted, as a sentence; empty if none is."""
    names = list(dict.fromkeys(v.check or v.name for v in verdicts if v.kind == "step" and v.status == "contradicted"))
    return f"Steps of the proofs that are contradicted, which decides no theorem: {_first(names)}." if names else ""


def headlines(verdicts: Sequence[Verdict]) -> list[str]:
    """Return of each theorem that was judged on one run a sentence: whether it holds, by which numbers, and until when."""
    groups: dict[str, list[Verdict]] = {}
    for v in verdicts:
        if v.kind == "theorem" and v.part and v.margin is not None and not v.check and v.gathered == "probability":
            groups.setdefault(v.subject, []).append(v)
    doubtful = next((v for v in verdicts if v.kind == "evidence" and v.status in BAD | {"inconclusive"}), None)
    doubt = "" if doubtful is None else f"; but the run may not be what it says it is: {doubtful.name} {SAID.get(doubtful.status, doubtful.status)}"
    sentences = []
    for name, parts in groups.items():
        status = _worst(parts)
        soon = next((v.soon for v in parts if v.soon), "")
        numbers = "; ".join(map(_measured, parts))
        sentences.append(f"{name} {OF_ONE_RUN.get(status, status)}: {numbers}{SOON + soon if soon else ''}{doubt}")
    return sentences


def outcome_line(verdicts: Sequence[Verdict], statements: Sequence[Statement] = (), strict: bool = False, saved_in: object = None) -> str:
    """Return the exit code, what caused it, and how many parts of theorems, steps and checks of the runs say what."""
    selected, code = asked_for(verdicts, statements, strict), code_of(verdicts, statements, strict)
    causes = [v.name for v in selected if v.status in (BAD if code == 1 else ("inconclusive",))] if code else []
    causes += [f"{statement.number} (not about what was judged)" for statement in unanswered(verdicts, statements)]
    more = f" and {len(causes) - MOST_CAUSES} more" if len(causes) > MOST_CAUSES else ""
    named = f" because of {', '.join(causes[:MOST_CAUSES])}{more}" if causes else ""
    saved = "" if saved_in is None else f"; saved in {saved_in}"
    steps = sum(v.kind == "step" and v.status == "contradicted" and v not in selected for v in verdicts)
    beside = f"; not counted: {steps} contradicted step{'s' * (steps != 1)} of the proofs (--strict counts them)" if steps else ""
    counted = "; ".join(f"{names}: {counts(own)}" for kind, (_, names) in SEVERAL.items() if (own := [v for v in selected if v.kind == kind]))
    replayed = [v.count for v in verdicts if v.count is not None and v.count.what == "steps"]
    covered = f" ({sum(c.right for c in replayed)} of {sum(c.of for c in replayed)} steps replayed)" if replayed else ""
    return f"exit code {code}{named}" + (f". {_capital(counted)}" if counted else "") + covered + beside + saved


def counts(verdicts: Iterable[Verdict]) -> str:
    """Return how many verdicts say what, the worst first."""
    statuses = [v.status for v in verdicts]
    return ", ".join(f"{statuses.count(status)} {status}" for status in STATUSES if status in statuses)


def kinds_text(verdicts: Collection[Verdict]) -> str:
    """Return how many verdicts there are of each kind."""
    numbers = {kind: sum(v.kind == kind for v in verdicts) for kind in SEVERAL}
    return ", ".join(f"{number} {SEVERAL[kind][number != 1]}" for kind, number in numbers.items() if number)


# ---- Regimes ----------------------------------------------------------------------------------------------------------------------


def regime_words(regimes: Sequence[Sequence[str]], label: str) -> str:
    """Return regimes, short: "d below k^20; 5 more departures"; ``label`` has them in full."""
    if not regimes or not all("d" in names for names in regimes):
        words = [f"departs in {', '.join(names)}" if names else AS_ASSUMED for names in regimes]
        return " / ".join(dict.fromkeys(words)) or label
    more = len({name for names in regimes for name in names}) - 1
    return "d below k^20" + (f"; {more} more departure{'s' * (more > 1)}" if more else "")


def regime_sentence(regimes: Sequence[Sequence[str]]) -> str:
    """Return regimes as a sentence."""
    if not any(regimes):
        return f"{AS_ASSUMED.capitalize()}, all hidden constants 1."
    departures = " or ".join(dict.fromkeys(_and(names) if names else "nothing" for names in regimes))
    return f"Departs from {ASSUMED} in {departures}."


# ---- Parts of sentences -----------------------------------------------------------------------------------------------------------


def _of_theorems(selected: Sequence[tuple[str, Collection[Verdict]]]) -> list[str]:
    """Return a sentence on each outcome of each theorem, the worst outcome of a theorem first; measured constants and trends decide nothing."""
    groups: dict[tuple[str, Status], list[str]] = {}
    for place, verdicts in selected:
        deciding = [v for v in verdicts if v.kind == "theorem" and v.gathered == "probability" and v.status not in ("measured", "not applicable")]
        for name in dict.fromkeys(v.subject for v in deciding if v.subject):
            parts = [v for v in deciding if v.subject == name]
            groups.setdefault((name, _worst(parts)), []).append(f"{place} {_by_what(parts)}".strip())
    order = sorted(groups, key=lambda key: (key[0], STATUSES.index(key[1])))
    return [f"{name} {SAID.get(status, status)} {_first(groups[name, status])}".rstrip() + "." for name, status in order]


def _by_what(parts: Sequence[Verdict]) -> str:
    """Return in brackets by what a theorem was decided: the count of runs, or of classes, and other parts if they are what is wrong."""
    whole = next((v for v in parts if not v.part), None)
    if whole is not None:
        count = whole.count
        return "" if count is None else f"(holds in {count}{f', {count.undecided} undecided' if count.undecided else ''})"
    details = [str(v.count) for v in parts if v.count is not None and v.count.what == "classes"]
    details += [f"{v.part} {number_text(v.measured)}" for v in parts if v.count is None and v.status != "holds" and v.measured is not None]
    return f"({', '.join(details)})" if details else ""


def _measured(part: Verdict) -> str:
    if part.count is None or part.count.what != "classes":
        return f"{part.part} {number_text(part.measured)}"
    return str(part.count) + ("" if part.bound in (None, 1.0) else f" (needed: {math.ceil(part.bound * part.count.of - 1e-9)})")


def _of_results(verdicts: Collection[Verdict]) -> list[str]:
    """Return a sentence on each statement that is to hold everywhere: which of its parts fail, and which hold."""
    groups: dict[str, dict[Status, list[str]]] = {}
    for v in verdicts:
        if v.kind == "theorem" and v.subject and v.gathered == "everywhere" and v.status != "measured":
            parts, part = groups.setdefault(v.subject, {}).setdefault(v.status, []), v.part or "as a whole"
            parts += [part] if part not in parts else []
    return [f"{name}: {'; '.join(f'{status} ({_and(of[status])})' for status in STATUSES if status in of)}." for name, of in groups.items()]


def _of_steps(verdicts: Collection[Verdict]) -> list[str]:
    phrases = []
    for status in STATUSES:
        names = [v.name for v in verdicts if v.kind == "step" and v.status == status]
        phrases += [f"{len(names)} {status}" + (f" ({_first(names)})" if status in BAD or status == "inconclusive" else "")] if names else []
    return [f"Steps that were asked for: {', '.join(phrases)}."] if phrases else []


def _of_controls(verdicts: Collection[Verdict]) -> list[str]:
    controls = [v for v in verdicts if v.kind == "control" and v.status != "not applicable"]
    return [f"{sum(v.status == 'holds' for v in controls)} of {len(controls)} controls say what they must."] if controls else []


def _worst(verdicts: Collection[Verdict]) -> Status:
    return next(status for status in STATUSES if any(v.status == status for v in verdicts))


def _first(names: Sequence[str]) -> str:
    return ", ".join(names[:MOST]) + (f" and {len(names) - MOST} more" if len(names) > MOST else "")


def _and(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _capital(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}"
