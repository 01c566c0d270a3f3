"""A question to `verify`: what is asked, whether it can be asked, and its answer. The command line and Python ask the same way."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import fields as dataclass_fields
from pathlib import Path
from types import NoneType
from typing import Any, TypeGuard

import numpy as np

from mvsim.base.echo import echo, path_text, suggestion
from mvsim.base.errors import UsageError
from mvsim.base.inputs import check_path
from mvsim.judging.verdict import ExitCode, Verdict, asked_for, exit_code
from mvsim.judging.verdicts import Verdicts
from mvsim.multi_view.data import Dataset
from mvsim.multi_view.parameters import Parameters
from mvsim.papers.midpoint_mixup.paths import path_in_k
from mvsim.papers.midpoint_mixup.run_verdicts import check_step, check_theorem
from mvsim.papers.midpoint_mixup.sweeps import ask_of_sweep
from mvsim.papers.midpoint_mixup.verify import FOLDER, SEEDS, Section, Shown, ask_of_controls, ask_of_results, ask_of_runs, ask_of_theorems
from mvsim.runs.run import Run
from mvsim.sweeps.runs import Runs, open_runs

DEFAULT_K = (10,)

_NO_ARGUMENTS = ("claims", "strict", "fields")
"""Attributes of a question that are no arguments of `verify`."""

Announce = Callable[[Run, int, int], None]
"""Is told of a run before it is judged: how many were before it, and how many there are (0 and 0 where that is not counted)."""


@dataclass(frozen=True)
class Question:
    """What is asked; None stands for an option that is not given.

    Attributes
    ----------
    runs, theorems, results, controls, k, seeds, follow, folder, path, threads
        See `verify`.
    claims : tuple of str
        Numbers of steps of the proofs that are asked for by name.
    strict : bool
        Whether all of them are.
    data : Dataset, optional
        Points that the runs were trained on, if they were given.
    fields : mapping
        Fields of `mvsim.Parameters`.
    """

    runs: tuple[Run | str | os.PathLike[str], ...] = ()
    theorems: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    strict: bool = False
    controls: bool = False
    k: tuple[int, ...] | None = None
    seeds: int | None = None
    follow: bool | None = None
    path: str | None = None
    folder: Path | None = None
    threads: int | None = None
    data: Dataset | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)

    @property
    def each_k(self) -> tuple[int, ...]:
        """Numbers of classes, the default if none are given."""
        return DEFAULT_K if self.k is None else self.k

    @property
    def number_of_seeds(self) -> int:
        """Runs or data sets of each theorem or result at each k, the default if none is given."""
        return SEEDS if self.seeds is None else self.seeds

    @property
    def place(self) -> Path:
        """Where runs are made and found again."""
        return FOLDER if self.folder is None else self.folder

    @property
    def makes_runs(self) -> bool:
        """Whether runs are made for it, or data sets drawn."""
        return bool(self.controls or ((self.theorems or self.results) and not self.runs))

    @property
    def follows_runs(self) -> bool:
        """Whether runs are made over seeds for a theorem."""
        return bool(self.theorems and not self.runs)

    def check(self) -> None:
        """Raise `UsageError` if nothing is asked, an argument is out of its domain, or one is given that would change nothing."""
        self._check_fields()
        if not (self.runs or self.theorems or self.results or self.controls):
            raise UsageError("nothing to verify: give runs (mvsim verify RUN.nc), --theorem 4.6, --result 3.2 or --controls")
        for name in ("controls", "follow", "strict"):
            if not isinstance(value := getattr(self, name), (bool, np.bool_, NoneType)):
                raise UsageError(f"{name}={echo(value)}: must be True or False")
        for number in self.theorems:
            check_theorem(number)
        for number in self.claims:
            check_step(number)
        if self.runs and self.results:
            raise UsageError(f"results={', '.join(self.results)}: are judged without runs; ask for them by themselves")
        over_seeds = {"k": self.k, "seeds": self.seeds, **self.fields}
        if self.runs or not (self.theorems or self.results):
            self._refuse(over_seeds, "is for theorems and results without runs; a run has parameters of its own")
        if not self.follows_runs:
            self._refuse({"path": self.path, "follow": self.follow, "threads": self.threads}, "is for runs that are made for a theorem")
        if not self.makes_runs:
            self._refuse({"folder": self.folder}, "is for runs that are made")
        folders = [run for run in self.runs if _is_folder(run)]
        if self.data is not None and not isinstance(self.data, Dataset):
            raise UsageError(f"data={echo(self.data)}: must be a mvsim.Dataset, the one that the runs were trained on")
        if self.data is not None and (folders or not self.runs):
            raise UsageError("data: are the points that existing runs were trained on; give the runs, one by one, or leave it out")
        if folders and (len(self.runs) > 1 or self.theorems):
            raise UsageError(
                f"{path_text(folders[0])}: the folder of a sweep is judged alone, by the theorems about its runs; give nothing beside it"
            )

    def _check_fields(self) -> None:
        """Raise `UsageError` if a field is none of the parameters: it is an argument with another name."""
        known = [*(one.name for one in dataclass_fields(self) if one.name not in _NO_ARGUMENTS), *Parameters.model_fields]
        for name, value in self.fields.items():
            if name not in Parameters.model_fields:
                raise UsageError(f"{name}={echo(value)}: is no argument and no field of mvsim.Parameters{suggestion(name, known)}")

    @staticmethod
    def _refuse(given: Mapping[str, Any], why: str) -> None:
        unused = [f"{name}={echo(value)}" for name, value in given.items() if value is not None]
        if unused:
            raise UsageError(f"{', '.join(unused)}: {why}; remove {'it' if len(unused) == 1 else 'them'}")

    def sections(
        self,
        announce: Announce | None = None,
        progress: Shown | None = None,
    ) -> Iterator[Section]:
        """Return the answer section by section; everything that can be checked is checked before the first.

        Parameters
        ----------
        announce : callable, optional
            Is told of existing runs before they are judged.
        progress : callable, optional
            Shows how a run goes that is made, given which of how many it is.
        """
        self.check()
        seeds, follow = self.number_of_seeds, True if self.follow is None else self.follow
        sweep = self._sweep()
        parts: list[Iterator[Section]] = []
        if sweep is not None:
            parts.append(ask_of_sweep(sweep, announce))
        elif self.runs:
            begin = None if announce is None else lambda run: announce(run, 0, 0)
            parts.append(ask_of_runs(self.runs, self.theorems, begin, self.data))
        elif self.theorems:
            parameters = parameters_along("default" if self.path is None else self.path, self.each_k, self.fields)
            parts.append(ask_of_theorems(self.theorems, parameters, seeds, self.place, self.threads, progress, follow))
        if self.results:
            parts.append(ask_of_results(self.results, [int(one) for one in self.each_k], seeds, self.fields, self.controls))
        elif self.controls:
            parts.append(ask_of_controls(self.place))
        return (section for part in parts for section in part)

    def _sweep(self) -> Runs | None:
        """Return the sweep in a folder, None if runs are given."""
        return open_runs(self.runs[0]) if self.runs and _is_folder(self.runs[0]) else None

    def asked_for(self, verdicts: Iterable[Verdict]) -> list[Verdict]:
        """Return the verdicts that the exit code is about."""
        return asked_of(self.as_dict(), verdicts)

    def unanswered(self, verdicts: Sequence[Verdict]) -> list[str]:
        """Return the steps that are asked for by name and are not about what was judged."""
        return [number for number in self.claims if not any(verdict.number == number for verdict in verdicts)]

    def code(self, verdicts: Sequence[Verdict]) -> ExitCode:
        """Return the exit code of the answer."""
        return exit_code(self.asked_for(verdicts)) or (3 if self.unanswered(verdicts) else 0)

    def as_dict(self) -> dict[str, Any]:
        """Return it in JSON types, defaults filled in; the same question is the same dictionary."""
        words: dict[str, Any] = {"runs": [str(run) for run in self.runs], "theorems": list(self.theorems), "controls": self.controls}
        optional = {"claims": list(self.claims), "strict": self.strict, "results": list(self.results)}
        words |= {name: value for name, value in optional.items() if value}
        words |= {} if self.data is None else {"data": self.data.digest()}
        if self.runs or not (self.theorems or self.results):
            return words
        follow, seeds = self.follow is not False, SEEDS if self.seeds is None else self.seeds
        fields = dict(self.fields) | ({"path": self.path} if self.path not in (None, "default") else {})
        return words | {"k": list(self.each_k), "seeds": seeds, "follow": follow, "parameters": fields}


def asked_of(question: Mapping[str, Any], verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Return the verdicts that a question is about, which is given by `Question.as_dict`."""
    claims = question.get("claims", [])
    theorems = bool(question.get("theorems") or question.get("results")) or not claims
    return asked_for(verdicts, theorems=theorems, claims=claims, strict=question.get("strict", False))


def verify(
    runs: Iterable[Run | str | os.PathLike[str]] = (),
    *,
    theorems: Sequence[str] = (),
    results: Sequence[str] = (),
    k: int | Sequence[int] | None = None,
    seeds: int | None = None,
    controls: bool = False,
    follow: bool | None = None,
    folder: str | os.PathLike[str] | None = None,
    path: str | None = None,
    threads: int | None = None,
    data: Dataset | None = None,
    progress: Shown | None = None,
    **fields: Any,
) -> Verdicts:
    """Say whether the theorems hold, by how much, and over how many seeds.

    Parameters
    ----------
    runs : iterable of Run or path
        Existing runs to judge, or the folder of one sweep.
    theorems : sequence of str
        "4.6", "4.7". With runs, what to judge them by (default what their training loss asks for); without, what to judge over seeds.
    results : sequence of str
        "3.2", "3.3", "3.4", "3.5", "4.4": Section 3 and Proposition 4.4, which need no runs.
    k : int or sequence of int, optional
        Numbers of classes, without runs; default 10.
    seeds : int, optional
        Runs of each theorem, and data sets of each result, at each k; default 20.
    controls : bool
        Run the negative controls as well: those of the results if any are named.
    follow : bool, optional
        Go on with runs in which something is missing until that is decided, which is the default: to `mvsim.papers.midpoint_mixup.verify.FOLLOWED`
        times the first escapes at most. False leaves them inconclusive.
    folder : path, optional
        Where runs are made and found again; default mvsim-runs.
    path : str, optional
        Which d belongs to each k (`mvsim.papers.midpoint_mixup.paths.path_in_k`): "literal", "default" or "r0=C*k^-P".
    threads : int, optional
        Threads of the runs that are made.
    data : Dataset, optional
        The points that the runs were trained on, if they were given to `mvsim.simulate`. Features are judged on draws of the distribution that the
        parameters describe all the same.
    progress : callable, optional
        Shows each run that is made for a theorem, given which of how many it is: `mvsim.progress_on`. Nothing is shown without it.
    **fields
        Other fields of `mvsim.Parameters`, the same at each k; ``d`` may be a list with one for each k.

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
    question = Question(
        runs=tuple([runs] if isinstance(runs, (Run, str, os.PathLike)) else several("runs", runs)),
        theorems=tuple([theorems] if isinstance(theorems, str) else several("theorems", theorems)),
        results=tuple([results] if isinstance(results, str) else several("results", results)),
        controls=controls,
        k=None if k is None else tuple([k] if isinstance(k, (int, np.integer)) else several("k", k)),
        seeds=seeds,
        follow=follow,
        path=path,
        folder=None if folder is None else check_path("folder", folder, "a directory"),
        threads=threads,
        data=data,
        fields=fields,
    )
    if progress is not None and not question.follows_runs:
        raise UsageError("progress: is for runs that are made for a theorem; remove it")
    return Verdicts(verdict for section in question.sections(progress=progress) for verdict in section.verdicts)


def _is_folder(run: Any) -> TypeGuard[str | os.PathLike[str]]:
    return isinstance(run, (str, os.PathLike)) and Path(run).is_dir()


def parameters_along(path: str, k: Sequence[int], fields: Mapping[str, Any]) -> list[Parameters]:
    """Return the parameters at each k along a path; ``d`` in the fields may be a list with one for each k.

    Raises
    ------
    UsageError
        If there is another number of d than of k, or a value is out of its domain.
    """
    at, d = path_in_k(path), fields.get("d")
    if not isinstance(d, (list, tuple)):
        return [at(k=one, **fields) for one in k]
    if len(d) != len(k):
        raise UsageError(f"d={', '.join(map(str, d))}: {len(d)} values for {len(k)} numbers of classes; give one, or one for each k")
    return [at(k=one, **{**fields, "d": of_k}) for one, of_k in zip(k, d, strict=True)]


def several(name: str, values: Any) -> list[Any]:
    """Return ``values`` if there may be several of them, all of which are there."""
    if np.ma.is_masked(values):
        raise UsageError(f"{name}={echo(values)}: some are masked; give those that are there")
    try:
        if isinstance(values, (bytes, bytearray)):
            raise TypeError  # their elements are numbers that nobody wrote
        return list(values)
    except TypeError:
        raise UsageError(f"{name}={echo(values)}: must be one of them or a list") from None
