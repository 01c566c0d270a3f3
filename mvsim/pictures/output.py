"""Write a figure to a file: whole or not at all, never over another file unasked, the same bytes every time."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from mvsim.base.echo import echo, path_text
from mvsim.base.errors import UsageError
from mvsim.base.inputs import check_kind
from mvsim.pictures.style import styled
from mvsim.runs.archive import ensure_writable
from mvsim.runs.archive.atomic import write_atomically


class Picture(Figure):
    """A `matplotlib.figure.Figure` that no window and no global state of matplotlib knows of."""

    def _repr_png_(self) -> bytes:
        """Return the picture for a notebook: these ask every object for it by this name."""
        file = io.BytesIO()
        with styled():
            self.savefig(file, format="png", metadata={"Software": None})
        return file.getvalue()


if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf")
"""What a picture can be written as, told by the end of the file name."""

# Dates and the version of matplotlib would make files differ from one day or machine to the next.
_METADATA: dict[str, dict[str, str | None]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


def check_output(path: str | os.PathLike[str], force: bool = False, formats: Sequence[str] = FORMATS) -> Path:
    """Return ``path`` if a picture of one of some formats may be written there, else raise `UsageError`."""
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path):
        raise UsageError(f"path={echo(path)}: must be the name of a picture, for example run.png")
    path = Path(path)
    if path.suffix.lower().removeprefix(".") not in formats:
        kind = "a picture" if formats == FORMATS else "an animation"
        raise UsageError(f"{path_text(path)}: the name of {kind} must end in {', '.join('.' + name for name in formats)}")
    if path.is_file() and not force:
        raise UsageError(f"{path_text(path)}: exists already; overwrite it with --force, or choose another file")
    ensure_writable(path, force=True)
    return path


def save_figure(figure: Figure, path: str | os.PathLike[str], force: bool = False) -> Path:
    """Write a figure to ``path``, as the end of its name says (one of `FORMATS`); ``force`` overwrites a file.

    Raises `UsageError` if that is no figure, or the file may not be written; see `check_output`.
    """
    from matplotlib.figure import Figure

    check_kind("figure", figure, Figure, "a figure of matplotlib; make one with run_figure")
    path = check_output(path, force)
    form = path.suffix.lower().removeprefix(".")
    picture = io.BytesIO()
    with styled():
        figure.savefig(picture, format=form, metadata=_METADATA[form])
    write_atomically(path, picture.getvalue())
    return path
