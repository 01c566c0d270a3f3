"""The command line: parse, call, print; no numerics.

Nothing heavy is imported here: ``mvsim --help`` must answer at once.
"""

from __future__ import annotations

from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the ``mvsim`` command."""
    try:
        from mvsim.cli.dispatch import dispatch

        return dispatch(arguments)
    except KeyboardInterrupt:  # before dispatch could take care of it
        return 130
