"""The answer of ``mvsim verify`` as a file."""

from __future__ import annotations

import json
import os
from typing import Any

from pydantic import field_validator

from mvsim.judging.verdict import ExitCode, Verdict
from mvsim.runs.archive.record import Record, read_record


class AnsweredSection(Record):
    """Verdicts that belong together."""

    title: str
    verdicts: list[Verdict]


class Answer(Record):
    """What was asked and what the answer is.

    Attributes
    ----------
    version : str
        Of mvsim.
    question : dict
        See `mvsim.papers.midpoint_mixup.question.Question.as_dict`.
    contents : dict
        Content hashes of the runs that were judged, by file.
    exit_code : int
        Of the command.
    sections : list of AnsweredSection
        The verdicts.
    """

    version: str
    question: dict[str, Any]
    contents: dict[str, str]
    exit_code: ExitCode
    sections: list[AnsweredSection]

    @field_validator("question")
    @classmethod
    def _names_claims(cls, question: dict[str, Any]) -> dict[str, Any]:
        claims = question.get("claims", [])
        if not isinstance(claims, list) or not all(isinstance(claim, str) for claim in claims):
            raise ValueError("claims must be a list of numbers of statements, such as B.26, as text")
        return question

    def text(self) -> str:
        """Return it in JSON; numbers that are not finite are text."""
        sections = [{"title": section.title, "verdicts": [verdict.as_dict() for verdict in section.verdicts]} for section in self.sections]
        return json.dumps({**self.model_dump(exclude={"sections"}), "sections": sections}, indent=1)


def read_answer(path: str | os.PathLike[str], option: str = "") -> Answer:
    """Return the answer in a file; ``option`` is what names it in messages.

    Raises
    ------
    UsageError
        If it cannot be read, or is no answer.
    """
    return read_record(path, Answer, "an answer of `mvsim verify`", "give a file that `mvsim verify --out` wrote", option)
