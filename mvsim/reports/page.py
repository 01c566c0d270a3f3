"""The HTML page of a report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mvsim.base.extras import load_extra
from mvsim.judging.number_text import number_text, short_margin, status_text
from mvsim.reports.content import Report
from mvsim.version import __version__

MARKS = {
    "fails": "✗",
    "contradicted": "✗",
    "inconclusive": "?",
    "consistent": "≈",
    "established": "✓",
    "holds": "✓",
    "measured": "·",
    "not applicable": "/",
}
"""Signs of the statuses, so that colour is not all that tells them apart."""


def template_engine() -> Any:
    """Return Jinja2, or raise `UsageError` if it is not installed."""
    return load_extra("jinja2", "Jinja2", "report", "report")


def page(report: Report) -> str:
    """Return a report as one HTML document that refers to nothing outside itself."""
    jinja2 = template_engine()
    folder = Path(__file__).with_name("templates")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"number": number_text, "margin": short_margin, "told": status_text}
    return environment.get_template("report.html").render(report=report, marks=MARKS, version=__version__)
