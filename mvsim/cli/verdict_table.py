"""Verdicts in words: first what was asked for and what went wrong, the rest if it is asked for."""

from __future__ import annotations

import math
import sys
import textwrap
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from rich.console import Console
from rich.text import Text

from mvsim.base.echo import escaped
from mvsim.judging.verdict import BAD, STATUSES, Status, Verdict
from mvsim.judging.words import BEYOND, OF_SIGN, SOON, beyond_text, is_beyond, number_text, side_text
from mvsim.papers.midpoint_mixup.gaussian_maxima import GAUSSIAN_MAXIMA
from mvsim.papers.midpoint_mixup.theorems import THEOREMS
from mvsim.reports.headline import SAID, classes_text, regime_words, short_margin

STYLES: dict[Status, str] = {
    "fails": "bold red",
    "contradicted": "bold red",
    "inconclusive": "yellow",
    "consistent": "cyan",
    "established": "green",
    "holds": "green",
    "measured": "dim",
    "not applicable": "dim",
}

INDENT = 15
"""Columns of the status; the words stand beside it."""

OF_PARAMETERS = frozenset(step.number for step in GAUSSIAN_MAXIMA.values())
"""Statements about the parameters, which a run neither meets nor misses."""

GROUPS = {
    "theorem": "other parts of theorems",
    "evidence": "checks of the runs: whether they are what they say they are",
    "step": "steps of the proofs and definitions",
    "control": "controls",
}
"""What the verdicts of a kind are called, where they are shown."""


class Counted(NamedTuple):
    """What verdicts of a kind are called where they are only counted: one of them, and several."""

    one: str
    several: str

    def told(self, number: int) -> str:
        """Return a number of them in words."""
        return f"{number} {self.one if number == 1 else self.several}"


COUNTED = {
    "theorem": Counted("part of a theorem", "parts of theorems"),
    "step": Counted("step of the proofs or definition", "steps of the proofs and definitions"),
    "control": Counted("control", "controls"),
    "evidence": Counted("check of the runs", "checks of the runs"),
}
"""By kind."""


def print_section(
    title: str, verdicts: Iterable[Verdict], everything: bool = False, claims: Sequence[str] = (), only: Sequence[str] = (), stated: bool = False
) -> None:
    """Print the verdicts of one section on stdout: on a terminal wrapped and coloured, else a line for each.

    Parameters
    ----------
    title : str
        Its heading.
    verdicts : iterable of Verdict
        The verdicts.
    everything : bool
        Show every verdict. Without it, theorems, what fails, is contradicted or inconclusive and the claims that are named are shown, and the
        others counted.
    claims : sequence of str
        Numbers of steps that are shown in any case.
    only : sequence of str
        Numbers of what is shown and nothing else.
    stated : bool
        Show statements and numbers with every verdict, not only with those that need them.
    """
    verdicts = list(verdicts)
    regime = verdicts[0].regime if verdicts else ""
    lines = [*wrapped(f"{title}  [{regime_words(regime)}]" if regime else title, 0)]
    if only:
        for number in only:
            asked = [v for v in verdicts if is_about(v, number)]
            for v in asked:
                lines += _lines(v, full=True)
            if not asked:
                lines += wrapped(f"{number} is not about what was judged here", INDENT)
        print("\n".join(lines))
        return
    decided = {v.number for v in verdicts if v.kind == "theorem" and v.status != "not applicable"}
    front = [v for v in verdicts if _in_front(v, claims, decided)]
    rest = [v for v in verdicts if v not in front]
    for sentence in headlines(verdicts):
        lines += wrapped(sentence, 0)
    for v in front:
        lines += _lines(v, full=everything or stated or v.number in claims or v.kind == "evidence")
    if decided and any(v.kind == "step" and v.status == "contradicted" for v in front):
        lines += wrapped("Contradicted step: this run does not do what that step of the proof says. The theorem is judged by itself, above.", 0)
    for kind, what in GROUPS.items() if everything else ():
        group = [v for v in rest if v.kind == kind]
        lines += wrapped(f"{what[0].upper()}{what[1:]}:", 0) if group else []
        for v in group:
            lines += _lines(v, full=True)
    beyond = [v for v in rest if is_beyond(v) and v.number not in THEOREMS and v.number not in OF_PARAMETERS]
    for why in (BEYOND, OF_SIGN) if not everything else ():
        said = "; ".join(f"{v.check or v.name}, {side_text(v)}" for v in beyond if beyond_text(v) == why)
        lines += wrapped(f"{why[0].upper()}{why[1:]}: {said}", 0) if said else []
    hidden = {kind: sum(v.kind == kind and v not in beyond for v in rest) for kind in COUNTED}
    if rest and not everything:
        said = ", ".join(COUNTED[kind].told(number) for kind, number in hidden.items() if number)
        lines += wrapped(f"Not shown: {said}; --all shows them, --only B.10 one", 0)
    print("\n".join(lines))


def is_about(v: Verdict, number: str) -> bool:
    """Whether a verdict is about a number; that no theorem speaks of a run is about each of them."""
    return v.number == number or (v.kind == "theorem" and not v.number and number in THEOREMS)


def headlines(verdicts: Sequence[Verdict]) -> list[str]:
    """Return of each theorem that was judged on one run a sentence: whether it holds, by which numbers, and until when."""
    found: dict[str, list[Verdict]] = {}
    for v in verdicts:
        if v.kind == "theorem" and v.part and v.margin is not None and not v.check:
            found.setdefault(v.number, []).append(v)
    said = {"holds": "holds in this run", "fails": "fails in this run", "inconclusive": "is undecided by this run"}
    doubtful = [v for v in verdicts if v.kind == "evidence" and v.status in BAD | {"inconclusive"}]
    doubt = "".join(f"; but the run may not be what it says it is: {v.name} {SAID.get(v.status, v.status)}" for v in doubtful[:1])
    sentences = []
    for number, parts in found.items():
        worst = next(status for status in STATUSES if any(v.status == status for v in parts))
        numbers = "; ".join(map(_measured, parts))
        soon = next((v.soon for v in parts if v.soon), "")
        sentences.append(f"Theorem {number} {said.get(worst, worst)}: {numbers}" + (SOON + soon if soon else "") + doubt)
    return sentences


def _measured(part: Verdict) -> str:
    """Return what one part of a theorem is decided by."""
    if classes := classes_text(part):
        return classes + ("" if part.bound in (None, 1.0) or part.count is None else f" (needed: {math.ceil(part.bound * part.count.of - 1e-9)})")
    return f"{part.part} {number_text(part.measured)}"


def deciding(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return the verdicts that a section is about: the parts of theorems, or all where no theorem was judged."""
    return [v for v in verdicts if v.kind == "theorem"] or list(verdicts)


def counts(verdicts: Iterable[Verdict]) -> str:
    """Return how many verdicts say what, the worst first."""
    statuses = [v.status for v in verdicts]
    return ", ".join(f"{statuses.count(status)} {status}" for status in STATUSES if status in statuses)


def _in_front(v: Verdict, claims: Sequence[str], decided: Collection[str]) -> bool:
    """Whether a verdict is shown without being asked for; a part of a theorem that is not applicable is not if another part is decided."""
    if v.kind == "theorem":
        return v.status != "not applicable" or v.number not in decided
    return v.kind == "control" or v.status in BAD or (v.status == "inconclusive" and v.kind == "evidence") or v.number in claims


def _lines(v: Verdict, full: bool) -> list[str]:
    """Return a verdict in words: in full with its numbers, else in brief what a reader wants to know next, of a step with its statement."""
    if full:
        values = ("measured", v.measured), ("in the worst run", v.worst), ("bound", v.bound)
        told = [*((name, number_text(value)) for name, value in values), ("margin", short_margin(v))]
        numbers = ", ".join([*(f"{name} {value}" for name, value in told if value), *([beyond_text(v)] if is_beyond(v) else [])])
        words = f"{v.name}: {v.statement}{f' ({numbers})' if numbers else ''}" + (f": {v.detail}" if v.detail else "")
    else:
        brief = v.brief or v.detail
        parts = [brief] if v.kind in ("theorem", "control") and brief else [v.statement, brief]
        words = ": ".join([v.name, *filter(None, parts)])
    first, *others = wrapped(words, INDENT)
    return [f"{_styled(v.status)}{first[INDENT:]}", *others]


def wrapped(words: str, indent: int = 0) -> list[str]:
    """Return words as lines of the terminal, indented, or as one line where there is none."""
    words = escaped(" ".join(words.split()))
    if not sys.stdout.isatty():
        return [" " * indent + words]
    return textwrap.wrap(words, Console().width, initial_indent=" " * indent, subsequent_indent=" " * indent) or [""]


def _styled(status: Status) -> str:
    """Return a status, coloured on a terminal, as wide as its column."""
    padded = f"{status:<{INDENT}}"
    if not sys.stdout.isatty():
        return padded
    console = Console(highlight=False)
    with console.capture() as text:
        console.print(Text(padded, style=STYLES[status]), end="")
    return text.get()
