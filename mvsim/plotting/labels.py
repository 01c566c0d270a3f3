"""What a picture says about the run it shows."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mvsim.echo import shortened

if TYPE_CHECKING:
    from mvsim.run import Run

METHOD_NAMES = {"erm": "ERM", "midpoint": "Midpoint Mixup"}
"""How methods are called in titles; one that is not listed keeps its own name."""

_TYPESETTING = (
    (r"(\d(?:\.\d+)?)e\+?(-?)0*(\d+)", r"$\1\\times10^{\2\3}$"),
    (r"\bk\^(-?[\d.]*\d)", r"$k^{\1}$"),
    (r"(?<=\d )k\b", r"$k$"),
    (r"\bdelta(\d)", r"$\\delta_\1$"),
    (r"\brho\b", r"$\\rho$"),
    (r"\br0\b", r"$r_0$"),
    (r"\balpha\b", r"$\\alpha$"),
    (r"\b([dmPV]) =", r"$\1$ ="),
)


def run_title(run: Run) -> str:
    """Say which run this is, and whether it went on until nothing changed any more."""
    state = "not settled" if run.status == "finished" and run.settled is False else run.status
    remark = "" if state == "finished" else f" ({state})"
    return f"{run.parameters.described.label}{METHOD_NAMES.get(run.method) or _plain(run.method)}, $k$ = {run.parameters.k}, seed {run.seed}{remark}"


def statements(run: Run) -> list[str]:
    """Return the ways in which the run departs from what is assumed of its model."""
    return [_plain(part) for deviation in run.regime for part in deviation.statement.split("; ")]


def _plain(text: str) -> str:
    """Return text from a file such that matplotlib shows it as it stands: no mathematics, no line breaks, not without end.

    Characters that the font lacks are escaped.
    """
    from matplotlib.font_manager import FontProperties, findfont, get_font

    drawn = get_font(findfont(FontProperties())).get_charmap()
    known = "".join(c if ord(c) in drawn else c.encode("unicode_escape").decode("ascii") for c in text)
    return shortened(known, 200).replace("$", r"\$")


def assumption_of(runs: Sequence[Run]) -> str:
    """Return the name of what the regime of runs is compared with."""
    return " and ".join(dict.fromkeys(run.parameters.described.assumption for run in runs))


def regime_text(departures: Sequence[str], width: int, assumption: str) -> str:
    """Say in which ways runs depart from an assumption, all that are given, in lines of about ``width`` characters."""
    if not departures:
        return f"As in {assumption}, all hidden constants 1"
    # No-break spaces keep each equation on one line, if it fits on one; lines end after a semicolon.
    text = "; ".join(piece.replace(" ", "\N{NO-BREAK SPACE}") if len(piece) <= width else piece for piece in departures)
    lines = textwrap.wrap(f"Departs from {assumption}: {text}", width, break_long_words=False, break_on_hyphens=False)
    return "\n".join(_typeset(line.replace("\N{NO-BREAK SPACE}", " ")) for line in lines)


def _typeset(statement: str) -> str:
    """Turn the plain letters of a deviation into mathematical ones."""
    for pattern, replacement in _TYPESETTING:
        statement = re.sub(pattern, replacement, statement)
    return statement
