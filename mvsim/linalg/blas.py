"""One thread for BLAS: the only state of the process that a run changes.

It is put back, but after runs in several Python threads at once OpenBLAS may be left with one thread: it heeds only the thread that set it.
Importing threadpoolctl sets the environment variable KMP_DUPLICATE_LIB_OK, and importing scipy.special adds a filter for its own warnings.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController


class _Limit:
    """BLAS counts threads for the process: the first of several sets the number, and the last one puts it back, if it is the same."""

    def __init__(self) -> None:
        self._lock, self._inside = threading.Lock(), 0
        self._controller = ThreadpoolController()

    def enter(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._limit = self._controller.limit(limits=1, user_api="blas")
            self._inside += 1

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limit.restore_original_limits()


_limit = cache(_Limit)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS to one thread within the block, in the whole process.

    Two pools of threads on the same cores are slower than none, and bits would depend on their number. Blocks may overlap in several Python threads.
    """
    limit = _limit()
    limit.enter()
    try:
        yield
    finally:
        limit.leave()
