"""Remarks on stderr, where results are not."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TextIO

from mvsim.base.echo import escaped


def note(line: str, stream: TextIO | None = None) -> None:
    """Print a remark as one line, by default on stderr.

    That nobody reads it is no reason to stop; nor is that a signal arrives while something is printed, and has a remark of its own.
    """
    with suppress(OSError, RuntimeError):
        print(f"mvsim: {escaped(line)}", file=sys.stderr if stream is None else stream, flush=True)
