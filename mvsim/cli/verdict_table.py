"""Verdicts in words: first what was asked for and what went wrong, the rest if it is asked for."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Collection, Sequence

from rich.console import Console
from rich.text import Text

from mvsim.base.echo import escaped
from mvsim.judging.answer_text import headlines, is_about, kinds_text, regime_words
from mvsim.judging.number_text import BEYOND, OF_SIGN, beyond_text, is_beyond, number_text, short_margin, side_text
from mvsim.judging.statement import Section, Statement
from mvsim.judging.verdict import BAD, Status, Verdict
from mvsim.papers.papers import PAPERS, paper_named

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

GROUPS = {
    "theorem": "Other parts of theorems",
    "evidence": "Checks of the runs: whether they are what they say they are",
    "step": "Steps of the proofs and definitions",
    "control": "Controls",
}
"""What the verdicts of a kind are called, where they are shown."""


def print_section(section: Section, everything: bool = False, asked: Sequence[Statement] = (), only: Sequence[Statement] = ()) -> None:
    """Print the verdicts of one section on stdout: on a terminal wrapped and coloured, else a line for each."""
    verdicts, named = section.verdicts, {statement.number for statement in asked}
    regime = regime_words(section.regimes, verdicts[0].regime if verdicts else "")
    lines = [*wrapped(f"{section.title}  [{regime}]" if regime else section.title, 0)]
    for statement in only:
        own = [v for v in verdicts if is_about(v, statement)]
        for v in own:
            lines += _lines(v, full=True)
        lines += [] if own else wrapped(f"{statement.number} is not about what was judged here", INDENT)
    if only:
        print("\n".join(lines))
        return
    decided = {v.number for v in verdicts if v.kind == "theorem" and v.status != "not applicable"}
    front = [v for v in verdicts if _in_front(v, named, decided)]
    rest = [v for v in verdicts if v not in front]
    for sentence in headlines(verdicts):
        lines += wrapped(sentence, 0)
    for v in front:
        lines += _lines(v, full=everything or section.stated or v.number in named or v.kind == "evidence")
    if decided and any(v.kind == "step" and v.status == "contradicted" for v in front):
        lines += wrapped("Contradicted step: this run does not do what that step of the proof says. The theorem is judged by itself, above.", 0)
    if everything:
        for kind, what in GROUPS.items():
            group = [v for v in rest if v.kind == kind]
            lines += wrapped(f"{what}:", 0) if group else []
            for v in group:
                lines += _lines(v, full=True)
    else:
        beyond = [v for v in rest if is_beyond(v) and not v.part and not v.of_parameters]
        for why in (BEYOND, OF_SIGN):
            names = "; ".join(f"{v.check or v.name}, {side_text(v)}" for v in beyond if beyond_text(v) == why)
            lines += wrapped(f"{why[0].upper()}{why[1:]}: {names}", 0) if names else []
        if rest:
            hidden = [v for v in rest if v not in beyond]
            lines += wrapped(f"Not shown: {kinds_text(hidden)}; --all shows them{_showing_one(hidden)}", 0)
    print("\n".join(lines))


def deciding(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return the verdicts that a section is about: the parts of theorems, or all where no theorem was judged."""
    return [v for v in verdicts if v.kind == "theorem"] or list(verdicts)


def _showing_one(hidden: Sequence[Verdict]) -> str:
    """Name the option that shows the first of them that is about a statement of a paper, if one is."""
    names = {one.name: f"{paper.name}/{one.identifier}" for paper in map(paper_named, PAPERS) for one in paper.statements}
    return next((f", --only {names[v.subject]} those about one statement" for v in hidden if v.subject in names), "")


def _in_front(v: Verdict, named: Collection[str], decided: Collection[str]) -> bool:
    """Whether a verdict is shown without being asked for; a part of a theorem that is not applicable is not if another part is decided."""
    if v.kind == "theorem":
        return v.status != "not applicable" or v.number not in decided
    return v.kind == "control" or v.status in BAD or (v.status == "inconclusive" and v.kind == "evidence") or v.number in named


def _lines(v: Verdict, full: bool) -> list[str]:
    """Return a verdict in words: in full with its numbers, else in brief what a reader wants to know next, of a step with its statement."""
    if full:
        values = ("measured", v.measured), ("in the worst run", v.worst), ("bound", v.bound)
        pairs = [*((name, number_text(value)) for name, value in values), ("margin", short_margin(v))]
        numbers = ", ".join([*(f"{name} {value}" for name, value in pairs if value), *([beyond_text(v)] if is_beyond(v) else [])])
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
    padded = f"{status:<{INDENT}}"
    if not sys.stdout.isatty():
        return padded
    console = Console(highlight=False)
    with console.capture() as text:
        console.print(Text(padded, style=STYLES[status]), end="")
    return text.get()
