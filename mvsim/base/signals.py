"""Signals that take effect where they do no harm: after a step, or after a function is compiled."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def remember_signals() -> Iterator[Callable[[], bool]]:
    """Give a function that tells whether SIGINT, SIGTERM or SIGHUP has arrived; a second signal has its usual effect.

    A KeyboardInterrupt raised within a step may be lost in a callback from a C library. Who cannot wait for the end of the step sends a
    second one. Signals arrive in the main thread only; in another one the answer is always no.
    """
    arrived = False
    if threading.current_thread() is not threading.main_thread():
        yield lambda: arrived
        return
    before = _handlers()

    def remember(number: int, frame: Any) -> None:
        nonlocal arrived
        if arrived:
            before[number](number, frame)
        arrived = True

    with _installed(before, remember):
        yield lambda: arrived


_LISTENERS: list[Callable[[], None]] = []


@contextmanager
def on_deferred_signal(tell: Callable[[], None]) -> Iterator[None]:
    """Call ``tell`` at once whenever a signal arrives within this block that `defer_signals` lets wait: whoever sent it should know."""
    _LISTENERS.append(tell)
    try:
        yield
    finally:
        _LISTENERS.remove(tell)


@contextmanager
def defer_signals() -> Iterator[None]:
    """Let SIGINT, SIGTERM and SIGHUP take effect after the block, which is short.

    Compilers and HDF5 call back into Python, and an exception that is raised in such a callback is dropped after it has been printed.
    """
    arrived: list[tuple[int, Any]] = []

    def defer(number: int, frame: Any) -> None:
        arrived.append((number, frame))
        if len(arrived) == 1:
            for tell in _LISTENERS:
                tell()

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = _handlers()
    with _installed(before, defer):
        yield
    for number, frame in arrived[:1]:
        before[number](number, frame)


def _handlers() -> dict[int, Any]:
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    return {number: handler for number, handler in handlers.items() if callable(handler)}


@contextmanager
def _installed(before: dict[int, Any], handler: Callable[[int, Any], None]) -> Iterator[None]:
    for number in before:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)
