"""What a worker process does first: Dask imports this in each and calls `dask_setup`."""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Mapping
from itertools import takewhile
from pathlib import Path
from typing import Any

from mvsim.runs.archive.writable import NO_LOCKS

_GPUS = Path("/proc/driver/nvidia/gpus")
"""Where the driver lists GPUs. CUDA must not be asked: once it has started in a process, what that process sees is fixed."""


def dask_setup(worker: Any) -> None:
    """Leave Ctrl-C to the process that started the worker, and give the worker a GPU of its own where there are any.

    The terminal sends Ctrl-C to all processes at once; the process that started the worker ends it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.filterwarnings("ignore", f".*{NO_LOCKS}")  # which the process that started the worker has said of the folder
    os.environ |= gpu_of_worker(worker.name, os.environ, gpus_there())


def gpus_there() -> int:
    """Return how many GPUs the driver lists."""
    return len(list(_GPUS.iterdir())) if _GPUS.is_dir() else 0


def gpus_seen(environment: Mapping[str, str], count: int) -> list[str]:
    """Return the GPUs, of ``count``, that a process sees: where ``CUDA_VISIBLE_DEVICES`` is set those in it, up to the first that is none."""
    listed = environment.get("CUDA_VISIBLE_DEVICES")
    if listed is None:
        return [str(gpu) for gpu in range(count)]
    valid = takewhile(lambda gpu: gpu and not gpu.startswith("-"), (gpu.strip() for gpu in listed.split(",")))
    return list(dict.fromkeys(valid))


def gpu_of_worker(name: Any, environment: Mapping[str, str], count: int) -> dict[str, str]:
    """Return the environment by which a worker sees one GPU alone."""
    gpus = gpus_seen(environment, count)
    if not gpus or not isinstance(name, int):
        return {}
    return {"CUDA_VISIBLE_DEVICES": gpus[name % len(gpus)]}
