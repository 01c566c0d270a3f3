"""The command line: parse, call, print; no numerics.

Nothing heavy is imported here: ``mvsim --help`` must answer at once.
"""

from __future__ import annotations

from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the ``mvsim`` command.

    Parameters
    ----------
    arguments : sequence of str, optional
        The words after ``mvsim``; by default those of this process.

    Returns
    -------
    int
        The exit code: 0 done, 1 something that was asked for fails or is contradicted, 2 bad usage or input, 3 inconclusive, diverged or
        stalled, 70 a bug, 130 interrupted.
    """
    try:
        from mvsim.cli.dispatch import dispatch

        return dispatch(arguments)
    except KeyboardInterrupt:  # before dispatch could take care of it
        return 130
