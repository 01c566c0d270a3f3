"""A question to `verify`: what is asked, whether it can be asked, and its answer. The command line and Python ask the same way."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

import numpy as np

from mvsim.base.echo import echo, path_text
from mvsim.base.errors import UsageError
from mvsim.base.inputs import check_integer, check_kind, check_path, plain
from mvsim.judging.statement import Procedure, ProgressDisplay, Request, Section, Statement
from mvsim.judging.verdict_list import Verdicts
from mvsim.multi_view.data import Dataset
from mvsim.papers.on_runs import judge_runs, judge_sweep
from mvsim.papers.papers import PAPERS, names_a_statement, paper_named, statement_named
from mvsim.runs.run import Run
from mvsim.sweeps.runs import SweepRuns, open_sweep

FORMER_OPTIONS = ("theorem", "theorems", "result", "results", "claim", "claims")
"""Options that statements are not named by."""

Announce = Callable[[Run, int, int], None]
"""Is told of a run before it is judged: how many were before it, and how many there are (0 and 0 where that is not counted)."""


class Group(NamedTuple):
    """Statements that are judged together, and the settings that they are judged at."""

    procedure: Procedure
    statements: list[Statement]
    settings: list[Any]


@dataclass(frozen=True)
class Question:
    """What is asked; None stands for an option that is not given, see `verify`."""

    what: tuple[Run | str | os.PathLike[str], ...] = ()  # Runs, names of their files, the folder of a sweep, names of statements
    strict: bool = False  # Whether all steps of the proofs count
    controls: bool = False
    seeds: int | None = None
    follow: bool | None = None
    folder: Path | None = None
    threads: int | None = None
    data: Dataset | None = None  # Points that the runs were trained on, if they were given
    fields: Mapping[str, Any] = field(default_factory=dict)  # Options of the statements: fields of their settings
    typed: Mapping[str, str] = field(default_factory=dict)  # How options were written, where that is not ``name=value``

    @cached_property
    def runs(self) -> tuple[Run | str | os.PathLike[str], ...]:
        """What are runs, their files, or the folder of a sweep."""
        return tuple(one for one in self.what if not names_a_statement(one))

    @cached_property
    def statements(self) -> list[Statement]:
        """The statements that are named, each once."""
        return list(dict.fromkeys(statement_named(str(one))[1] for one in self.what if names_a_statement(one)))

    @cached_property
    def names(self) -> list[str]:
        """Their names, in full."""
        statements = [statement_named(str(one)) for one in self.what if names_a_statement(one)]
        return list(dict.fromkeys(f"{paper.name}/{statement.identifier}" for paper, statement in statements))

    @property
    def request(self) -> Request:
        """How it is to be judged, defaults filled in."""
        options = {"seeds": self.seeds, "folder": self.folder, "follow": self.follow}
        return Request(controls=self.controls, threads=self.threads, **{name: value for name, value in options.items() if value is not None})  # type: ignore[arg-type]

    @property
    def makes_runs(self) -> bool:
        """Whether runs are made over seeds for a statement."""
        return not self.runs and any(statement.procedure.makes_runs for statement in self.statements)

    def check(self) -> None:
        """Raise `UsageError` if nothing is asked, an argument is out of its domain, or one is given that would change nothing."""
        for name in FORMER_OPTIONS:
            if name in self.fields:
                form = "name statements with their paper, as in midpoint/theorem-4.6; mvsim verify --list has all of them"
                raise UsageError(f"{name}={echo(self.fields[name])}: is no option; {form}")
        if not (self.runs or self.statements or self.controls):
            raise UsageError("nothing to verify: give runs (mvsim verify RUN.nc), a statement (mvsim verify midpoint/theorem-4.6) or --controls")
        for name in ("controls", "follow", "strict"):
            check_kind(name, getattr(self, name), bool | None, "True or False")
        if self.seeds is not None:
            check_integer("seeds", self.seeds, 1, "of runs or data sets at each size", most=10**6)
        if self.runs or not self.statements:
            self._refuse({"seeds": self.seeds, **self.fields}, "is for statements without runs; a run has parameters of its own")
        if not self.makes_runs:
            self._refuse({"follow": self.follow, "threads": self.threads}, "is for runs that are made for a statement")
        if self.runs:
            self._refuse({"folder": self.folder}, "is for runs that are made")
            self._check_runs()
        check_kind("data", self.data, Dataset | None, "a mvsim.Dataset, the one that the runs were trained on")
        if self.data is not None and not (self.runs and self._sweep is None):
            raise UsageError("data: are the points that existing runs were trained on; give the runs, one by one, or leave it out")

    def _check_runs(self) -> None:
        without = [name for name, statement in zip(self.names, self.statements, strict=True) if not statement.procedure.makes_runs]
        if without:
            raise UsageError(f"{', '.join(without)}: judged without runs; ask for it by itself")
        folders = [run for run in self.runs if _is_folder(run)]
        if folders and (len(self.runs) > 1 or any(not statement.step for statement in self.statements)):
            raise UsageError(
                f"{path_text(folders[0])}: the folder of a sweep is judged alone, by the theorems about its runs; give nothing beside it"
            )

    def _refuse(self, options: Mapping[str, Any], why: str) -> None:
        unused = [self.typed.get(name, f"{name}={echo(value)}") for name, value in options.items() if value is not None]
        if unused:
            raise UsageError(f"{', '.join(unused)}: {why}; remove {'it' if len(unused) == 1 else 'them'}")

    @cached_property
    def groups(self) -> list[Group]:
        """Statements that are judged together, with their settings at all sizes; none where runs are given."""
        groups: dict[Procedure, Group] = {}
        for statement in () if self.runs else self.statements:
            known = groups.get(statement.procedure)
            if known is not None:
                known.statements.append(statement)
                continue
            given = self.fields.get(statement.size, statement.sizes)
            sizes: list[Any] = [given] if isinstance(given, (int, str)) else several(statement.size, given)
            settings = statement.at(sizes, {name: value for name, value in self.fields.items() if name != statement.size})
            if not settings or len({getattr(setting, statement.size) for setting in settings}) < len(settings):
                raise UsageError(f"{statement.size}={', '.join(map(str, sizes)) or '()'}: give at least one, each {statement.size} once")
            groups[statement.procedure] = Group(statement.procedure, [statement], settings)
        return list(groups.values())

    def sections(self, announce: Announce | None = None, progress: ProgressDisplay | None = None) -> Iterator[Section]:
        """Return the answer section by section; everything that can be checked is checked before the first."""
        self.check()
        request = replace(self.request, progress=progress)
        parts: list[Iterator[Section]] = [group.procedure.sections(group.statements, group.settings, request) for group in self.groups]
        if self._sweep is not None:
            parts.append(judge_sweep(self._sweep, announce))
        elif self.runs:
            begin = None if announce is None else lambda run: announce(run, 0, 0)
            parts.append(judge_runs(self.runs, self.statements, begin, self.data))
        if self.controls and not self.statements:
            parts += [controls(request.folder) for name in PAPERS if (controls := paper_named(name).controls) is not None]
        return (section for part in parts for section in part)

    @cached_property
    def _sweep(self) -> SweepRuns | None:
        """The sweep in a folder, None if runs are given."""
        return open_sweep(self.runs[0]) if self.runs and _is_folder(self.runs[0]) else None

    def as_dict(self) -> dict[str, Any]:
        """Return it in JSON types, defaults filled in; the same question is the same dictionary."""
        words: dict[str, Any] = {"runs": [str(run) for run in self.runs], "statements": self.names, "controls": self.controls}
        words |= {"strict": True} if self.strict else {}
        words |= {} if self.data is None else {"data": self.data.digest()}
        if self.runs or not self.statements:
            return words
        sizes = {group.statements[0].size: [int(getattr(setting, group.statements[0].size)) for setting in group.settings] for group in self.groups}
        fields = {name: list(value) if isinstance(value, tuple) else value for name, value in self.fields.items()}
        return words | {"seeds": self.request.seeds, "follow": self.request.follow, "options": fields | sizes}


def verify(
    what: Run | str | os.PathLike[str] | Iterable[Run | str | os.PathLike[str]] = (),
    *,
    seeds: int | None = None,
    controls: bool = False,
    follow: bool | None = None,
    folder: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    data: Dataset | None = None,
    progress: ProgressDisplay | None = None,
    **fields: Any,
) -> Verdicts:
    """Say whether statements of papers hold, by how much, and over how many seeds.

    Parameters
    ----------
    what : Run, path, str, or several of them
        Existing runs to judge, the folder of one sweep, and statements by PAPER/KIND-NUMBER: "midpoint/theorem-4.6", or PAPER/NUMBER where that is
        unique. Runs are judged by the theorem about their training loss, or by those that are named. Without runs statements are judged over seeds.
    seeds : int, optional
        Runs, or data sets, at each size; default 20.
    controls : bool
        Run the negative controls as well: those of the statements that are named, else all on runs.
    follow : bool, optional
        Go on with runs in which something is missing until that is decided, which is the default: to
        `mvsim.judging.statement.RunJudge.following_limit` times the first escapes at most. False leaves them inconclusive.
    folder : path, optional
        Where runs are made and found again; default mvsim-runs.
    threads : int, optional
        Threads of the runs that are made.
    data : Dataset, optional
        The points that the runs were trained on, if they were given to `mvsim.simulate`. Features are judged on draws of the distribution that the
        parameters describe all the same.
    progress : callable, optional
        Shows each run that is made, given which of how many it is: `mvsim.progress_on`. Nothing is shown without it.
    **fields
        Options of the statements, the same at each size; a list has one value for each. Of the theorems on runs these are the fields of
        `mvsim.Parameters`, with one or several ``k``, and ``path``, which says what d is at each k.

    Returns
    -------
    Verdicts
        A list of `Verdict`; a notebook shows it as a table.

    Raises
    ------
    UsageError
        If nothing is asked, an argument is out of its domain, or one is given that would change nothing: those about runs that are made, beside
        existing runs.
    """
    if progress is not None and not callable(progress):
        raise UsageError(f"progress={echo(progress)}: must be a function that returns a display for each run; give mvsim.progress_on itself")
    what, controls, seeds, follow, folder, threads = map(plain, (what, controls, seeds, follow, folder, threads))
    items = [what] if isinstance(what, (Run, str, os.PathLike)) else several("what", what)
    place = None if folder is None else check_path("folder", folder, "a directory")
    question = Question(tuple(map(plain, items)), False, controls, seeds, follow, place, threads, data, plain(fields))
    if progress is not None and not question.makes_runs:
        raise UsageError("progress: is for runs that are made for a statement; remove it")
    return Verdicts(verdict for section in question.sections(progress=progress) for verdict in section.verdicts)


def _is_folder(run: Any) -> TypeGuard[str | os.PathLike[str]]:
    return isinstance(run, (str, os.PathLike)) and os.path.isdir(run)


def several(name: str, values: Any) -> list[Any]:
    """Return ``values`` if there may be several of them, all of which are there."""
    if np.ma.is_masked(values):
        raise UsageError(f"{name}={echo(values)}: some are masked; give those that are there")
    try:
        if isinstance(values, (bytes, bytearray, Mapping)):
            raise TypeError  # their elements are numbers that nobody wrote, or names alone
        return list(values)
    except TypeError:
        raise UsageError(f"{name}={echo(values)}: must be one of them or a list") from None
