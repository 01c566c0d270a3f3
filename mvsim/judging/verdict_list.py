"""Several verdicts as a notebook shows them."""

from __future__ import annotations

from mvsim.base.html import fragment
from mvsim.judging.answer_text import conclusion
from mvsim.judging.number_text import margin_text, number_text, status_text
from mvsim.judging.verdict import Verdict, exit_code

COLUMNS = ("status", "what was checked", "measured", "bound", "margin", "what to know")


class Verdicts(list[Verdict]):
    """A list of verdicts; at the end of a cell of a notebook it is a table."""

    def _repr_html_(self) -> str:
        """Return what a notebook shows: what they say together, the theorems, what is against something, and folded below it the rest."""
        front = [v for v in self if v.kind in ("theorem", "control") or v.status in ("fails", "contradicted", "inconclusive")]
        rest = [v for v in self if v not in front]
        theorems = [v for v in self if v.kind != "step"] or self
        heading = conclusion(exit_code(theorems), theorems)
        others = fragment(f"{len(rest)} others", map(_row, rest), COLUMNS) if rest else ""
        return fragment(f"{heading[:1].upper()}{heading[1:]}", map(_row, front), COLUMNS if front else (), others)


def _row(v: Verdict) -> tuple[str, ...]:
    return status_text(v), f"{v.name}: {v.statement}", number_text(v.measured), number_text(v.bound), margin_text(v), v.brief or v.detail
