"""The command line: parse, call, print; no numerics.

Nothing heavy is imported here: ``mvsim --help`` must answer at once.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the ``mvsim`` command with the words after ``mvsim``, by default those of this process, and return its exit code.

    0 done, 1 something that was asked for fails or is contradicted, 2 bad usage or input, 3 inconclusive, diverged or stalled, 70 a bug,
    130 interrupted.
    """
    os.environ.pop("MPLBACKEND", None)  # of a notebook or a display; pictures are files here, and matplotlib refuses a backend that is not there
    if sys.warnoptions:  # PYTHONWARNINGS=error would make an error of each warning of a library
        warnings.simplefilter("default")
    try:
        try:
            from mvsim.cli.dispatch import dispatch
        except (ImportError, OSError, MemoryError) as error:
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            print(f"mvsim: a library cannot be loaded ({reason}); raise the limits of this shell (ulimit -v), or install it again", file=sys.stderr)
            return 2
        return dispatch(arguments)
    except KeyboardInterrupt:  # before dispatch could take care of it
        return 130
