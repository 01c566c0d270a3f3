"""The file that an answer of ``mvsim verify`` is kept in: where it may be, what it is called, and writing it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from mvsim.base.echo import path_text
from mvsim.base.errors import UsageError
from mvsim.cli.output import CORRECT, check_place, not_written
from mvsim.papers.question import Question
from mvsim.reports.answer import read_answer
from mvsim.runs.archive.atomic import write_atomically


def check_answer(out: Path, runs: tuple[Path, ...], force: bool) -> Path:
    """Return ``out`` if the answer may be written there."""
    if any(run.exists() and out.exists() and run.samefile(out) for run in runs):
        raise UsageError(f"out={path_text(out)}: is a run that is to be judged; choose another file")
    check_place(out, "answer.json", force)
    return out


def check_replaceable(path: Path, question: Question) -> None:
    """Raise `UsageError` if there is a file that is no answer to the same question."""
    if not path.exists():
        return
    try:
        earlier = read_answer(path).question
    except UsageError:
        earlier = None
    if earlier != question.as_dict():
        advice = "move it away, or give another file with --out"
        raise UsageError(f"{path_text(path)}: is not an answer to this question and would be replaced; {advice}")


def name_of_answer(question: Question) -> str:
    """Return the name of the file with the answer; asked again, it is written anew."""
    what = [name.replace("/", "-") for name in question.names] + (["controls"] if question.controls else [])
    text = json.dumps(question.as_dict(), sort_keys=True)
    return f"{'-'.join(what)}-{hashlib.sha256(text.encode()).hexdigest()[:10]}.json"


def written_or_why_not(path: Path, text: str) -> UsageError | None:
    """Write the answer to a file; return what is wrong if it cannot be written, which is raised when the answer has been printed."""
    try:
        write_atomically(path, f"{text}\n".encode())
    except OSError as error:
        return UsageError(f"{not_written(path, error)}; the answer is above; to keep it in a file, {CORRECT}, and ask again")
    return None
