"""The HTML page of a report."""

from __future__ import annotations

from pathlib import Path

from mvsim.errors import UsageError
from mvsim.report.content import Report
from mvsim.verification.verdict import Verdict
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
    environment.filters |= {"number": _number, "margin": _margin, "told": _told}
    return environment.get_template("report.html").render(report=report, marks=MARKS, version=__version__)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _margin(verdict: Verdict) -> str:
    """Return how far inside the bound what was measured lies, in per cent of the bound, as a number where the bound is 0."""
    if verdict.margin is None:
        return ""
    return f"{verdict.margin:+.2g}" if verdict.bound == 0.0 else f"{100.0 * verdict.margin:+.3g} %"


def _told(verdict: Verdict) -> str:
    """Return the status in words: what is only measured and lies beyond the constant of a proof is neither contradicted nor confirmed."""
    beyond = verdict.status == "measured" and verdict.margin is not None and verdict.margin < 0.0
    return "measured, beyond the bound" if beyond else verdict.status
