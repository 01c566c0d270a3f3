"""The answer of ``mvsim verify`` as a file."""

from __future__ import annotations

import json
import os
from typing import Any

from pydantic import field_validator

from mvsim.judging.statement import Section, Statement
from mvsim.judging.verdict import ExitCode
from mvsim.papers.papers import statement_named
from mvsim.runs.archive.record import Record, read_record


class Answer(Record):
    """What was asked and what the answer is."""

    version: str
    question: dict[str, Any]  # see `mvsim.papers.question.Question.as_dict`
    contents: dict[str, str]  # Content hashes of the runs that were judged, by file
    exit_code: ExitCode
    sections: list[Section]

    @field_validator("question")
    @classmethod
    def _names_statements(cls, question: dict[str, Any]) -> dict[str, Any]:
        names = question.get("statements", [])
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise ValueError("statements must be a list of names, such as midpoint/theorem-4.6, as text")
        for name in names:
            statement_named(name)
        return question

    @property
    def statements(self) -> list[Statement]:
        """Those that were named."""
        return [statement_named(name)[1] for name in self.question.get("statements", [])]

    @property
    def strict(self) -> bool:
        """Whether all steps of the proofs count."""
        return bool(self.question.get("strict", False))

    def text(self) -> str:
        """Return it in JSON; numbers that are not finite are text."""
        return json.dumps({**self.model_dump(exclude={"sections"}), "sections": [section.as_dict() for section in self.sections]}, indent=1)


def read_answer(path: str | os.PathLike[str], option: str = "") -> Answer:
    """Return the answer in a file; ``option`` is what names it in messages."""
    return read_record(path, Answer, "an answer of `mvsim verify`", "give a file that `mvsim verify --out` wrote", option)
