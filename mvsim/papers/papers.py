"""The papers that mvsim judges, by the names that the command line has for them."""

from __future__ import annotations

import importlib
from functools import cache

from mvsim.base.echo import echo, suggestion
from mvsim.base.errors import UsageError
from mvsim.judging.statement import Paper, Statement

PAPERS: dict[str, str] = {"midpoint": "mvsim.papers.midpoint_mixup.paper", "variance": "mvsim.papers.minimum_variance.paper"}
"""Name -> module with its ``PAPER``, which is imported when it is asked for."""


@cache
def paper_named(name: str) -> Paper:
    """Return a paper, or raise `UsageError`."""
    if name not in PAPERS:
        raise UsageError(f"{echo(name)}: is no paper{suggestion(name, PAPERS)}; must be one of {', '.join(PAPERS)}")
    paper = importlib.import_module(PAPERS[name]).PAPER
    assert isinstance(paper, Paper)
    return paper


def statement_named(text: str, of: str = "") -> tuple[Paper, Statement]:
    """Return a statement and its paper by PAPER/KIND-NUMBER, or PAPER/NUMBER where that is unique."""
    name, slash, statement = text.partition("/")
    paper = paper_named(name if slash or not of else of)
    return paper, paper.statement(statement if slash or not of else text)


def names_a_statement(text: object) -> bool:
    """Whether something is meant as the name of a statement rather than of a file: it begins with the name of a paper."""
    return isinstance(text, str) and text.partition("/")[0] in PAPERS and "/" in text
