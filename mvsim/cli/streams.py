"""What becomes of stdout when nobody reads it any more."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import NoReturn

from rich.console import Console


class ResultsConsole(Console):
    """A console on stdout that tells its caller when nobody reads any more; left to itself, rich would end the program, as a failure."""

    def on_broken_pipe(self) -> NoReturn:
        """Go on with the error that writing raised."""
        raise BrokenPipeError


def silence_stdout() -> None:
    """Redirect stdout to /dev/null, or the interpreter complains once more when it flushes at exit."""
    with suppress(OSError, ValueError):  # a stdout without a file descriptor has nothing to flush
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
