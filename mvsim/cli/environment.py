"""What others have left in the environment: settings that libraries read when they are imported, and limits in which they end the process."""

from __future__ import annotations

import importlib
import os
import resource
import sys
import warnings

_NOT_OURS = ("MPLBACKEND", "HDF5_DRIVER", "HDF5_DRIVER_CONFIG", "HDF5_VOL_CONNECTOR")
"""Settings of a notebook, a display or another program's files: pictures and runs are ordinary files here, and a wrong value ends libraries."""

_LEAST = {"NUMBA_NUM_THREADS": 1, "SOURCE_DATE_EPOCH": 0}
"""Whole numbers that libraries take without a check, and the least that they can be."""


_SECONDS = 5
"""Of a core, in which numerical libraries are loaded."""


def drop_foreign_settings() -> None:
    """Remove settings that no command needs and those that are no numbers; let warnings of libraries be warnings."""
    for name in _NOT_OURS:
        os.environ.pop(name, None)
    for name, least in _LEAST.items():
        text = os.environ.get(name, str(least))
        if not text.isdecimal() or int(text[:9]) < least:
            print(f"mvsim: warning: {name}={text[:40]!a}: must be an integer of at least {least}; it is ignored", file=sys.stderr)
            del os.environ[name]
    if sys.warnoptions:  # PYTHONWARNINGS=error would make an error of each warning of a library
        warnings.simplefilter("default")


def why_libraries_cannot_start() -> str:
    """Return what a library said that ended its process for want of memory; empty if all start, or nothing limits this process.

    OpenBLAS ends the process by itself, or tries again for ever. So it is loaded in a copy of this process first where a limit is set.
    """
    if resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY or "numpy" in sys.modules:
        return ""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        for stream in (1, 2):
            os.dup2(writing, stream)
        resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
        code = 1
        try:
            for module in ("mvsim.cli.dispatch", "numpy", "scipy.linalg"):
                importlib.import_module(module)
            code = 0
        except Exception as error:
            print(f"{type(error).__name__}: {error}", flush=True)
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading, errors="replace") as said:
        text = " ".join(said.read(500).split())
    return (text or "it takes too long") if os.waitpid(child, 0)[1] else ""
