"""The HTML page of a report."""

from __future__ import annotations

from pathlib import Path

from mvsim.errors import UsageError
from mvsim.report.content import Report
from mvsim.verification.words import margin_text, number_text, status_text
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


def page(report: Report) -> str:
    """Return a report as one HTML document that refers to nothing outside itself.

    Raises
    ------
    UsageError
        If Jinja2 is not installed.
    """
    try:
        import jinja2
    except ImportError:
        raise UsageError('report: needs Jinja2, which is not installed; install it with `pip install "mvsim[report]"`') from None
    folder = Path(__file__).with_name("templates")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"number": number_text, "margin": margin_text, "told": status_text}
    return environment.get_template("report.html").render(report=report, marks=MARKS, version=__version__)
