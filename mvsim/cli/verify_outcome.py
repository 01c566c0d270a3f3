"""The last line of ``mvsim verify``: the exit code, and why."""

from __future__ import annotations

from pathlib import Path

from mvsim.cli.verdict_table import COUNTED, counts
from mvsim.judging.verdict import BAD, Verdict
from mvsim.papers.midpoint_mixup.question import Question

MOST_CAUSES = 5
"""Verdicts that are named as the cause of an exit code."""


def outcome_line(question: Question, verdicts: list[Verdict], answer: Path | None) -> str:
    """Return the last line: the exit code, what caused it, and how many parts of theorems, steps and checks of the runs say what."""
    asked, code = question.asked_for(verdicts), question.code(verdicts)
    causes = [v.name for v in asked if v.status in (BAD if code == 1 else ("inconclusive",))] if code else []
    causes += [f"{number} (not about what was judged)" for number in question.unanswered(verdicts)]
    more = f" and {len(causes) - MOST_CAUSES} more" if len(causes) > MOST_CAUSES else ""
    named = f" because of {', '.join(causes[:MOST_CAUSES])}{more}" if causes else ""
    saved = "" if answer is None else f"; saved in {answer}"
    steps = sum(v.kind == "step" and v.status == "contradicted" and v not in asked for v in verdicts)
    beside = f"; not counted: {steps} contradicted step{'s' * (steps != 1)} of the proofs (--strict counts them)" if steps else ""
    told = "; ".join(f"{what.several}: {counts(mine)}" for kind, what in COUNTED.items() if (mine := [v for v in asked if v.kind == kind]))
    replayed = [v.count for v in verdicts if v.count is not None and v.count.what == "steps"]
    covered = f" ({sum(c.right for c in replayed)} of {sum(c.of for c in replayed)} steps replayed)" if replayed else ""
    return f"exit code {code}{named}" + (f". {told[0].upper()}{told[1:]}" if told else "") + covered + beside + saved
