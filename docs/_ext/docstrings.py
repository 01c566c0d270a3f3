"""Docstrings as they stand in the code, made ready for reStructuredText."""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx


def _escape_bars(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Let |x| be an absolute value; in reStructuredText it would be replaced by something else."""
    lines[:] = [line.replace("|", "\\|") for line in lines]


def _keep_shapes(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Let a property begin with its shape and a colon; napoleon takes what stands before a colon in the first line for a type."""
    if what == "property":
        lines.insert(0, "")


def setup(app: Sphinx) -> dict[str, bool]:
    """Let every docstring be read so."""
    app.connect("autodoc-process-docstring", _escape_bars)
    app.connect("autodoc-process-docstring", _keep_shapes, priority=100)  # before napoleon
    return {"parallel_read_safe": True, "parallel_write_safe": True}
