"""Run a function over a range split among threads. The compiled loops release the interpreter lock and own their output rows."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

from mvsim.errors import UsageError


def available_threads() -> int:
    """Return the number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_threads(threads: int | None) -> int:
    """Return the number of threads to use, all available ones for None."""
    if threads is None:
        return available_threads()
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise UsageError(f"threads={threads!r}: must be an integer >= 1")
    return threads


@cache
def _pool(pid: int, threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="mvsim")


def run_ranges(size: int, threads: int, work: Callable[[int, int], None]) -> None:
    """Call ``work(start, stop)`` on consecutive ranges that cover 0 .. size - 1, one for each thread."""
    parts = min(threads, size)
    if parts <= 1:
        work(0, size)
        return
    edges = [size * part // parts for part in range(parts + 1)]
    # Keyed by process: a forked child must not inherit a pool whose threads do not exist there.
    tasks = [_pool(os.getpid(), threads).submit(work, edges[part], edges[part + 1]) for part in range(1, parts)]
    work(edges[0], edges[1])
    for task in tasks:
        task.result()
