"""``mvsim verify``: verdicts on runs, on theorems over seeds, on the checks themselves."""

from __future__ import annotations

import hashlib
import json
import sys
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from mvsim.archive import ensure_writable
from mvsim.archive.atomic import write_atomically
from mvsim.cli.fields import given_for, text_flags, with_flags
from mvsim.cli.options import FLAG, INTEGER, Json, Quiet, read_integer
from mvsim.cli.progress import progress_on
from mvsim.cli.streams import silence_stdout
from mvsim.cli.verdict_table import counts, print_section
from mvsim.echo import echo, escaped, path_text
from mvsim.errors import UsageError
from mvsim.parameters import Parameters
from mvsim.run import Run
from mvsim.simulation.options import RunOptions
from mvsim.sweep.runs import Runs, open_runs
from mvsim.verification.contents import contents_of
from mvsim.verification.paths import PATHS
from mvsim.verification.run_verdicts import check_step
from mvsim.verification.statements.linear_regime.results import RESULTS
from mvsim.verification.statements.theorems import THEOREMS
from mvsim.verification.sweeps import ask_of_sweep
from mvsim.verification.verdict import asked_for, exit_code, number_of
from mvsim.verification.verify import (
    FOLDER,
    SEEDS,
    ask_of_controls,
    ask_of_results,
    ask_of_runs,
    ask_of_theorems,
    make_folder,
    parameters_along,
)
from mvsim.verification.words import conclusion
from mvsim.version import __version__

DEFAULT_K = (10,)


def _integers(kind: type, tokens: Any) -> tuple[int, ...]:
    return tuple(read_integer(token.value) for token in tokens)


@with_flags(text_flags(Parameters, "Parameters of the runs that are made, and of the data of results"))
def verify(
    *runs: Annotated[Path, Parameter(name="RUN", help="Run files to judge, or the folder of one sweep: its theorems over seeds and k.")],
    theorem: Annotated[
        tuple[str, ...],
        Parameter(
            negative="",
            show_default=False,
            choices=tuple(THEOREMS),
            help="Theorem; may be repeated. With run files it judges these, without any it makes runs over seeds and judges them.",
        ),
    ] = (),
    result: Annotated[
        tuple[str, ...],
        Parameter(
            negative="",
            show_default=False,
            choices=tuple(RESULTS),
            help="Result that needs no runs, on linear models (3.2 to 3.5) and where they fail (4.4); may be repeated.",
        ),
    ] = (),
    claim: Annotated[
        tuple[str, ...],
        Parameter(
            negative="",
            show_default=False,
            help="Step of a proof by its number, such as B.26 or A.10, that counts for the exit code; may be repeated. "
            "Without --theorem, the theorems do not count then.",
        ),
    ] = (),
    strict: Annotated[bool, FLAG, Parameter(help="Let every step of the proofs count for the exit code.")] = False,
    k: Annotated[
        tuple[int, ...],
        Parameter(
            negative="",
            converter=_integers,
            show_default=False,
            help="Of what is judged without run files: number of classes; may be repeated; default 10.",
        ),
    ] = DEFAULT_K,
    path: Annotated[str, Parameter(help=f"Of runs that are made: which d belongs to each k: {PATHS}.", show_default=False)] = "default",
    d: Annotated[
        tuple[str, ...],
        Parameter(negative="", show_default=False, help="Of runs that are made: dimension of a patch; one for all k, or repeated, one for each."),
    ] = (),
    seeds: Annotated[int, INTEGER, Parameter(help="How many runs are made of each theorem, and data sets of each result, at each k.")] = SEEDS,
    controls: Annotated[
        bool,
        FLAG,
        Parameter(help="Run the negative controls, those of the results if any are asked for: without what a statement needs its check must turn."),
    ] = False,
    follow: Annotated[
        bool, Parameter(help="Go on with runs in which a feature is missing until that can be told for good; otherwise they are inconclusive.")
    ] = True,
    runs_dir: Annotated[Path, Parameter(help="Folder where runs are made, and found again.")] = FOLDER,
    out: Annotated[
        Path | None, Parameter(help="JSON file for the verdicts; by default one beside the runs that are made, named after the question.")
    ] = None,
    threads: Annotated[int | None, INTEGER, Parameter(help=RunOptions.model_fields["threads"].description)] = None,
    all_: Annotated[bool, FLAG, Parameter(name="--all", help="Print every verdict, not only the front row.")] = False,
    json_: Json = False,
    force: Annotated[bool, FLAG, Parameter(help="Overwrite the file given by --out.")] = False,
    quiet: Quiet = False,
    **fields: str,
) -> int:
    """Say whether the theorems hold, by how much and in which regime.

    The exit code is about what is asked for, by default the theorems, and about whether the runs are what they say they are: 0 if nothing of
    that fails, is contradicted or inconclusive, 1 if something fails or is contradicted, 3 if something is inconclusive.
    """
    if not (runs or theorem or result or controls):
        raise UsageError("nothing to verify: give run files, --theorem, --result or --controls")
    if runs and result:
        raise UsageError(f"--result {result[0]}: is judged without run files; ask for it by itself")
    if result and path != "default":
        raise UsageError(f"--path {echo(path)}: is for runs that are made; --result {result[0]} needs none")
    for number in claim:
        check_step(number)
    given = given_for(Parameters, fields) | ({"d": d[0] if len(d) == 1 else list(d)} if d else {})
    given |= {"path": path} if path != "default" else {}
    _refuse_unused(runs, theorem + result, k, seeds, given)
    swept = _sweep_of(runs, theorem)
    question = {"runs": [str(run) for run in runs], "theorems": list(theorem), "controls": controls}
    question |= {name: value for name, value in (("claims", list(claim)), ("strict", strict), ("results", list(result))) if value}
    question |= {} if runs or not (theorem or result) else {"k": list(k), "seeds": seeds, "follow": follow, "parameters": dict(given)}
    answer = _check_answer_file(out, runs, force) if out is not None else None if runs and not controls else runs_dir / _name(question)
    if answer is not None and out is None:
        make_folder(runs_dir)
        _check_replaceable(answer, question)

    sections = []
    given.pop("path", None)
    parameters = parameters_along(path, k, given) if theorem and not runs else []
    for section in chain(
        ask_of_sweep(swept, None if quiet else _judging_one_of) if swept is not None else (),
        ask_of_runs(runs, theorem, None if quiet else _judging) if runs and swept is None else (),
        ask_of_theorems(theorem, parameters, seeds, runs_dir, threads, None if quiet else progress_on, follow) if theorem and not runs else (),
        ask_of_results(result, k, seeds, given, controls) if result else (),
        ask_of_controls(runs_dir) if controls and not result else (),
    ):
        sections.append(section)
        if not quiet and (swept is not None or not runs):  # it may take hours until the answer is complete
            origin = f" ({section.origin})" if section.origin else ""
            print(escaped(f"mvsim: {section.title}{origin}: {counts(section.verdicts)}"), file=sys.stderr, flush=True)
    verdicts = [verdict for section in sections for verdict in section.verdicts]
    asked = asked_for(verdicts, theorems=bool(theorem or result) or not claim, claims=claim, strict=strict)
    unjudged = [number for number in claim if not any(number_of(verdict.name) == number for verdict in verdicts)]
    code = exit_code(asked) or (3 if unjudged else 0)
    text = json.dumps({"version": __version__, "question": question, "contents": contents_of(runs), "exit_code": code, "sections": [
        {"title": section.title, "verdicts": [verdict.as_dict() for verdict in section.verdicts]} for section in sections
    ]}, indent=1)  # fmt: skip
    if answer is not None:  # before anything is printed: whoever reads may leave
        write_atomically(answer, f"{text}\n".encode())
    try:
        if json_:
            print(text)
        else:
            for section in sections:
                print_section(section.title, section.verdicts, all_, claim)
            missing = f"; {', '.join(unjudged)}: not about what was judged" if unjudged else ""
            saved = "" if answer is None else f"; saved in {escaped(str(answer))}"
            print(f"exit code {code}, {conclusion(code, asked)}: {counts(asked)}{missing}{saved}")
        sys.stdout.flush()
    except BrokenPipeError:  # the verdict is the exit code, whoever reads the words
        silence_stdout()
    return code


def _sweep_of(runs: tuple[Path, ...], theorem: tuple[str, ...]) -> Runs | None:
    """Return the sweep in a folder, None if run files are given."""
    folders = [path for path in runs if path.is_dir()]
    if not folders:
        return None
    if len(runs) > 1 or theorem:
        raise UsageError(f"{path_text(folders[0])}: the folder of a sweep is judged alone, by the theorems about its runs; give nothing beside it")
    return open_runs(folders[0])


def _refuse_unused(runs: tuple[Path, ...], asked: tuple[str, ...], k: tuple[int, ...], seeds: int, given: dict[str, Any]) -> None:
    """Raise `UsageError` for options of what is judged without run files, where no theorem or result is asked for."""
    unused = [f"--{name}" for name in given]
    unused += ["--k"] if k != DEFAULT_K else []
    unused += ["--seeds"] if seeds != SEEDS else []
    if unused and (runs or not asked):
        raise UsageError(f"{', '.join(unused)}: for --theorem and --result, without run files; a run file has parameters of its own")


def _check_answer_file(out: Path, runs: tuple[Path, ...], force: bool) -> Path:
    """Return ``out`` if the answer may be written there."""
    if any(run.exists() and out.exists() and run.samefile(out) for run in runs):
        raise UsageError(f"out={path_text(out)}: is a run that is to be judged; choose another file")
    if out.exists() and not force:
        raise UsageError(f"out={path_text(out)}: exists already; overwrite it with --force, or choose another file")
    ensure_writable(out, force=True)
    return out


def _check_replaceable(path: Path, question: dict[str, Any]) -> None:
    """Raise `UsageError` if there is a file that is no answer to the same question."""
    if not path.exists():
        return
    try:
        asked = json.loads(path.read_text(encoding="utf-8"))["question"]
    except (OSError, ValueError, KeyError, TypeError):
        asked = None
    if asked != question:
        advice = "move it away, or give another file with --out"
        raise UsageError(f"{path_text(path)}: is not an answer to this question and would be replaced; {advice}")


def _judging(run: Run) -> None:
    """Say on a terminal which run is looked at; of a large one it takes a while."""
    if sys.stderr.isatty():
        print(f"mvsim: judging {escaped(str(run.path))}", file=sys.stderr, flush=True)


def _judging_one_of(run: Run, before: int, runs: int) -> None:
    """Say how many runs have been judged."""
    if sys.stderr.isatty() or before % 10 == 0:
        print(f"mvsim: judging {escaped(str(run.path))}, {before + 1} of {runs}", file=sys.stderr, flush=True)


def _name(question: dict[str, Any]) -> str:
    """Return the name of the file with the answer; asked again, it is written anew."""
    what = [f"theorem-{number}" for number in question["theorems"]] + [f"result-{number}" for number in question.get("results", ())]
    what += ["controls"] if question["controls"] else []
    told = json.dumps(question, sort_keys=True)
    return f"{'-'.join(what)}-{hashlib.sha256(told.encode()).hexdigest()[:10]}.json"
