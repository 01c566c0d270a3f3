"""What happened, as one line on stderr and an exit code; nothing else in mvsim knows exit codes."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence

from cyclopts import CycloptsError, UnusedCliTokensError

from mvsim.errors import DivergedError, Interrupted, MvsimError, StalledError

DONE = 0
BAD_INPUT = 2
INCONCLUSIVE = 3
INTERRUPTED = 130

HANDLED = (MvsimError, CycloptsError, OSError, MemoryError, KeyboardInterrupt)
"""Everything that gets a line of its own; any other exception is a bug and traces back."""


def exit_code(error: BaseException) -> int:
    """Return the exit code of an error in `HANDLED`."""
    if isinstance(error, Interrupted | KeyboardInterrupt):
        return INTERRUPTED
    if isinstance(error, DivergedError | StalledError):
        return INCONCLUSIVE
    return BAD_INPUT


def message(error: BaseException, arguments: Sequence[str]) -> str:
    """Return the one line that explains an error in `HANDLED`.

    Parameters
    ----------
    error : BaseException
        The error.
    arguments : sequence of str
        The words after ``mvsim``, for the command that resumes an interrupted run.

    Returns
    -------
    str
        One line without a line break.
    """
    if isinstance(error, Interrupted):
        return _one_line(f"{error}; resume with: {resuming_command(arguments)}")
    if isinstance(error, KeyboardInterrupt):
        return "interrupted before anything new was saved"
    if isinstance(error, MemoryError):
        return _one_line(f"not enough memory{_detail(error)}; use a smaller k, m, N or G, or --noise codebook")
    if isinstance(error, OSError) and not isinstance(error, MvsimError):
        reason = error.strerror or str(error) or type(error).__name__
        return _one_line(f"{error.filename}: {reason}" if error.filename else reason)
    if isinstance(error, UnusedCliTokensError):
        return f"{shlex.join(error.unused_tokens or [])}: not expected here; the name of an option starts with --"
    return _one_line(str(error))


def resuming_command(arguments: Sequence[str]) -> str:
    """Return the same command with ``--resume``, and without ``--force``, which would start again; what verifies goes on by itself."""
    words = [word for word in arguments if word not in ("--force", "--resume")]
    return shlex.join(["mvsim", *words, *(["--resume"] if "simulate" in words[:1] else [])])


def _detail(error: MemoryError) -> str:
    return f" ({error})" if str(error) else ""


def _one_line(text: str) -> str:
    return " ".join(text.replace(os.linesep, " ").split())
