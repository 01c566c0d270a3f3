"""Processes that studies start."""

from __future__ import annotations

import os


def use_one_thread() -> None:
    """Keep numerical libraries to one thread in all processes that are started from here on."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[name] = "1"
