"""The one shape that all studies have."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

from lib.paths import STUDIES


def study_names() -> list[str]:
    """Return the names of all studies, in alphabetical order."""
    return sorted(path.stem for path in STUDIES.glob("*.py") if path.stem != "__init__")


@dataclass(frozen=True)
class Study:
    """One study: a module of `studies` with these names in it.

    Attributes
    ----------
    name : str
        Name of the module and of its results.
    description : str
        Docstring of the module: what is measured, how, and when that fails.
    title : str
        ``TITLE``: heading of its passage on the page of results.
    options : callable
        ``options(parser)`` (optional) adds the options of the study to an `argparse.ArgumentParser`.
    measure : callable
        ``measure(options) -> dict`` measures and returns results that JSON can hold. Beside its own options it is given ``options.command``,
        ``options.file`` (`lib.results.ResultsFile`: results so far, and results kept on the way) and ``options.figures``
        (`lib.figures.Figures`).
    judge : callable
        ``judge(results) -> list of str`` returns what is wrong according to the results alone, one sentence each; empty if nothing is. A missed
        target of time, gradients or memory is a `lib.faults.TargetMissed`; all else counts as a failed check.
    headline : callable
        ``headline(results) -> str`` says in one sentence what came out, without a full stop: above the passage, and at the top of the page.
    passage : callable
        ``passage(results) -> str`` says in Markdown what was done, and the details of what came out.
    quotes : callable
        ``quotes(results) -> list of str`` (optional) returns the words that the README quotes.
    citations : callable
        ``citations(results) -> dict of str to list of str`` (optional) returns the words that pages of ``docs/`` quote, by the name of the page.
    pictures : callable
        ``pictures(results) -> dict of str to Figure`` (optional) draws what was measured, each picture with its name, from the results alone: after
        measuring, and again with ``--draw``.
    """

    name: str
    description: str
    title: str
    options: Callable[[argparse.ArgumentParser], None]
    measure: Callable[[argparse.Namespace], dict[str, Any]]
    judge: Callable[[dict[str, Any]], list[str]]
    headline: Callable[[dict[str, Any]], str]
    passage: Callable[[dict[str, Any]], str]
    quotes: Callable[[dict[str, Any]], list[str]]
    citations: Callable[[dict[str, Any]], dict[str, list[str]]]
    pictures: Callable[[dict[str, Any]], dict[str, Any]]

    @classmethod
    def load(cls, name: str) -> Self:
        """Import the study with this name."""
        module = importlib.import_module(f"studies.{name}")
        return cls(
            name=name,
            description=(module.__doc__ or "").strip(),
            title=module.TITLE,
            options=getattr(module, "options", lambda parser: None),
            measure=module.measure,
            judge=module.judge,
            headline=module.headline,
            passage=module.passage,
            quotes=getattr(module, "quotes", lambda results: []),
            citations=getattr(module, "citations", lambda results: {}),
            pictures=getattr(module, "pictures", lambda results: {}),
        )
