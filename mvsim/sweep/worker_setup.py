"""What a worker process does first: Dask imports this in each and calls `dask_setup`."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_GPUS = Path("/proc/driver/nvidia/gpus")
"""Where the driver lists GPUs. CUDA must not be asked: once it has started in a process, what that process sees is fixed."""


def dask_setup(worker: Any) -> None:
    """Leave Ctrl-C to the process that started the worker, and give the worker a GPU of its own where there are any.

    The terminal sends Ctrl-C to all processes at once; the process that started the worker ends it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ |= gpu_of_worker(worker.name, os.environ, len(list(_GPUS.iterdir())) if _GPUS.is_dir() else 0)


def gpu_of_worker(name: Any, environment: Mapping[str, str], count: int) -> dict[str, str]:
    """Return the environment by which a worker sees one GPU alone.

    Parameters
    ----------
    name : object
        Of the worker: workers on this machine are numbered from 0. A worker with another name was started by somebody else, who places it.
    environment : mapping
        Of its process. Of the GPUs in ``CUDA_VISIBLE_DEVICES``, where it is set, the workers take turns.
    count : int
        GPUs that there are.

    Returns
    -------
    dict
        ``CUDA_VISIBLE_DEVICES``; nothing where there is no GPU. With more workers than GPUs some share one.
    """
    listed = environment.get("CUDA_VISIBLE_DEVICES")
    gpus = [str(gpu) for gpu in range(count)] if listed is None else [gpu.strip() for gpu in listed.split(",") if gpu.strip()]
    if not gpus or not isinstance(name, int):
        return {}
    return {"CUDA_VISIBLE_DEVICES": gpus[name % len(gpus)]}
