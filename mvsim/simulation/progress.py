"""What a display is told of a run, and when."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol


class Progress(Protocol):
    """What `mvsim.simulate` tells a display; see `mvsim.cli.progress` for two."""

    def start(self, info: dict[str, Any]) -> None:
        """Learn that the run is about to step; ``info`` has ``compiling`` (it still prepares), ``step`` and ``steps``."""

    def update(self, status: dict[str, Any]) -> None:
        """Learn that steps were taken."""

    def finish(self, summary: dict[str, Any]) -> None:
        """Learn that the run ended."""


class Silent:
    """A display that shows nothing."""

    def start(self, info: dict[str, Any]) -> None:
        """Show nothing."""

    def update(self, status: dict[str, Any]) -> None:
        """Show nothing."""

    def finish(self, summary: dict[str, Any]) -> None:
        """Show nothing."""


@contextmanager
def compilation_announced(progress: Progress, info: dict[str, Any]) -> Iterator[None]:
    """Call ``progress.start`` once: when the body is done, or after a second of it, which may be compilation."""
    once = threading.Lock()

    def start(compiling: bool) -> None:
        if once.acquire(blocking=False):
            progress.start({**info, "compiling": compiling})

    notice = threading.Timer(1.0, start, [True])
    notice.daemon = True
    notice.start()
    try:
        yield
    finally:
        notice.cancel()
    start(False)
