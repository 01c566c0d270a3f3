"""``mvsim verify``: verdicts on runs, on statements of papers over seeds, on the checks themselves."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Group, Parameter

from mvsim.base.echo import path_text
from mvsim.base.errors import UsageError
from mvsim.base.inputs import make_folder
from mvsim.cli.answer_file import check_answer, check_replaceable, name_of_answer, written_or_why_not
from mvsim.cli.options import FLAG, INTEGER, METAVARS, Flags, Json, Quiet, read_integer, read_value, spellings, with_flags
from mvsim.cli.output import TIMING_NOTICE, note, silence_stdout
from mvsim.cli.progress import COMPILE_NOTICE, WorkShown, progress_on
from mvsim.cli.verdict_table import deciding, print_section, wrapped
from mvsim.cli.verify_plan import print_plan, run_plans
from mvsim.judging.answer_text import answer_sentences, code_of, counts, headlines, is_about, not_about, outcome_line, unanswered
from mvsim.judging.statement import Paper, Request, Section, Statement
from mvsim.multi_view.kernels.jit.compiling import on_compilation
from mvsim.papers.on_runs import contents_of, run_judges
from mvsim.papers.papers import PAPERS, names_a_statement, paper_named, statement_named
from mvsim.papers.question import FORMER_OPTIONS, Question
from mvsim.reports.answer import Answer
from mvsim.runs.run import Run
from mvsim.runs.simulation.options import RunOptions
from mvsim.version import __version__


def _names(kind: type, tokens: Any) -> tuple[str, ...]:
    """Return names of statements as they are typed, which may be one list."""
    return tuple(number.strip() for token in tokens for number in token.value.split(","))


def option_flags() -> Flags:
    """Return a flag for each field of each setting of each paper, which may be repeated: once for each size. Its value is passed on as text."""
    flags: dict[str, tuple[Any, Any]] = {name: (Annotated[tuple[str, ...], Parameter(show=False, negative="")], ()) for name in FORMER_OPTIONS}
    for paper in map(paper_named, PAPERS):
        group = Group(f"Options of statements of {paper.name}, without run files", sort_key=1)
        for model in dict.fromkeys(statement.setting for statement in paper.statements):
            for name, field in model.model_fields.items():
                metavar = METAVARS.get(field.annotation, "VALUE")
                flag = Parameter(name=spellings(name), group=group, negative="", show_default=False, help=field.description, metavar=metavar)
                flags.setdefault(name, (Annotated[tuple[str, ...], flag], ()))
    return flags


@with_flags(option_flags())
def verify(
    *what: Annotated[
        str,
        Parameter(
            name="RUN|PAPER/STATEMENT",
            help="Run files to judge, or the folder of one sweep; and statements, such as midpoint/theorem-4.6 or midpoint/4.6 (--list names all). "
            "With run files: what to judge them by. Without: judged over seeds, on runs or data sets that are made.",
        ),
    ],
    list_: Annotated[bool, FLAG, Parameter(name="--list", help="Name all statements, or those of the named papers; judge nothing.")] = False,
    strict: Annotated[bool, FLAG, Parameter(help="Exit with 1 if any step of a proof is contradicted.")] = False,
    seeds: Annotated[
        int | None,
        INTEGER,
        Parameter(
            help=f"How many runs, or data sets, are made at each size; default {Request.seeds}. "
            "At k = 10 it takes 36 runs without a failure to establish a theorem."
        ),
    ] = None,
    controls: Annotated[
        bool,
        FLAG,
        Parameter(help="Run the negative controls, which the checks must reject: of the statements that are named, else all on runs."),
    ] = False,
    follow: Annotated[
        bool | None,
        Parameter(
            show_default=False,
            help="Continue runs in which a feature is missing until that is decided (the default), at most to "
            f"{max(judge.following_limit for judge in run_judges()):g} times the first escapes; without it they are inconclusive.",
        ),
    ] = None,
    runs_dir: Annotated[Path | None, Parameter(show_default=False, help=f"Folder of the runs that are made; default {Request.folder}.")] = None,
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
            converter=_names,
            show_default=False,
            help="Print the verdicts on this statement, such as B.10 or midpoint/4.6, and no others; what --out writes has all. May be repeated.",
        ),
    ] = (),
    json_: Json = False,
    force: Annotated[bool, FLAG, Parameter(help="Overwrite the file given by --out.")] = False,
    dry_run: Annotated[
        bool,
        FLAG,
        Parameter(help="For statements on runs that are made: tell which runs are there, predict time and memory of the others, and make nothing."),
    ] = False,
    quiet: Quiet = False,
    **fields: tuple[str, ...],
) -> int:
    """Say whether the theorems hold, by how much and in which regime.

    The exit code is about what is asked for, by default the theorems, and about whether the runs are what they say they are: 0 if nothing of
    that fails, is contradicted or inconclusive, 1 if something fails or is contradicted, 3 if something is inconclusive.
    """
    if list_:
        print("\n".join(line for name in what or PAPERS for line in listed(paper_named(name))))
        return 0
    targets = tuple(one if names_a_statement(one) else Path(one) for one in what)
    options = {name: _value(name, values) for name, values in fields.items() if values}
    typed = {"follow": "--follow" if follow else "--no-follow", "folder": f"--runs-dir {path_text(runs_dir or '')}"}
    question = Question(targets, strict, controls, seeds, follow, runs_dir, threads, fields=options, typed=typed)
    question.check()
    shown_only = [statement_named(name, "midpoint")[1] for name in only]
    runs = tuple(Path(str(run)) for run in question.runs)
    place, kept = question.request.folder, not runs  # without runs some are made, or data sets drawn, and the answer is kept beside them
    answer = check_answer(out, runs, force) if out is not None else place / name_of_answer(question) if kept else None
    swept = len(runs) == 1 and runs[0].is_dir()
    contents: dict[str, str] = {}
    shown = WorkShown(quiet)

    def judging(run: Run, before: int, of: int) -> None:
        contents.update(contents_of([run]))  # of what is judged: its file may be another one by the time of the answer
        what = f"judging {run.path}"
        if of:
            shown.count(what, before, of)
        else:
            shown.begin(what)

    judged = question.sections(judging, None if quiet else progress_on)
    if dry_run:
        _print_plan(question, json_, quiet)
        return 0
    if answer is not None and out is None:
        make_folder(place)
        check_replaceable(answer, question)

    sections: list[Section] = []
    with shown, _announcing_compilation(silent=quiet or question.makes_runs):  # runs that are made tell of it themselves
        if not (runs or question.makes_runs):
            shown.begin(f"judging {', '.join(question.names) or 'the negative controls'}")
        for section in judged:
            sections.append(section)
            if not quiet and (swept or not runs):  # it may take hours until the answer is complete
                origin = f" ({section.origin})" if section.origin else ""
                note(f"{section.title}{origin}: {counts(deciding(section.verdicts))}")
    verdicts = [verdict for section in sections for verdict in section.verdicts]
    statements = question.statements
    code = code_of(verdicts, statements, strict)
    whole = Answer(version=__version__, question=question.as_dict(), contents=contents, exit_code=code, sections=sections)
    unsaved = None if answer is None else written_or_why_not(answer, whole.text())  # before anything is printed: whoever reads may leave
    try:
        if json_:
            print(_about(whole, shown_only).text())
        else:
            sentences: list[str] = []
            if not only and (len(sections) > 1 or not headlines(sections[0].verdicts)):  # one run begins with it anyway
                sentences = answer_sentences(sections, statements, strict, code)
            elif not only:
                sentences = [not_about(statement) for statement in unanswered(verdicts, statements)]
            for words in sentences:
                print("\n".join(wrapped(words)))
            for section in sections:
                print_section(section, all_, [one for one in statements if one.step], shown_only)
            print("\n".join(wrapped(outcome_line(verdicts, statements, strict, None if unsaved else answer))))
        sys.stdout.flush()
    except BrokenPipeError:  # the verdict is the exit code, whoever reads the words
        silence_stdout()
    if unsaved is not None:
        raise unsaved
    return code


def _value(name: str, values: tuple[str, ...]) -> Any:
    sizes = {statement.size for paper in map(paper_named, PAPERS) for statement in paper.statements}
    try:
        read = [read_integer(value) if name in sizes else read_value(name, value) for value in values]
    except ValueError as error:
        raise UsageError(f"{name}={error}") from None
    return read[0] if len(read) == 1 else read


def listed(paper: Paper) -> list[str]:
    """Return what a paper is, and each of its statements: its name, how it is judged and its size, and below what it says."""
    lines = wrapped(f"{paper.name}: {paper.title}. {paper.citation}.")
    for statement in paper.statements:
        how = "judged on runs" if statement.procedure.makes_runs else "judged on data"
        lines += [f"  {paper.name}/{statement.identifier} ({how}, --{statement.size})", *wrapped(statement.says, 6)]
    return lines


def _about(answer: Answer, only: Sequence[Statement]) -> Answer:
    if not only:
        return answer
    sections = [replace(section, verdicts=[v for v in section.verdicts if any(is_about(v, one) for one in only)]) for section in answer.sections]
    return answer.model_copy(update={"sections": sections})


def _print_plan(question: Question, as_json: bool, quiet: bool) -> None:
    if question.runs or question.controls or not all(statement.procedure.makes_runs for statement in question.statements):
        raise UsageError("dry_run: is for statements on runs that are made, such as midpoint/theorem-4.6; give nothing else beside")
    with WorkShown(quiet) as shown:
        shown.begin(TIMING_NOTICE)
        plans = run_plans(question)
    print_plan(plans, question.request.folder, question.request.follow, as_json)


@contextmanager
def _announcing_compilation(silent: bool) -> Iterator[None]:
    """Say once that kernels are compiled, when the first one is, unless nothing is to be said."""
    announced = silent

    def tell() -> None:
        nonlocal announced
        if not announced:
            announced = True
            note(COMPILE_NOTICE)

    with on_compilation(tell):
        yield
