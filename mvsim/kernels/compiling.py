"""numba.njit for functions that call each other across files."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba


def _sources() -> str:
    """Return a hash of all files of kernels."""
    found = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        found.update(path.read_bytes())
    return found.hexdigest()


SOURCES = _sources()


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile as numba.njit does, and take code from its cache only if no kernel has changed since.

    Left to itself, numba asks whether the file of a function has changed, not those of the functions that are compiled into it.
    """

    def compiled(function: Callable[..., Any]) -> Any:
        dispatcher = numba.njit(**options)(function)
        if options.get("cache"):
            index = dispatcher._cache._cache_file
            index._source_stamp = (index._source_stamp, SOURCES)
        return dispatcher

    return compiled
