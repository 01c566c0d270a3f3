"""Links that are right in the repository, made right on the site as well."""

from __future__ import annotations

from sphinx.application import Sphinx

MOVED = {"](../validation/RESULTS.md)": "](results.md)"}
"""The page of results is a page of the site."""


def _replace(app: Sphinx, name: str, source: list[str]) -> None:
    for written, meant in MOVED.items():
        source[0] = source[0].replace(written, meant)


def setup(app: Sphinx) -> dict[str, bool]:
    """Let every page be read with the links replaced."""
    app.connect("source-read", _replace)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
