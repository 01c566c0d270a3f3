"""What a check says, what several of them say together, and which of them an exit code is about."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Literal

from pydantic import ConfigDict

from mvsim.base.html import fragment

Status = Literal["fails", "contradicted", "inconclusive", "consistent", "established", "holds", "measured", "not applicable"]

STATUSES: tuple[Status, ...] = ("fails", "contradicted", "inconclusive", "consistent", "established", "holds", "measured", "not applicable")
"""The worst first.

==================  =========================================================================================================
``holds``           it is so in this run, up to the time the run was followed to
``fails``           it is not so in this run
``inconclusive``    the run is too short, or too few were followed far enough; over seeds: the fraction is below the bound, the interval contains it
``established``     over seeds: the whole interval of the probability lies within what the theorem says
``consistent``      over seeds: the fraction is at least the bound, and the interval contains it: their number proves nothing
``contradicted``    over seeds: the interval lies outside; of a step of the proof: what it says without a hidden constant is violated
``measured``        a constant that the paper leaves open: one k decides nothing
``not applicable``  what the statement supposes does not occur
==================  =========================================================================================================
"""

Kind = Literal["theorem", "evidence", "step", "control"]
"""What a verdict is about: a theorem; whether a run is what it says it is; a step of a proof; a check that must not pass."""

Gathering = Literal["probability", "everywhere", "constant", "median", "least"]
"""How the verdicts of several runs on one statement become one.

===============  =====================================================================================================================
``probability``  it is to hold in a run with probability 1 - O(1/k): in how many runs it does
``everywhere``   it is true in every run or not true at all: the worst
``constant``     a constant of a proof, which has an order in k: the median, and over k its exponent
``median``       what is measured besides: the median alone
``least``        how long something lasts, which has an order in k, too: the least
===============  =====================================================================================================================

What is measured and not decided in any run has a median, but for ``least``.
"""

ExitCode = Literal[0, 1, 3]
"""What ``mvsim verify`` ends with if it has an answer."""

BAD: frozenset[Status] = frozenset({"fails", "contradicted"})
"""What gives exit code 1."""


@dataclass(frozen=True)
class Count:
    """In how many classes of a run, or in how many runs, something is as a statement says; how many steps of a run were replayed."""

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")  # where it is read from a file

    right: int  # In how many
    of: int  # Of how many
    what: Literal["classes", "runs", "steps"]
    undecided: int = 0  # How many of them may still turn out right; they count as wrong
    outcome: str = ""  # What is right in them: "ERM learned exactly one feature"

    def __str__(self) -> str:
        """Return it in words, without what is undecided."""
        return f"{f'{self.outcome} in ' if self.outcome else ''}{self.right} of {self.of} {self.what}"


@dataclass(frozen=True)
class Verdict:
    """The outcome of one check.

    Attributes
    ----------
    name : str
        What was checked, by its name in the paper: "Theorem 4.6 (features)", "Claim B.4, k = 10". It is to be read, and tells verdicts apart; what
        follows from a verdict follows from the other fields.
    status : str
        One of `STATUSES`.
    statement : str
        The statement in a line.
    measured : float or None
        The measured number, dimensionless; None if there was nothing to measure it on.
    bound : float or None
        What it is compared with; of an asymptotic statement a constant from its proof, if that has one.
    margin : float or None
        How far inside the bound it lies, relative to the bound; negative outside.
    worst : float or None
        Of several runs, whose median is measured: the number that has the margin.
    detail : str
        Intervals, counts, where and when: what a reader wants to know next.
    violated_at : float or None
        First recorded time at which the bound was exceeded, if it was.
    regime : str
        In which regime it was measured: the departures from Assumption 4.3.
    kind : str
        What it is about: "theorem", "evidence" (whether the run is what it says it is), "step" (of a proof) or "control".
    number : str
        Of the statement in the paper: "4.6", "B.4". Empty where it has none, and where several are meant.
    subject : str
        The name of that statement: "Theorem 4.6".
    part : str
        Which part of a theorem or a result: "features", "training accuracy". Empty for all of it.
    check : str
        The name without k, of what is said of several runs or data sets at one k. Empty of a single run.
    gathered : str
        See `Gathering`.
    count : Count or None
        What was counted, if it is that which decides.
    partly : bool
        Whether a theorem is left open only by views that have escaped and suffice on a part of D.
    soon : str
        What is predicted to end it; of a theorem that holds, only if that may be soon. It is in the detail, too.
    of_parameters : bool
        Whether it is about the parameters alone, which a run neither meets nor misses.
    brief : str
        What of the detail a short line has room for; empty if all of it.
    """

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")  # where it is read from a file

    name: str
    status: Status
    statement: str
    measured: float | None = None
    bound: float | None = None
    margin: float | None = None
    detail: str = ""
    violated_at: float | None = None
    regime: str = ""
    kind: Kind = "step"
    number: str = ""
    part: str = ""
    check: str = ""
    gathered: Gathering = "probability"
    count: Count | None = None
    partly: bool = False
    soon: str = ""
    brief: str = ""
    worst: float | None = None
    subject: str = ""
    of_parameters: bool = False

    def about(self, number: str, subject: str = "") -> Verdict:
        """Return it as what is said of the statement with this number, and this name, in the paper."""
        return replace(self, number=number, subject=subject or self.subject)

    def at(self, size: str, n: int) -> Verdict:
        """Return it as what runs or data sets of one size say together: "k", 10."""
        return replace(self, name=f"{self.name}, {size} = {n}", check=self.name)

    def _repr_html_(self) -> str:
        rows = [(name.replace("_", " "), value) for name in SHOWN if (value := getattr(self, name)) not in (None, "")]
        return fragment(f"{self.name}: {self.status}", rows)

    def as_dict(self) -> dict[str, Any]:
        """Return it in JSON types; what is not finite becomes a string."""
        return {name: _plain(value) for name, value in asdict(self).items()}


SHOWN = ("statement", "measured", "bound", "margin", "detail", "violated_at", "regime", "kind")
"""The fields that a notebook shows below name and status; the others are for programs, or said in these."""


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def margin_below(measured: float, bound: float) -> float:
    """Return the margin of measured <= bound."""
    return (bound - measured) / abs(bound) if bound else -measured


def margin_above(measured: float, bound: float) -> float:
    """Return the margin of measured >= bound."""
    return (measured - bound) / abs(bound) if bound else measured


def at_most(
    name: str, statement: str, measured: float, bound: float, detail: str = "", violated_at: float | None = None, otherwise: Status = "fails"
) -> Verdict:
    """Decide measured <= bound, which is to be so in every run; if it is not, or NaN, the status is ``otherwise``."""
    status: Status = "holds" if measured <= bound else otherwise
    return Verdict(name, status, statement, measured, bound, margin_below(measured, bound), detail, violated_at, gathered="everywhere")


def constant(
    name: str,
    statement: str,
    measured: float | None,
    bound: float | None = None,
    above: bool = False,
    detail: str = "",
    violated_at: float | None = None,
) -> Verdict:
    """Report the constant of an asymptotic statement, which may be compared with ``bound`` (from ``above``: it should be larger), never decided.

    Where there is nothing to measure it on, the statement is not applicable.
    """
    if measured is None:
        return Verdict(name, "not applicable", statement, None, bound, None, detail, gathered="constant")
    margin = None if bound is None else margin_above(measured, bound) if above else margin_below(measured, bound)
    return Verdict(name, "measured", statement, measured, bound, margin, detail, violated_at, gathered="constant")


def not_applicable(name: str, statement: str, why: str, bound: float | None = None) -> Verdict:
    """Report that what a statement supposes does not occur."""
    return Verdict(name, "not applicable", statement, bound=bound, detail=why)


def exit_code(verdicts: Iterable[Verdict]) -> ExitCode:
    """Return 1 if any fails or is contradicted, else 3 if any is inconclusive, else 0."""
    statuses = {verdict.status for verdict in verdicts}
    return 1 if statuses & BAD else 3 if "inconclusive" in statuses else 0
