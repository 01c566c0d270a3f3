"""The command line: parse, call, print; no numerics.

Nothing heavy is imported here: ``mvsim --help`` must answer at once.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from mvsim.cli.environment import drop_foreign_settings, why_libraries_cannot_start


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the ``mvsim`` command with the words after ``mvsim``, by default those of this process, and return its exit code.

    0 done, 1 something that was asked for fails or is contradicted, 2 bad usage or input, 3 inconclusive, diverged or stalled, 70 a bug,
    130 interrupted.
    """
    drop_foreign_settings()
    try:
        reason = why_libraries_cannot_start()
        try:
            from mvsim.cli.dispatch import dispatch
        except (ImportError, OSError, MemoryError) as error:
            reason = reason or " ".join(f"{type(error).__name__}: {error}".split())
        if reason:
            advice = "raise the limits of this shell (ulimit -v), or install it again"
            print(f"mvsim: a library cannot be loaded ({reason[:200]}); {advice}", file=sys.stderr)
            return 2
        return dispatch(arguments)
    except KeyboardInterrupt:  # before dispatch could take care of it
        return 130
