"""What a picture says about the runs it shows: what came out, which runs they are, and how they depart from what is assumed."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from typing import Any

from mvsim.base.echo import echo, shortened
from mvsim.base.errors import UsageError
from mvsim.losses.mixing_laws import law_from
from mvsim.multi_view.parameters import Deviation, assumption_of
from mvsim.pictures.panel import Panel
from mvsim.pictures.shown import Shown

METHOD_NAMES = {"erm": "ERM", "midpoint": "Midpoint Mixup", "mixup": "Mixup"}
"""How methods are called in titles."""

FEATURES = {"both": "both features", "one": "exactly one feature", "none": "no feature", "all": "all features", "some": "some features"}
"""What a class has learned, for a sentence, by the names of `mvsim.runs.recording.fresh_draws.outcomes_of`."""

LONGEST_TITLE = 200
"""Characters of a title that a user gives."""

MOST_GIVEN = 3
"""Most parameters by which the title of a column tells a run from others."""

RUN_BY_RUN = "What was learned, run by run"
"""Headline of runs of which each column says what came out."""

KEPT = "\N{NO-BREAK SPACE}"

_POWER = r"(\d(?:\.\d+)?)e\+?(-?)0*(\d+)", r"$\1\\times10^{\2\3}$"
_TYPESETTING = (
    _POWER,
    (r"\bk\^(-?[\d.]*\d)", r"$k^{\1}$"),
    (r"(?<=\d )k\b", r"$k$"),
    (r"\bP (?=delta)", r"$P$ "),
    (r"\bdelta(\d)", r"$\\delta_\1$"),
    (r"\brho\b", r"$\\rho$"),
    (r"\beta\b", r"$\\eta$"),
    (r"\br0\b", r"$r_0$"),
    (r"\balpha\b", r"$\\alpha$"),
    (r"\b([dmPVN]) =", r"$\1$ ="),
    (r"\bN (?=->)", r"$N$ "),
    (r" >> ", r" $\\gg$ "),
    (r" -> infinity\b", r" $\\to\\infty$"),
    (r" -> ", r" $\\to$ "),
)


def method_name(method: str) -> str:
    """Return how a method is called in titles; one without a name there is called as on the command line."""
    return METHOD_NAMES.get(method, method)


def method_title(shown: Shown) -> str:
    """Return the name of the method, with its law of mixing where it has one."""
    run = shown.run
    name, options = method_name(run.method), run.provenance["options"]
    if "mixing" in options:
        name += rf", $\lambda\sim$ {plain(law_from(options['mixing'], options['nodes']).describe()).capitalize()}"
        if options["pairs"] is not None:
            name += f", {options['pairs']} pairs drawn {'once' if options['redraw'] == 'once' else 'at each step'}"
    return run.parameters.described.label + name


def identity(shown: Shown) -> list[str]:
    """Return which run this is, in parts: method, classes, seed, the steps of gradient descent, and how it ended if it was not by settling."""
    run = shown.run
    parts = [method_title(shown), f"$k$ = {run.parameters.k}", f"seed {run.seed}"]
    if "learning_rate" in run.provenance["integrator"]:
        parts.append(rf"gradient descent, $\eta$ = {time_text(run.provenance['integrator']['learning_rate'])}")
    return [*parts, *([] if shown.is_over else [f"{ending(shown)} at $t$ = {time_text(float(shown.times[-1]))}"])]


def other_than_default(shown: Shown) -> list[str]:
    """Return the parameters of a run that are not the default, as far as they are numbers."""
    p = shown.run.parameters
    usual = type(p)(k=p.k, model=p.model).model_dump()
    return [f"{name} = {value:.4g}" for name, value in p.model_dump().items() if isinstance(value, int | float) and value != usual[name]]


def ending(shown: Shown) -> str:
    """Return in a word or two why a run has no later records. Whether a process still makes some, a file that says "running" does not tell."""
    run = shown.run
    if run.status == "finished":
        return {True: "settled", False: "not settled", None: "end"}[run.settled]
    return "as saved" if run.status == "running" else run.status


def what_was_learned(shown: Shown, record: int = -1) -> str:
    """Return which features have been learned in how many of the classes that are shown, at one of the records that are drawn."""
    n = len(shown.classes)
    counts = {name: count for name, count in shown.outcomes_at(record).items() if count}
    chance = {name: _by_chance(count, counts[name]) for name, count in shown.chance_at(record).items() if name in counts}
    of = f"{n} classes" if shown.chosen is None else f"{n} classes shown" if n > 1 else "class shown"
    if len(counts) == 1:
        (name,) = counts
        return f"{FEATURES[name]} in {'the' if n == 1 else 'any of' if name == 'none' else 'all'} {of}{chance[name]}"
    first, *others = counts
    words = [f"{FEATURES[name]} in {counts[name]}{chance[name]}" for name in others]
    return ", ".join([f"{FEATURES[first]} in {counts[first]} of {of}{chance[first]}", *words])


def _by_chance(count: int, of: int) -> str:
    """Return in brackets how many of the classes with an outcome have it by chance."""
    return "" if not count else " (by chance)" if count == of else f" ({count} of them by chance)"


def headline(runs: Sequence[Shown]) -> str:
    """Return what came out, in a sentence if there are at most two runs or all came out alike."""
    if len(runs) > 1 and len({what_was_learned(shown) for shown in runs}) == 1:
        return f"{'Both' if len(runs) == 2 else f'All {len(runs)}'} runs {_verb(runs)} {what_was_learned(runs[0])}"
    if len(runs) > 2:
        return RUN_BY_RUN
    name = _short_name if len({_short_name(shown) for shown in runs}) == len(runs) else method_title
    return ";\n".join(f"{name(shown)} {_verb([shown])} {what_was_learned(shown)}" for shown in runs)


def _short_name(shown: Shown) -> str:
    return shown.run.parameters.described.label + method_name(shown.run.method)


def _verb(runs: Sequence[Shown]) -> str:
    """Say of runs that may still go on only what they have done so far."""
    return "learned" if all(shown.is_over for shown in runs) else "had learned" if len(runs) == 1 else "have, so far, learned"


def titles(runs: Sequence[Shown], above: str) -> tuple[str, list[str]]:
    """Return what is common to all runs, and what each column has of its own: which run it is, and what it learned if nothing above says so."""
    identities = [identity(shown) for shown in runs]
    common = [part for part in identities[0] if all(part in parts for parts in identities)]
    parameters = [other_than_default(shown) for shown in runs]
    differing = [[_typeset(part) for part in parts if not all(part in other for other in parameters)] for parts in parameters]
    own = [
        ", ".join(_unbroken(part) for part in [*(part for part in parts if part not in common), *others[:MOST_GIVEN]])
        for parts, others in zip(identities, differing, strict=True)
    ]
    if all(ending(shown) == "settled" for shown in runs):  # where one ends before another does, only that end is marked
        common.append({1: "settled", 2: "both settled"}.get(len(runs), "all settled"))
    if above == RUN_BY_RUN:
        own = [f"{words}\n{what_was_learned(shown)}" if words else what_was_learned(shown) for words, shown in zip(own, runs, strict=True)]
    return ", ".join(_unbroken(part) for part in common if not above.startswith(f"{part} ")), own


def check_title(title: Any) -> None:
    """Raise `UsageError` unless a title is a text that fits above a picture, or None."""
    if title is not None and (not isinstance(title, str) or len(title) > LONGEST_TITLE):
        raise UsageError(f"title={echo(title)}: must be a text of at most {LONGEST_TITLE} characters")


def wrapped(text: str, width: int) -> str:
    """Return text in lines of at most ``width`` characters; its own line breaks stay. What belongs together is broken only if it is longer."""
    width = max(width, 10)
    return "\n".join(textwrap.fill(_breakable(line, width), width, break_long_words=False, break_on_hyphens=False) for line in text.splitlines())


def _breakable(line: str, width: int) -> str:
    """Return a line whose parts may be broken if ``width`` characters do not hold them."""
    return " ".join(part.replace(KEPT, " ") if _length(part) > width else part for part in line.split(" "))


def _length(text: str) -> int:
    """Return how many characters are seen of a text with mathematics."""
    return len(re.sub(r"[$^_{}]", "", re.sub(r"\\[A-Za-z]+", "x", text)))


def footnote(runs: Sequence[Shown], panels: Sequence[Panel], width: int) -> str:
    """Return what a reader has to know beside the title: how panels are read, and the first way in which runs depart from what is assumed."""
    notes = [note for panel in panels if (note := panel.notes(runs))]
    if any(shown.begins_at_0 for shown in runs) and any(panel.over_time for panel in panels):
        notes.append("A run whose records begin late starts at the left edge, from its state at time 0.")
    lines = [wrapped(" ".join(notes), width)] if notes else []
    assumption = assumption_of(shown.run.parameters for shown in runs)
    departures = list(dict.fromkeys(deviation.name for shown in runs for deviation in shown.run.regime))
    if not departures:
        return "\n".join([*lines, f"As in {assumption}, all hidden constants 1."])
    first = "d" if "d" in departures else departures[0]
    phrases = dict.fromkeys(_departure(shown, deviation) for shown in runs for deviation in shown.run.regime if deviation.name == first)
    alike = all({deviation.name for deviation in shown.run.regime} == set(departures) for shown in runs)
    where = "" if alike else " in one or more of the runs"
    more = f"; {len(departures) - 1} more{where} (mvsim show -v)" if len(departures) > 1 else ""
    text = " or ".join(list(phrases)[:2]) + (" or others" if len(phrases) > 2 else "")
    lines.append("\n".join(_typeset(line.replace(KEPT, " ")) for line in textwrap.wrap(f"Departs from {assumption}: {text}{more}.", width)))
    return "\n".join(lines)


def _departure(shown: Shown, deviation: Deviation) -> str:
    """Return in what a run departs: of d with the value that is assumed, and with r0, which is what it matters for."""
    p = shown.run.parameters
    if deviation.name == "d":
        return f"{_unbroken(f'd = {p.d} (k^20 = {float(p.k) ** 20:.2g})')}, {_unbroken(f'r0 = {p.r0:.3g}')}"
    return plain(deviation.statement)


def _unbroken(text: str) -> str:
    return text.replace(" ", KEPT)


def plain(text: str) -> str:
    """Return text from elsewhere such that matplotlib shows it as it stands: no mathematics, no line breaks, not without end.

    Characters that the font lacks are escaped.
    """
    from matplotlib.font_manager import FontProperties, findfont, get_font

    drawn = get_font(findfont(FontProperties())).get_charmap()
    known = "".join(c if ord(c) in drawn else c.encode("unicode_escape").decode("ascii") for c in text)
    return shortened(known, 200).replace("$", r"\$")


def time_text(value: float) -> str:
    """Return a time with three digits, with its power of ten as such."""
    return re.sub(*_POWER, f"{value:.0f}" if 1000 <= value < 10_000 else f"{value:.3g}")


def _typeset(statement: str) -> str:
    for pattern, replacement in _TYPESETTING:
        statement = re.sub(pattern, replacement, statement)
    return statement
