"""What a display is told of a run, and when."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol


class Progress(Protocol):
    """What `mvsim.simulate` tells a display; see `mvsim.cli.progress` for two."""

    def start(self, info: dict[str, Any]) -> None:
        """Learn that the run is about to step; ``info`` has ``compiling``, ``step``, ``repeated`` and ``steps``.

        A resumed run begins at ``step``, and does those up to ``repeated`` again. ``steps`` is None if nobody knows how many there will be.
        A run that will take long calls this once more with ``seconds``, the least and the most that it is expected to take.

        If ``compiling``, kernels are compiled first, and this is called again when they are there. Kernels that only the first steps need
        are announced in the same way, and ``update`` follows when they are there.
        """

    def update(self, status: dict[str, Any]) -> None:
        """Learn that steps were taken.

        ``status`` has ``step`` and ``steps``, ``time``, ``loss``, ``training_accuracy``, ``rate`` (steps per second), ``seconds_left`` (None if
        unknown), ``until`` (the time at which the run ends if nothing changes any more, or None), ``escapes``
        (`mvsim.runs.simulation.pace.EscapeProgress`, or None) and ``classes``: how many have learned both features, exactly one, or none.
        """

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
def announce_compilation(progress: Progress, info: dict[str, Any]) -> Iterator[Callable[[], None]]:
    """Call ``progress.start`` when the body begins to compile, and when it is ready to step or, if it does not compile, after a second of it."""
    compiles, compiles_later, starts, stepping = threading.Lock(), threading.Lock(), threading.Lock(), threading.Event()

    def say(compiling: bool, once: threading.Lock) -> None:
        if once.acquire(blocking=False):
            progress.start({**info, "compiling": compiling})

    def say_that_it_starts() -> None:
        if not compiles.locked():
            say(False, starts)

    slow = threading.Timer(1.0, say_that_it_starts)

    def ready() -> None:
        slow.cancel()
        say(False, starts)
        stepping.set()

    from mvsim.multi_view.kernels.jit.compiling import on_compilation  # numba is slow to import

    slow.daemon = True
    slow.start()
    try:
        with on_compilation(lambda: say(True, compiles_later if stepping.is_set() else compiles)):
            yield ready
    finally:
        slow.cancel()
        slow.join()  # so that its thread does not outlive the body
