"""``mvsim report``: runs, or a sweep, as one HTML file."""

from __future__ import annotations

import logging
import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from mvsim.base.echo import escaped, path_text
from mvsim.base.errors import UsageError
from mvsim.cli.options import FLAG, Quiet
from mvsim.cli.output import check_place, runs_text, saving
from mvsim.cli.progress import WorkShown
from mvsim.judging.answer_text import code_of
from mvsim.judging.statement import Section
from mvsim.papers.on_runs import contents_of, contents_of_sweep, done_cells, judge_runs, judge_sweep
from mvsim.pictures.figure import MOST_RUNS
from mvsim.reports.answer import Answer, read_answer
from mvsim.reports.content import report_of_runs, report_of_sweep
from mvsim.reports.page import page, template_engine
from mvsim.runs.archive.atomic import write_atomically
from mvsim.runs.run import Run, open_run
from mvsim.sweeps.runs import SweepRuns, open_sweep


def report(
    *runs: Annotated[Path, Parameter(name="RUN", required=True, help="Run files, or the folder of one sweep.")],
    out: Annotated[
        Path | None, Parameter(name=["--out", "-o"], help="Report, .html; by default report.html in the folder, or beside the first run.")
    ] = None,
    verdicts: Annotated[
        Path | None, Parameter(help="Answer of `mvsim verify RUN ... --out FILE` about the same runs, so that they are not judged again.")
    ] = None,
    force: Annotated[bool, FLAG, Parameter(help="Overwrite the report.")] = False,
    quiet: Quiet = False,
) -> None:
    """Write what came out of runs, or of a sweep, as one HTML file that needs nothing else."""
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # it tells where it keeps its fonts if there is no home
    template_engine()  # before there is any work that would be lost
    folders = [path for path in runs if path.is_dir()]
    if folders and len(runs) > 1:
        raise UsageError(f"{path_text(folders[0])}: a sweep has a report of its own; give run files only, or this folder only")
    if len(runs) > MOST_RUNS:
        raise UsageError(f"{len(runs)} runs: a report has at most {MOST_RUNS} side by side; give fewer, or the folder of a sweep")
    place = _place(out, runs, bool(folders), force)
    answer = None if verdicts is None else read_answer(verdicts, "verdicts")
    command = shlex.join(["mvsim", "report", *map(str, runs)])
    with WorkShown(quiet) as shown:
        if folders:
            swept = open_sweep(folders[0], shown.count)
            sections = _judged_sweep(swept, shown) if answer is None else _sections_of_answer(answer, contents_of_sweep(swept), verdicts)
            shown.begin("drawing")
            contents = report_of_sweep(swept, sections, command)
        else:
            read = [open_run(path) for path in runs]
            sections = _judged_runs(read, shown) if answer is None else _sections_of_answer(answer, contents_of(read), verdicts)
            shown.begin("drawing")
            contents = report_of_runs(read, sections, command)
    if answer is not None:
        contents = replace(contents, statements=answer.statements, strict=answer.strict, code=answer.exit_code)
    text = page(contents)
    with saving(place):
        write_atomically(place, text.encode(errors="backslashreplace"))  # the name of a file need not be text
    print(f"saved in {escaped(str(place))}")


def _place(out: Path | None, runs: tuple[Path, ...], swept: bool, force: bool) -> Path:
    place = out or (runs[0] / "report.html" if swept else runs[0].with_name(f"{runs_text(runs)}-report.html"))
    if place.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"out={path_text(place)}: the name of a report must end in .html")
    check_place(place, "report.html", force)
    return place


def _judged_runs(runs: list[Run], shown: WorkShown) -> list[Section]:
    """Return the verdicts on runs, but for those on somebody's own points: a report has no option that names them."""
    judged = [run for run in runs if "data" not in run.provenance["options"]]
    return list(judge_runs(judged, (), lambda run: shown.begin(f"judging {run.path}"))) if judged else []


def _judged_sweep(runs: SweepRuns, shown: WorkShown) -> list[Section]:
    if not done_cells(runs):
        return []
    shown.begin("judging the runs")
    return list(judge_sweep(runs, lambda run, before, of: shown.count(f"judging {run.path}", before, of)))


def _sections_of_answer(answer: Answer, contents: Mapping[str, str], path: Path | None) -> list[Section]:
    hashes, present = sorted(answer.contents.values()), sorted(contents.values())
    if hashes != present:
        what = f"is about {len(hashes)} runs, of which {len({*hashes} & {*present})} are among the {len(present)} of this report as they are now"
        raise UsageError(f"verdicts={path_text(str(path))}: {what}; ask `mvsim verify` about the runs of this report")
    follows = code_of([verdict for section in answer.sections for verdict in section.verdicts], answer.statements, answer.strict)
    if answer.exit_code != follows:
        what = f"exit_code={answer.exit_code} does not follow from its verdicts, which say {follows}"
        raise UsageError(f"verdicts={path_text(str(path))}: {what}; ask `mvsim verify` again")
    return answer.sections
