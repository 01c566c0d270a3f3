"""What a library prints in one thread, kept from standard output."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class _Muted:
    """Standard output that drops what some threads write. `contextlib.redirect_stdout` would drop what all threads write.

    Parameters
    ----------
    stream : file
        Where the others write.
    """

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self.silent: set[int] = set()

    def write(self, text: str) -> int:
        """Write text, unless this thread is silent."""
        return len(text) if threading.get_ident() in self.silent else self.stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


_changes = threading.Lock()


@contextmanager
def this_thread_muted() -> Iterator[None]:
    """Drop what this thread prints within the block. Blocks may overlap in several threads, and are not nested."""
    with _changes:
        muted = sys.stdout if isinstance(sys.stdout, _Muted) else _Muted(sys.stdout)
        muted.silent.add(threading.get_ident())
        sys.stdout = muted
    try:
        yield
    finally:
        with _changes:
            muted.silent.discard(threading.get_ident())
            if not muted.silent and sys.stdout is muted:
                sys.stdout = muted.stream
