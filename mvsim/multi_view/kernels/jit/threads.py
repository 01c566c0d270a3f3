"""Run a function over a range split among threads. The compiled loops release the interpreter lock and own their output rows."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache

import numpy as np

from mvsim.base.limits import available_cores
from mvsim.multi_view.kernels.jit.loops.work_list import abandon, is_abandoned, work_list

WORTH_A_THREAD = 1_000_000
"""Multiply-adds below which handing work to another thread costs more than it saves."""


def threads_for(threads: int | None, operations: float) -> int:
    """Return the number of threads to use; for None, all available ones that get `WORTH_A_THREAD` operations each."""
    return max(1, min(available_cores(), int(operations / WORTH_A_THREAD))) if threads is None else threads


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


def run_together(threads: int, work: Callable[[np.ndarray], None]) -> None:
    """Call ``work(counters)`` on several threads and return when all items of its list (`mvsim.multi_view.kernels.jit.loops.work_list`) are done.

    That is sooner than all threads are: one that was woken up too late finds nothing to do, and nobody waits for it.
    """
    tasks: list[Future[None]] = []
    counters, finished = work_list(), False
    try:
        for _ in range(1, threads):
            tasks.append(_pool(os.getpid(), threads).submit(_take_part, work, counters))
        _take_part(work, counters)
        finished = not is_abandoned(counters)
    finally:
        abandon(counters)
        if not finished:  # somebody may still be at an item
            wait(tasks)
    if not finished:
        for task in tasks:
            task.result()


def _take_part(work: Callable[[np.ndarray], None], counters: np.ndarray) -> None:
    try:
        work(counters)
    except BaseException:  # memory ran out, or an interrupt: nobody may wait for the items of this thread
        abandon(counters)
        raise
