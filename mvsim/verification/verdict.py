"""What a check says, and what several of them say together."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal

Status = Literal["holds", "fails", "inconclusive", "measured"]

STATUSES: tuple[Status, ...] = ("holds", "fails", "inconclusive", "measured")


@dataclass(frozen=True)
class Verdict:
    """The outcome of one check.

    Attributes
    ----------
    name : str
        What was checked, by its name in the paper: "Theorem 4.6", "Claim B.4".
    status : {"holds", "fails", "inconclusive", "measured"}
        ``measured`` belongs to asymptotic statements: at one k their constant can be measured and nothing can be decided.
    statement : str
        The statement in a line.
    measured : float or None
        The measured number, dimensionless; None if there was nothing to measure it on.
    bound : float or None
        What it is compared with; of an asymptotic statement a constant from its proof, if that has one.
    margin : float or None
        How far inside the bound it lies, relative to the bound; negative outside.
    detail : str
        Intervals, counts, where and when: what a reader wants to know next.
    violated_at : float or None
        First recorded time at which the bound was exceeded, if it was.
    regime : str
        In which regime it was measured: the departures from Assumption 4.3.
    """

    name: str
    status: Status
    statement: str
    measured: float | None = None
    bound: float | None = None
    margin: float | None = None
    detail: str = ""
    violated_at: float | None = None
    regime: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return it in JSON types; what is not finite becomes a string."""
        return {name: _plain(value) for name, value in asdict(self).items()}


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def margin_below(measured: float, bound: float) -> float:
    """Return the margin of measured <= bound."""
    return (bound - measured) / abs(bound) if bound else -measured


def margin_above(measured: float, bound: float) -> float:
    """Return the margin of measured >= bound."""
    return (measured - bound) / abs(bound) if bound else measured


def at_most(name: str, statement: str, measured: float, bound: float, detail: str = "", violated_at: float | None = None) -> Verdict:
    """Decide measured <= bound; NaN fails."""
    status: Status = "holds" if measured <= bound else "fails"
    return Verdict(name, status, statement, measured, bound, margin_below(measured, bound), detail, violated_at)


def constant(
    name: str,
    statement: str,
    measured: float | None,
    bound: float | None = None,
    above: bool = False,
    detail: str = "",
    violated_at: float | None = None,
) -> Verdict:
    """Report the constant of an asymptotic statement, which may be compared with ``bound`` (from ``above``: it should be larger), never decided."""
    margin = None
    if measured is not None and bound is not None:
        margin = margin_above(measured, bound) if above else margin_below(measured, bound)
    return Verdict(name, "measured", statement, measured, bound, margin, detail, violated_at)


def exit_code(verdicts: Iterable[Verdict]) -> int:
    """Return 1 if any fails, else 3 if any is inconclusive, else 0."""
    statuses = {verdict.status for verdict in verdicts}
    return 1 if "fails" in statuses else 3 if "inconclusive" in statuses else 0
