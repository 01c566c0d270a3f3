"""What a call may not change: streams, environment, warning filters, numpy's error handling, signal handlers, the working directory."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from fuzzing.breach import Breach, short


def world() -> dict[str, object]:
    return {
        "sys.stdout": sys.stdout,
        "sys.stderr": sys.stderr,
        "sys.excepthook": sys.excepthook,
        "os.environ": dict(os.environ),
        "warnings.filters": [one for one in warnings.filters if not _is_of_xarray(one)],
        "warnings.showwarning": warnings.showwarning,
        "numpy.errstate": np.geterr(),
        "signal handlers": [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE)],
        "working directory": os.getcwd(),
        "umask": _umask(),
        "threads": sorted(thread.name for thread in threading.enumerate() if not thread.name.startswith("mvsim_")),  # a pool that is kept
        "integer digits": sys.get_int_max_str_digits(),
    }


def _is_of_xarray(one: tuple) -> bool:
    """Whether a filter is the one that xarray sets whenever it opens a file; to take it back would not be safe where other threads set theirs."""
    pattern = one[1]
    return pattern is not None and pattern.pattern == "decode_timedelta"


def changed(before: dict[str, object], after: dict[str, object]) -> dict[str, str]:
    """Return what is not as it was, and in which way; threads that have ended since do not count."""
    found = {name: f"{before[name]!r} -> {value!r}" for name, value in after.items() if value != before[name]}
    if "threads" in found and not set(after["threads"]) - set(before["threads"]):
        del found["threads"]
    return found


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@dataclass
class Watch:
    """What was seen while watching."""

    breaches: list[Breach] = field(default_factory=list)


@contextlib.contextmanager
def watched(what: str) -> Iterator[Watch]:
    """Report what changed meanwhile, warnings that were given and what was written past Python's own streams.

    Parameters
    ----------
    what : str
        Names the call.
    """
    watch = Watch()
    before = world()
    with _descriptors_kept() as written, warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        inside = world()
        yield watch
        for name, how in changed(inside, world()).items():
            watch.breaches.append(Breach("global state is changed", name, f"{what}: {short(how)}"))
    for warning in given:
        if not foreseen(str(warning.message)):
            text = f"{warning.category.__name__}: {str(warning.message)[:60]}"
            watch.breaches.append(Breach("a Python warning", short(text), f"{warning.filename}:{warning.lineno}"))
    if written():
        watch.breaches.append(Breach("written to a file descriptor", what, short(written())))
    for name, how in changed(before, world()).items():
        watch.breaches.append(Breach("global state is changed", f"{name}, after the context", f"{what}: {short(how)}"))


def foreseen(text: str) -> bool:
    """Whether a warning is one that mvsim means its user to read."""
    ours = ("must be an integer of at least ", "its file system has no locks, so that", "the folder could not be written to the disk at once")
    return (text.startswith("eta=") and "exceeds 2 / lambda_max" in text) or any(words in text for words in ours)


@contextlib.contextmanager
def _descriptors_kept() -> Iterator:
    """Catch what is written to file descriptors 1 and 2 by libraries that know nothing of sys.stdout."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    with tempfile.TemporaryFile() as file:
        kept = [os.dup(number) for number in (1, 2)]
        for number in (1, 2):
            os.dup2(file.fileno(), number)
        text = ""

        def written() -> str:
            return text

        try:
            yield written
        finally:
            for number, copy in zip((1, 2), kept, strict=True):
                os.dup2(copy, number)
                os.close(copy)
            file.seek(0)
            text = file.read().decode(errors="replace")


class TakesTooLongError(BaseException):
    """A case goes on and on."""


WAITING = 20.0
"""How many times longer a case may take on the clock than in seconds of a core: others may keep the machine busy."""


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise `TakesTooLongError` in the main thread after so many seconds of a core."""

    def stop(number: int, frame: object) -> None:
        raise TakesTooLongError

    timers = {signal.SIGPROF: (signal.ITIMER_PROF, seconds), signal.SIGALRM: (signal.ITIMER_REAL, WAITING * seconds)}
    before = {number: signal.signal(number, stop) for number in timers}
    for timer, most in timers.values():
        signal.setitimer(timer, most)
    try:
        yield
    finally:
        for number, (timer, _) in timers.items():
            signal.setitimer(timer, 0.0)
            signal.signal(number, before[number])
