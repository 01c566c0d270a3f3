"""How times are measured: the minimum over repetitions, and everything that is compared takes turns.

Other work on the machine only ever adds time, so the minimum is the measurement, and candidates that take turns see the same machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from threadpoolctl import ThreadpoolController

AT_LEAST = 0.01
"""Seconds for which a candidate runs at each turn: short calls are repeated."""


@dataclass(frozen=True)
class Candidate:
    """A call to be timed, with the number of threads that a BLAS may use meanwhile."""

    call: Callable[[], Any]
    threads: int = 1


def fastest(candidates: Mapping[str, Candidate], seconds: float, rounds: int = 3) -> dict[str, float]:
    """Return the least seconds that one call of each candidate took.

    Parameters
    ----------
    candidates : mapping of Candidate
        What takes turns.
    seconds : float
        Turns go on for this long.
    rounds : int
        Turns that each candidate has at least.
    """
    blas = ThreadpoolController()
    for candidate in candidates.values():  # compile, allocate, fill caches
        candidate.call()
    best = dict.fromkeys(candidates, float("inf"))
    end = time.perf_counter() + seconds
    turn = 0
    while turn < rounds or time.perf_counter() < end:
        turn += 1
        for name, candidate in candidates.items():
            with blas.limit(limits=candidate.threads, user_api="blas"):
                best[name] = min(best[name], _least(candidate.call))
    return best


def _least(call: Callable[[], Any]) -> float:
    least, began = float("inf"), time.perf_counter()
    while True:
        start = time.perf_counter()
        call()
        now = time.perf_counter()
        least = min(least, now - start)
        if now - began >= AT_LEAST:
            return least
