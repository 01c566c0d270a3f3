"""What is said if a result cannot be written: which file, why, and what to do."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mvsim.base.echo import path_text
from mvsim.base.errors import UsageError

CORRECT = "correct that, or choose another file with --out"
"""What to do about a file that could not be written."""


def refuse_folder(out: Path, example: str) -> None:
    """Raise `UsageError` if a file is to be written where a folder is."""
    if out.is_dir():
        raise UsageError(f"out={path_text(out)}: is a directory; give the name of a file, for example {example}")


@contextmanager
def saving(path: str | os.PathLike[str]) -> Iterator[None]:
    """Write ``path`` inside; if the system cannot, raise `UsageError` that says so, why, and what to do."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"{not_written(path, error)}; {CORRECT}") from error


def not_written(path: str | os.PathLike[str], error: OSError) -> str:
    """Say that a file could not be written, and why."""
    return f"{path_text(path)}: could not be written: {error.strerror or error}"
