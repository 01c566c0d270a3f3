"""What a command shows on a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import termios
from collections.abc import Sequence
from pathlib import Path


def shown_on_terminal(command: Sequence[str], folder: Path, columns: int = 80, lines: int = 24) -> tuple[int, str]:
    """Return the exit code of a command and all that it writes to a terminal of some size, escape sequences included.

    A command asks its terminal for the size and for colours, so there has to be one.

    Parameters
    ----------
    command : sequence of str
        With its arguments.
    folder : Path
        In which it is run.
    columns, lines : int
        Of the terminal.
    """
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": str(columns), "LINES": str(lines)}
    text = b""
    with subprocess.Popen(command, stdout=its, stderr=its, cwd=folder, env=environment) as process:
        os.close(its)
        while part := _read(ours):
            text += part
    os.close(ours)
    return process.returncode, text.decode()


def _read(terminal: int) -> bytes:
    """Return what has been written; nothing once the other end is closed, which Linux tells by an error."""
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""
