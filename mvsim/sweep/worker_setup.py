"""What a worker process does first: Dask imports this in each and calls `dask_setup`."""

from __future__ import annotations

import signal
from typing import Any


def dask_setup(worker: Any) -> None:
    """Leave Ctrl-C to the process that started the worker, which ends it: the terminal sends it to all processes at once."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
