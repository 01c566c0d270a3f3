"""What a paper states, all in one shape, and the paper that states it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

from pydantic import BaseModel, ConfigDict, ValidationError

from mvsim.base.echo import echo, suggestion
from mvsim.base.errors import UsageError
from mvsim.base.inputs import describe_invalid, joined
from mvsim.judging.verdict import Status, Verdict

Kind = Literal["theorem", "proposition", "lemma", "corollary", "claim", "calculation", "definition", "assumption", "counterexample"]


class Setting(BaseModel):
    """Base of the settings of statements: frozen, no unknown fields, and a `UsageError` that names every field that is wrong."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def __init__(self, **fields: Any) -> None:
        try:
            super().__init__(**fields)
        except ValidationError as error:
            wrong = [describe_invalid(item, ".".join(map(str, item["loc"])) or "setting") for item in error.errors()]
            raise UsageError(joined(wrong)) from None


class Regime(NamedTuple):
    """How a setting departs from what a paper assumes: in a few words, and the names of what departs."""

    label: str = ""
    departures: tuple[str, ...] = ()


@dataclass(frozen=True)
class Section:
    """Verdicts that belong together."""

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")  # where it is read from a file

    title: str  # what they are about
    verdicts: list[Verdict]  # the verdicts
    place: str = ""  # where a theorem was judged, for a sentence about it: "at k = 6", "in run.nc"
    regimes: list[list[str]] = field(default_factory=list)  # what departs from the assumptions, for each regime that occurs
    origin: str = ""  # where the verdicts come from; no part of the answer, which is the same the next time
    stated: bool = False  # whether every verdict is shown with its statement, since no headline says what they are about

    def as_dict(self) -> dict[str, Any]:
        """Return what belongs to an answer, in JSON types."""
        return {"title": self.title, "place": self.place, "regimes": self.regimes, "verdicts": [verdict.as_dict() for verdict in self.verdicts]}


ProgressDisplay = Callable[[str], AbstractContextManager[Any]]
"""Shows how a run goes, given which run of how many it is."""


@dataclass(frozen=True)
class Request:
    """How statements are to be judged."""

    seeds: int = 20  # Data sets, or runs, at each size: seeds 0 to ``seeds`` - 1
    controls: bool = False  # whether the negative controls are run as well
    folder: Path = Path("mvsim-runs")  # where runs are made, and found again
    threads: int | None = None  # of each run
    follow: bool = True  # whether runs in which something is missing are gone on with until that is decided
    progress: ProgressDisplay | None = None  # Shows how runs go


class Procedure(Protocol):
    """How statements are judged: `mvsim.judging.from_seeds.FromSeeds`, or by runs that a paper makes."""

    @property
    def makes_runs(self) -> bool:
        """Whether runs are made for it, to which ``folder``, ``threads``, ``follow`` and ``progress`` of `Request` apply."""

    def sections(self, statements: Sequence[Statement], settings: Sequence[Any], request: Request) -> Iterator[Section]:
        """Judge statements that share this way at settings of different sizes."""


class RunProcedure(Procedure, Protocol):
    """A procedure by runs that are made."""

    @property
    def theorem(self) -> str:
        """Number of the theorem whose runs these are."""

    @property
    def method(self) -> str:
        """Training loss of the runs."""

    def runs_present(self, setting: Any, request: Request) -> int:
        """Return how many of the runs are in the folder."""


class RunJudge(NamedTuple):
    """What a paper says of runs that exist. Runs and sweeps have no type in this room, which lies below them."""

    # (runs or names of files, numbers of theorems or none, what is called before a run, points that they were trained on or None) -> a section for
    # each run and theorem
    runs: Callable[..., Iterator[Section]]
    sweep: Callable[..., Iterator[Section]]  # (runs of a sweep, what is called before a run) -> sections
    cells: Callable[[Any], list[Any]]  # Runs of a sweep -> the cells that the paper speaks of, done or not, each with its standing
    following_limit: float  # how often the time of the first escapes a run is continued to at most
    draws: int  # fresh draws for each class on which a learned feature has to be right
    coarsest_rtol: float  # largest relative tolerance at which a run is told from a changed one


@dataclass(frozen=True)
class Control:
    """Something taken away, so that a check must not pass."""

    name: str  # what is different
    why: str  # Why the check must not pass
    judge: Callable[[Any, int], list[Verdict]]  # (setting, seed) -> the verdicts of the check
    expected: tuple[Status, ...] = ("fails", "contradicted")  # Statuses that count as right
    parts: tuple[str, ...] = ()  # names of the verdicts that all have to be as expected; without any, the worst one has to
    check: str = ""  # what is checked, if that is not the statement that the control belongs to


@dataclass(frozen=True, eq=False)
class Statement:
    """A theorem, lemma, proposition, corollary, claim or calculation of a paper."""

    kind: Kind  # as the paper has them: "theorem", "4.6". Together they are its identifier, "theorem-4.6"
    number: str
    says: str  # what it says, in a line
    procedure: Procedure  # how it is judged
    setting: type[BaseModel]  # its fields are the options of the statement, on the command line and in Python
    size: str = "k"  # the field of the setting that several values may be given for, one after another: k, C, n
    sizes: tuple[int, ...] = (10,)  # Values of it if none is given
    make: Callable[..., Any] | None = None  # Makes the setting from fields by name, if that is not the type of the setting itself
    # (setting, seed) -> in what the data are not those that it speaks of; nothing if they are
    premises: Callable[[Any, int], str] = lambda setting, seed: ""
    regime: Callable[[Any], Regime] = lambda setting: Regime()  # setting -> how it departs from what the paper assumes
    controls: tuple[Control, ...] = ()  # what its check must not pass
    step: bool = False  # whether it is a step of a proof or a definition, which counts for an exit code only if it is request for
    about: str = ""  # which runs it speaks of, if not of all: "losses of mixed points"

    @property
    def name(self) -> str:
        """Its name in the paper: "Theorem 4.6"."""
        return f"{self.kind.capitalize()} {self.number}"

    @property
    def identifier(self) -> str:
        """Its name on the command line, without the paper: "theorem-4.6"."""
        return f"{self.kind}-{self.number}"

    def at(self, sizes: Sequence[int], fields: Mapping[str, Any]) -> list[Any]:
        """Return its settings at some sizes, from fields that are the same at all; a list or tuple has one value for each size."""
        for name, value in fields.items():
            if name not in self.setting.model_fields or name == self.size:
                raise UsageError(f"{name}={echo(value)}: is no argument and no option of {self.name}{suggestion(name, self.setting.model_fields)}")
            if isinstance(value, (list, tuple)) and len(value) != len(sizes):
                several = f"{len(value)} values for {len(sizes)} of {self.size}"
                raise UsageError(f"{name}={echo(value)}: {several}; give one, or one for each {self.size}")
        make = self.make or self.setting
        return [
            make(**{self.size: n}, **{name: value[i] if isinstance(value, (list, tuple)) else value for name, value in fields.items()})
            for i, n in enumerate(sizes)
        ]


Figure = Callable[[], Any]
"""Draws a figure from scratch: a `matplotlib.figure.Figure`."""


@dataclass(frozen=True)
class Paper:
    """A paper: what it states, and figures of it that are drawn from scratch."""

    name: str  # On the command line: "midpoint"
    title: str  # of the paper
    citation: str
    statements: tuple[Statement, ...]  # in the order of the paper
    figures: Mapping[str, Figure] = field(default_factory=dict)  # number of a figure -> what draws it; its docstring says what it shows
    # Folder for runs -> the controls that `mvsim verify --controls` runs, section by section
    controls: Callable[[Path], Iterator[Section]] | None = None
    on_runs: RunJudge | None = None  # how it judges runs that exist, if it speaks of runs

    @cached_property
    def by_name(self) -> dict[str, Statement]:
        """Statements by every name that they go by: identifiers, and numbers that only one of them has, in small letters."""
        numbers = [statement.number for statement in self.statements]
        by_name = {statement.number.lower(): statement for statement in self.statements if numbers.count(statement.number) == 1}
        return by_name | {statement.identifier.lower(): statement for statement in self.statements}

    def statement(self, name: str) -> Statement:
        """Return the statement with an identifier, or a number that is unique, or raise `UsageError`."""
        match = self.by_name.get(name.lower())
        if match is None:
            number = name.rpartition("-")[2].lower()
            if several := [f"{self.name}/{one.identifier}" for one in self.statements if one.number.lower() == number]:
                raise UsageError(f"{echo(f'{self.name}/{name}')}: give {' or '.join(several)}")
            advice = suggestion(name, [one.identifier for one in self.statements])
            raise UsageError(f"{echo(f'{self.name}/{name}')}: is no statement of this paper{advice}; mvsim verify --list {self.name} names them")
        return match
