"""Signals that end a run after the step, not within it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def signals_remembered() -> Iterator[Callable[[], bool]]:
    """Give a function that tells whether SIGINT, SIGTERM or SIGHUP has arrived; of two, the second has its usual effect.

    A KeyboardInterrupt raised within a step may be lost in a callback from a C library. Who cannot wait for the end of the step sends a
    second one. Signals arrive in the main thread only; in another one the answer is always no.
    """
    arrived = False
    if threading.current_thread() is not threading.main_thread():
        yield lambda: arrived
        return
    numbers = [number for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if callable(signal.getsignal(number))]
    before: dict[int, Any] = {number: signal.getsignal(number) for number in numbers}

    def remember(number: int, frame: Any) -> None:
        nonlocal arrived
        if arrived:
            before[number](number, frame)
        arrived = True

    for number in numbers:
        signal.signal(number, remember)
    try:
        yield lambda: arrived
    finally:
        for number in numbers:
            signal.signal(number, before[number])
