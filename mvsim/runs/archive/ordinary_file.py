"""Open a file that somebody names, if it is one: a pipe would be waited for, and a device may be without end."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import IO

from mvsim.base.echo import path_text, shortened
from mvsim.base.errors import UsageError


def open_ordinary(path: str | os.PathLike[str], advice: str, option: str = "") -> IO[bytes]:
    """Open an ordinary file for reading."""
    name = f"{option}={path_text(path)}" if option else path_text(path)
    try:
        mode = Path(path).stat().st_mode
        if stat.S_ISDIR(mode):
            raise UsageError(f"{name}: is a directory; {advice}")
        if not stat.S_ISREG(mode):
            raise UsageError(f"{name}: not an ordinary file; {advice}")
        return Path(path).open("rb")
    except UsageError:
        raise
    except FileNotFoundError:
        raise UsageError(f"{name}: no such file; {advice}") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{name}: cannot be opened: {getattr(error, 'strerror', None) or shortened(str(error))}; {advice}") from None
