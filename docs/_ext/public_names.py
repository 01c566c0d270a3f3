"""The page of all public names of mvsim, written before each build from the names themselves."""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config

import mvsim

HEAD = """Python
======

Everything that ``import mvsim`` offers. All quantities are dimensionless; shapes stand in parentheses, in the order of
:doc:`the naming page </naming>`. What is raised for bad input is one exception, `mvsim.UsageError`, with one line that names the argument.
"""

GROUPS = {
    "A problem": ("multi_view.parameters",),
    "Data and initial weights": ("multi_view.data", "multi_view.initialisation"),
    "Losses, gradients, features": ("multi_view.activations", "multi_view.objectives", "runs.recording"),
    "Runs": ("runs", "sweeps", "cli"),
    "Verdicts": ("papers", "judging"),
    "Pictures": ("pictures",),
    "Errors": ("base.errors",),
}
"""Headings, each with the packages whose names stand below it; a package within another counts for the name that is longer."""

OTHERS = "More"
"""The heading of names from other packages."""


def grouped(public: dict[str, str]) -> dict[str, list[str]]:
    """Return the names under their headings, given name -> module."""
    heading_of = {f"mvsim.{package}.": heading for heading, packages in GROUPS.items() for package in packages}
    groups: dict[str, list[str]] = {heading: [] for heading in (*GROUPS, OTHERS)}
    for name, module in public.items():
        package = max((package for package in heading_of if f"{module}.".startswith(package)), key=len, default="")
        groups[heading_of.get(package, OTHERS)].append(name)
    return {heading: names for heading, names in groups.items() if names}


def _write(app: Sphinx, config: Config) -> None:
    parts = [HEAD]
    for heading, names in grouped(mvsim._PUBLIC).items():
        listed = "".join(f"   mvsim.{name}\n" for name in names)
        parts.append(f"{heading}\n{'-' * len(heading)}\n\n.. autosummary::\n   :toctree: .\n   :nosignatures:\n\n{listed}")
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    text, page = "\n".join(parts), folder / "index.rst"
    if not page.exists() or page.read_text(encoding="utf-8") != text:
        page.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the page when the settings have been read."""
    app.connect("config-inited", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
