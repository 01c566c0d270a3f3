"""One thread for BLAS: the only state of the process that a run changes, and puts back.

Importing threadpoolctl sets the environment variable KMP_DUPLICATE_LIB_OK, and importing scipy.special adds a filter for its own warnings.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController


class _Limit:
    """The number of threads of BLAS belongs to the process: the first of several Python threads sets it, and the last one puts it back.

    threadpoolctl lets a Python thread change the number only while no other living thread has done so. Where the last one may not put it back, the
    number that there was is kept for the next one that may.
    """

    def __init__(self) -> None:
        self._lock, self._inside = threading.Lock(), 0
        self._libraries = ThreadpoolController().select(user_api="blas").lib_controllers
        self._before: list[int] | None = None

    def enter(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._before = self._before or self._numbers()
                self._set([1] * len(self._libraries))
            self._inside += 1

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0 and self._before is not None:
                self._set(self._before)
                if self._numbers() == self._before:
                    self._before = None

    def _numbers(self) -> list[int]:
        return [library.num_threads for library in self._libraries]

    def _set(self, numbers: list[int]) -> None:
        for library, number in zip(self._libraries, numbers, strict=True):
            library.set_num_threads(number)


_limit = cache(_Limit)


def library_was_loaded() -> None:
    """Tell that a library was loaded that may have a BLAS of its own, so that the next `one_blas_thread` knows of it."""
    _limit.cache_clear()


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
