"""``mvsim verify``: verdicts on runs, on theorems over seeds, on the checks themselves."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from mvsim.base.errors import UsageError
from mvsim.cli.answer_file import check_place, check_replaceable, name_of_answer, written_or_why_not
from mvsim.cli.judging import JudgingShown
from mvsim.cli.options import FLAG, INTEGER, Json, Quiet, given_for, read_integer, text_flags, with_flags
from mvsim.cli.output import TIMING_NOTICE, note, silence_stdout
from mvsim.cli.progress import COMPILE_NOTICE, progress_on
from mvsim.cli.verdict_table import counts, deciding, headlines, is_about, print_section, wrapped
from mvsim.cli.verify_outcome import outcome_line
from mvsim.cli.verify_plan import planned, print_plan
from mvsim.multi_view.kernels.jit.compiling import compilation_heard
from mvsim.multi_view.parameters import Parameters
from mvsim.papers.midpoint_mixup.answer import Answer, AnsweredSection
from mvsim.papers.midpoint_mixup.contents import contents_of
from mvsim.papers.midpoint_mixup.paths import PATHS
from mvsim.papers.midpoint_mixup.question import Question
from mvsim.papers.midpoint_mixup.run_verdicts import check_shown, check_step
from mvsim.papers.midpoint_mixup.section_3.results import RESULTS
from mvsim.papers.midpoint_mixup.theorems import THEOREMS
from mvsim.papers.midpoint_mixup.verify import FOLDER, FOLLOWED, SEEDS, make_folder
from mvsim.reports.headline import answer_sentences, not_about
from mvsim.runs.run import Run
from mvsim.runs.simulation.options import RunOptions
from mvsim.version import __version__


def _integers(kind: type, tokens: Any) -> tuple[int, ...]:
    return tuple(read_integer(token.value) for token in tokens)


def _numbers(kind: type, tokens: Any) -> tuple[str, ...]:
    """Return numbers of the paper as they are typed, which may be one list."""
    return tuple(number.strip() for token in tokens for number in token.value.split(","))


@with_flags(text_flags(Parameters, "Parameters, where no run files are given"))
def verify(
    *runs: Annotated[Path, Parameter(name="RUN", help="Run files to judge, or the folder of one sweep: its theorems over seeds and k.")],
    theorem: Annotated[
        tuple[str, ...],
        Parameter(
            negative="",
            show_default=False,
            choices=tuple(THEOREMS),
            help="Theorem; may be repeated. With run files: judge it on them. Without: make runs over seeds and judge it on those.",
        ),
    ] = (),
    result: Annotated[
        tuple[str, ...],
        Parameter(
            negative="",
            show_default=False,
            choices=tuple(RESULTS),
            help="Result of Section 3 (3.2 to 3.5), or Proposition 4.4; judged on data sets, without runs; may be repeated.",
        ),
    ] = (),
    claim: Annotated[
        tuple[str, ...],
        Parameter(
            negative="",
            converter=_numbers,
            show_default=False,
            help="Step of a proof by its number, such as B.26 or A.10, that counts for the exit code; may be repeated. "
            "If it is given without --theorem, only the steps that are asked for count.",
        ),
    ] = (),
    strict: Annotated[bool, FLAG, Parameter(help="Exit with 1 if any step of a proof is contradicted.")] = False,
    k: Annotated[
        tuple[int, ...],
        Parameter(
            negative="",
            converter=_integers,
            show_default=False,
            help="Number of classes, where no run files are given; may be repeated; default 10.",
        ),
    ] = (),
    path: Annotated[str | None, Parameter(help=f"Which d belongs to each k, where no run files are given: {PATHS}.", show_default=False)] = None,
    d: Annotated[
        tuple[str, ...],
        Parameter(negative="", show_default=False, help="Dimension of a patch, where no run files are given: one for all k, or one for each."),
    ] = (),
    seeds: Annotated[
        int | None,
        INTEGER,
        Parameter(
            help=f"How many runs are made of each theorem, and data sets of each result, at each k; default {SEEDS}. "
            "At k = 10 it takes 36 runs without a failure to establish a theorem."
        ),
    ] = None,
    controls: Annotated[
        bool,
        FLAG,
        Parameter(help="Run the negative controls: altered runs and formulas, which the checks must reject. With --result, those of the results."),
    ] = False,
    follow: Annotated[
        bool | None,
        Parameter(
            show_default=False,
            help="Continue runs in which a feature is missing until that is decided (the default), at most to "
            f"{FOLLOWED:g} times the first escapes; without it they are inconclusive.",
        ),
    ] = None,
    runs_dir: Annotated[Path | None, Parameter(show_default=False, help=f"Folder where runs are made, and found again; default {FOLDER}.")] = None,
    out: Annotated[
        Path | None, Parameter(help="JSON file for the verdicts; by default one beside the runs that are made, named after the question.")
    ] = None,
    threads: Annotated[int | None, INTEGER, Parameter(help=RunOptions.model_fields["threads"].description)] = None,
    all_: Annotated[
        bool, FLAG, Parameter(name="--all", help="Print every verdict with its statement, not only the theorems and what fails or is contradicted.")
    ] = False,
    only: Annotated[
        tuple[str, ...],
        Parameter(
            negative="",
            converter=_numbers,
            show_default=False,
            help="Print the verdicts with this number, such as B.10 or 4.6, and no others; what --out writes has all. May be repeated.",
        ),
    ] = (),
    json_: Json = False,
    force: Annotated[bool, FLAG, Parameter(help="Overwrite the file given by --out.")] = False,
    dry_run: Annotated[
        bool,
        FLAG,
        Parameter(help="With --theorem and no run files: tell which runs are there, predict time and memory of the others, and make nothing."),
    ] = False,
    quiet: Quiet = False,
    **fields: str,
) -> int:
    """Say whether the theorems hold, by how much and in which regime.

    The exit code is about what is asked for, by default the theorems, and about whether the runs are what they say they are: 0 if nothing of
    that fails, is contradicted or inconclusive, 1 if something fails or is contradicted, 3 if something is inconclusive.
    """
    fields_given = given_for(Parameters, fields) | ({"d": d[0] if len(d) == 1 else list(d)} if d else {})
    claim, only = _checked(claim, check_step), _checked(only, check_shown)
    question = Question(
        runs=runs, theorems=theorem, results=result, claims=claim, strict=strict, controls=controls, k=k or None, seeds=seeds, follow=follow,
        path=path, folder=runs_dir, threads=threads, fields=fields_given,
    )  # fmt: skip
    question.check()
    answer = check_place(out, runs, force) if out is not None else question.place / name_of_answer(question) if question.makes_runs else None
    swept = len(runs) == 1 and runs[0].is_dir()
    contents: dict[str, str] = {}
    shown = JudgingShown(quiet)

    def judging(run: Run, before: int, of: int) -> None:
        contents.update(contents_of([run]))  # of what is judged: its file may be another one by the time of the answer
        shown.show(run, before, of)

    judged = question.sections(judging, None if quiet else progress_on)
    if dry_run:
        _print_plan(question, json_, quiet)
        return 0
    if answer is not None and out is None:
        make_folder(question.place)
        check_replaceable(answer, question)

    sections = []
    with shown, _compilation_told(silent=quiet or question.makes_runs):  # runs that are made tell of it themselves
        for section in judged:
            sections.append(section)
            if not quiet and (swept or not runs):  # it may take hours until the answer is complete
                origin = f" ({section.origin})" if section.origin else ""
                note(f"{section.title}{origin}: {counts(deciding(section.verdicts))}")
    verdicts = [verdict for section in sections for verdict in section.verdicts]
    code = question.code(verdicts)
    answered = [AnsweredSection(title=section.title, verdicts=section.verdicts) for section in sections]
    whole = Answer(version=__version__, question=question.as_dict(), contents=contents, exit_code=code, sections=answered)
    unsaved = None if answer is None else written_or_why_not(answer, whole.text())  # before anything is printed: whoever reads may leave
    try:
        if json_:
            print(_about(whole, only).text())
        else:
            if not only and (len(sections) > 1 or not headlines(sections[0].verdicts)):  # one run begins with it anyway
                print("\n".join(line for words in answer_sentences(sections, question.as_dict(), code) for line in wrapped(words)))
            elif not only and (unanswered := question.unanswered(verdicts)):
                print("\n".join(line for number in unanswered for line in wrapped(not_about(number))))
            for section in sections:
                print_section(section.title, section.verdicts, all_, claim, only, section.stated)
            print("\n".join(wrapped(outcome_line(question, verdicts, None if unsaved else answer))))
        sys.stdout.flush()
    except BrokenPipeError:  # the verdict is the exit code, whoever reads the words
        silence_stdout()
    if unsaved is not None:
        raise unsaved
    return code


def _checked(numbers: tuple[str, ...], check: Callable[[str, str], str]) -> tuple[str, ...]:
    """Return numbers of the paper, which may be typed in small letters, or raise the `UsageError` of ``check``."""
    return tuple(check(typed.upper(), typed) for typed in numbers)


def _about(answer: Answer, numbers: Collection[str]) -> Answer:
    """Return the part of an answer that is about some numbers; all of it if none are given."""
    if not numbers:
        return answer
    kept = [[v for v in section.verdicts if any(is_about(v, number) for number in numbers)] for section in answer.sections]
    sections = [AnsweredSection(title=section.title, verdicts=verdicts) for section, verdicts in zip(answer.sections, kept, strict=True)]
    return answer.model_copy(update={"sections": sections})


def _print_plan(question: Question, as_json: bool, quiet: bool) -> None:
    """Print what a question takes that has been checked."""
    if not question.theorems or question.runs or question.results or question.controls:
        raise UsageError("dry_run: is for theorems whose runs are made; give --theorem, and no run files, results or controls beside it")
    if not quiet:
        note(TIMING_NOTICE)
    print_plan(planned(question), question.place, question.follow is not False, as_json)


@contextmanager
def _compilation_told(silent: bool) -> Iterator[None]:
    """Say once that kernels are compiled, when the first one is, unless nothing is to be said."""
    told = silent

    def tell() -> None:
        nonlocal told
        if not told:
            told = True
            note(COMPILE_NOTICE)

    with compilation_heard(tell):
        yield
