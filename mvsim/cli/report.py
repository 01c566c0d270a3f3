"""``mvsim report``: runs, or a sweep, as one HTML file."""

from __future__ import annotations

import json
import logging
import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from mvsim.archive import ensure_writable
from mvsim.archive.atomic import write_atomically
from mvsim.cli.notices import Notices
from mvsim.cli.options import FLAG, Quiet
from mvsim.echo import escaped, path_text
from mvsim.errors import UsageError
from mvsim.plotting.figure import MOST_RUNS
from mvsim.report.content import report_of_runs, report_of_sweep
from mvsim.report.page import page
from mvsim.run import Run, open_run
from mvsim.sweep.runs import Runs, open_runs
from mvsim.verification.contents import contents_of, contents_of_sweep
from mvsim.verification.statements.theorems import THEOREMS
from mvsim.verification.sweeps import ask_of_sweep, cells_to_judge
from mvsim.verification.verdict import STATUSES, Verdict
from mvsim.verification.verify import Section, ask_of_runs
from mvsim.verification.words import ANSWERED


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
    folders = [path for path in runs if path.is_dir()]
    if folders and len(runs) > 1:
        raise UsageError(f"{path_text(folders[0])}: a sweep has a report of its own; give run files only, or this folder only")
    if len(runs) > MOST_RUNS:
        raise UsageError(f"{len(runs)} runs: a report has at most {MOST_RUNS} side by side; give fewer, or the folder of a sweep")
    place = _place(out, runs, bool(folders), force)
    given, code = None, None
    notices = Notices(quiet)
    command = shlex.join(["mvsim", "report", *map(str, runs)])
    if folders:
        swept = open_runs(folders[0], notices.count)
        if verdicts is not None:
            given, code = _answer(verdicts, contents_of_sweep(swept))
        sections = _judged_sweep(swept, notices) if given is None else given
        notices.begin("drawing")
        contents = report_of_sweep(swept, sections, command)
    else:
        read = [open_run(path) for path in runs]
        if verdicts is not None:
            given, code = _answer(verdicts, contents_of(read))
        sections = _judged_runs(read, notices) if given is None else given
        notices.begin("drawing")
        contents = report_of_runs(read, sections, command)
    write_atomically(place, page(replace(contents, code=code)).encode())
    print(f"saved in {escaped(str(place))}")


def _place(out: Path | None, runs: tuple[Path, ...], swept: bool, force: bool) -> Path:
    """Return where the report goes, if it may be written there."""
    place = out or (runs[0] / "report.html" if swept else runs[0].with_name(f"{runs[0].stem}-report.html"))
    if place.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"out={path_text(place)}: the name of a report must end in .html")
    if place.exists() and not force:
        raise UsageError(f"{path_text(place)}: exists already; overwrite it with --force, or choose another file with --out")
    ensure_writable(place, force=True)
    return place


def _judged_runs(runs: list[Run], notices: Notices) -> list[Section]:
    """Return the verdicts on runs whose training loss has a theorem."""
    methods = {theorem.method for theorem in THEOREMS.values()}
    judged = [run for run in runs if run.method in methods and "data" not in run.provenance["options"]]
    return list(ask_of_runs(judged, (), lambda run: notices.begin(f"judging {run.path}"))) if judged else []


def _judged_sweep(runs: Runs, notices: Notices) -> list[Section]:
    """Return the verdicts on a sweep, none if no theorem is about its runs."""
    judged = any(standing.state == "done" for _, standing in cells_to_judge(runs))
    return list(ask_of_sweep(runs, lambda run, before, of: notices.count(f"judging {run.path}", before, of))) if judged else []


def _answer(path: Path, contents: Mapping[str, str]) -> tuple[list[Section], int]:
    """Return the verdicts in an answer of ``mvsim verify`` about runs with some contents, and its exit code."""
    try:
        answer = json.loads(path.read_text(encoding="utf-8"))
        hashes, code = sorted(answer["contents"].values()), answer["exit_code"]
        if code not in ANSWERED:
            raise ValueError(code)
        sections = [Section(part["title"], [_verdict(one) for one in part["verdicts"]]) for part in answer["sections"]]
    except OSError as error:
        raise UsageError(f"verdicts={path_text(path)}: {error.strerror}; give a file that `mvsim verify --out` wrote") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise UsageError(f"verdicts={path_text(path)}: is no answer of `mvsim verify`; give a file that `mvsim verify --out` wrote") from None
    there = sorted(contents.values())
    if hashes != there:
        what = f"is about {len(hashes)} runs, of which {len({*hashes} & {*there})} are among the {len(there)} of this report as they are now"
        raise UsageError(f"verdicts={path_text(path)}: {what}; ask `mvsim verify` about the runs of this report")
    return sections, code


def _verdict(plain: dict[str, Any]) -> Verdict:
    """Return a verdict from its JSON form; raise `ValueError` if it has a status that there is not."""
    if plain["status"] not in STATUSES:
        raise ValueError(plain["status"])
    return Verdict(**{**plain, **_numbers(plain)})


def _numbers(verdict: dict[str, Any]) -> dict[str, float | None]:
    """Return the numbers of a verdict; those that are not finite are text in JSON."""
    return {name: None if verdict[name] is None else float(verdict[name]) for name in ("measured", "bound", "margin", "violated_at")}
