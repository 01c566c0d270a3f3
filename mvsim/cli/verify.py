"""``mvsim verify``: verdicts on runs, on theorems over seeds, on the checks themselves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from mvsim.archive import ensure_writable
from mvsim.archive.atomic import write_atomically
from mvsim.cli.fields import given_fields, with_fields
from mvsim.cli.progress import progress_on
from mvsim.cli.simulate import FLAG, INTEGER
from mvsim.cli.verdict_table import print_section
from mvsim.errors import UsageError
from mvsim.parameters import Parameters
from mvsim.verification.questions import FOLDER, SEEDS, Section, ask_of_controls, ask_of_runs, ask_of_theorems
from mvsim.verification.theorems import THEOREMS
from mvsim.verification.verdict import exit_code
from mvsim.version import __version__


def _integers(kind: type, tokens: Any) -> tuple[int, ...]:
    """Read integers; left to itself, cyclopts rounds 1.5 to 2."""
    return tuple(int(token.value) for token in tokens)


@with_fields(Parameters, "Parameters of the runs that are made")
def verify(
    *runs: Annotated[Path, Parameter(name="RUN", help="Run files to judge.")],
    theorem: Annotated[
        tuple[str, ...],
        Parameter(negative="", choices=tuple(THEOREMS), help="Theorem to judge; may be repeated. Without run files, over seeds, on runs made now."),
    ] = (),
    k: Annotated[tuple[int, ...], Parameter(negative="", converter=_integers, help="Number of classes; may be repeated.")] = (10,),
    seeds: Annotated[int, INTEGER, Parameter(help="Runs of each theorem at each k.")] = SEEDS,
    controls: Annotated[
        bool, FLAG, Parameter(help="Run the negative controls: what a statement needs is taken away, and its check must turn.")
    ] = False,
    runs_dir: Annotated[Path, Parameter(help="Folder where runs are made, and found again.")] = FOLDER,
    out: Annotated[
        Path | None, Parameter(help="JSON file for the verdicts; by default one beside the runs that are made, named after the question.")
    ] = None,
    threads: Annotated[int | None, INTEGER, Parameter(help="Threads; by default all cores.")] = None,
    json_: Annotated[bool, FLAG, Parameter(name="--json", help="Print the JSON instead of tables.")] = False,
    force: Annotated[bool, FLAG, Parameter(help="Overwrite the file given by --out.")] = False,
    quiet: Annotated[bool, FLAG, Parameter(help="No progress on stderr.")] = False,
    **fields: str | None,
) -> int:
    """Say whether the theorems hold, by how much and in which regime.

    The exit code is 0 if everything that can be decided holds, 1 if something fails, 3 if something is inconclusive.
    """
    if not (runs or theorem or controls):
        raise UsageError("nothing to verify: give run files, --theorem or --controls")
    given = given_fields(fields)
    if given and not theorem:
        raise UsageError(f"{', '.join(f'--{name}' for name in given)}: for runs that are made, with --theorem and without run files")
    if out is not None:
        ensure_writable(out, force=force, resume=False)
    sections = []
    for section in _answers(runs, theorem, k, given, seeds, controls, runs_dir, threads, quiet):
        sections.append(section)
        if not json_:
            print_section(*section)
    verdicts = [verdict for section in sections for verdict in section.verdicts]
    code = exit_code(verdicts)
    question = {"runs": [str(run) for run in runs], "theorems": list(theorem), "controls": controls}
    question |= {} if runs else {"k": list(k), "seeds": seeds, "parameters": given}
    text = json.dumps({"version": __version__, "question": question, "exit_code": code, "sections": [
        {"title": section.title, "verdicts": [verdict.as_dict() for verdict in section.verdicts]} for section in sections
    ]}, indent=1)  # fmt: skip
    path = out or (None if runs and not controls else runs_dir / _name(theorem, k, seeds, controls))
    if path is not None:
        write_atomically(path, f"{text}\n".encode())
    print(text if json_ else _last_words(verdicts, path))
    return code


def _answers(
    runs: tuple[Path, ...], theorem: tuple[str, ...], k: tuple[int, ...], given: dict[str, Any], seeds: int, controls: bool, runs_dir: Path,
    threads: int | None, quiet: bool,
) -> Iterator[Section]:  # fmt: skip
    """Yield the sections that were asked for."""
    if runs:
        if given:
            raise UsageError(f"{', '.join(f'--{name}' for name in given)}: the parameters of a run are those of its file")
        yield from ask_of_runs(runs, theorem)
    elif theorem:
        parameters = [Parameters(k=one, **given) for one in k]
        yield from ask_of_theorems(theorem, parameters, seeds, runs_dir, threads, None if quiet else progress_on)
    if controls:
        yield from ask_of_controls(runs_dir)


def _name(theorem: tuple[str, ...], k: tuple[int, ...], seeds: int, controls: bool) -> str:
    """Return the name of the file with the answer; asked again, it is written anew."""
    parts = [f"theorem-{number}" for number in theorem] + ([f"k{one}" for one in k] + [f"seeds{seeds}"] if theorem else [])
    return "-".join([*parts, *(["controls"] if controls else [])]) + ".json"


def _last_words(verdicts: list[Any], path: Path | None) -> str:
    counts = {status: sum(verdict.status == status for verdict in verdicts) for status in ("holds", "fails", "inconclusive", "measured")}
    said = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
    return said if path is None else f"{said}; saved in {path}"
