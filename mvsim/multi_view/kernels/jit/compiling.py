"""numba.njit for functions that call each other across files, and what there is to say about compiling."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, wraps
from pathlib import Path
from typing import Any

import numba
from numba.core import event
from numba.core.caching import FunctionCache, NullCache

import mvsim.multi_view.activations
from mvsim.base.signals import defer_signals

SUMS = {"cache": True, "nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "contract"}}
"""Options of loops that sum over neurons or patches. Sums vectorise only if they may be reassociated; NaN and infinity keep their meaning."""

ROOTS = [Path(mvsim.multi_view.activations.__file__).parent, Path(__file__).parents[1]]
"""Every function that a compiled function can call stands in a file below these folders."""


def source_files() -> list[Path]:
    """Return all files whose change makes compiled code stale."""
    return sorted(path for root in ROOTS for path in root.rglob("*.py"))


def digest(files: list[Path]) -> str:
    """Return a hash of the contents of some files."""
    contents = hashlib.sha256()
    for path in files:
        contents.update(path.read_bytes())
    return contents.hexdigest()


SOURCES = digest(source_files())


class _DiskCache(FunctionCache):
    """Compiled code on disk, taken from there only if no kernel has changed since.

    Left to itself, numba asks whether the file of a function has changed, not those of the functions that are compiled into it. And it stops
    where the disk is full or a file is damaged; here that costs time and nothing else.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        index = self._cache_file
        index._source_stamp = (index._source_stamp, SOURCES)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return compiled code, None if there is none that can be read."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # a damaged file makes unpickling raise nearly anything
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep compiled code, if that is possible."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            warn_that_nothing_is_kept(error.strerror or str(error))


class _NoCache(NullCache):
    """In place of compiled code on disk, where there is no directory for it."""

    def save_overload(self, sig: Any, data: Any) -> None:
        """Say that this has been compiled for this process alone."""
        warn_that_nothing_is_kept("there is no directory that can be written")


@cache
def warn_that_nothing_is_kept(reason: str) -> None:
    """Warn, once for each reason, that every start compiles again."""
    warnings.warn(
        f"compiled kernels cannot be kept ({reason}), so that every start compiles again, up to a minute; "
        "set NUMBA_CACHE_DIR to a directory that can be written",
        stacklevel=2,
    )


def _cache_of(function: Callable[..., Any]) -> FunctionCache | NullCache:
    try:
        return _DiskCache(function)
    except RuntimeError:  # numba finds no place for it
        return _NoCache()


def njit(cache: bool = False, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile as numba.njit does, with a ``cache`` that knows all kernels and does without a place on disk."""

    def compiled(function: Callable[..., Any]) -> Any:
        dispatcher = numba.njit(**options)(function)
        if cache and may_compile():
            dispatcher._cache = _cache_of(function)
        dispatcher.compile = _uninterrupted(dispatcher.compile)
        return dispatcher

    return compiled


def _uninterrupted(compile_for: Callable[..., Any]) -> Callable[..., Any]:
    """Return the same method, which compiles or loads one function, with Ctrl-C after it."""

    @wraps(compile_for)
    def deferred(signature: Any) -> Any:
        with defer_signals():
            return compile_for(signature)

    return deferred


def may_compile() -> bool:
    """Whether numba compiles; NUMBA_DISABLE_JIT forbids it."""
    return not numba.config.DISABLE_JIT  # type: ignore[attr-defined]


@cache
def warn_of_slow_kernel() -> None:
    """Warn, once, that the readable kernel stands in for the compiled ones."""
    warnings.warn(
        "NUMBA_DISABLE_JIT is set, so that kernels cannot be compiled: the readable numpy kernel is used, which is slow; unset it",
        stacklevel=3,
    )


@contextmanager
def on_compilation(tell: Callable[[], None]) -> Iterator[None]:
    """Call ``tell`` whenever numba compiles a function, which does not mean that it takes one from its cache, on any thread."""
    with event.install_listener("numba:compile", _CompilationListener(tell)):
        yield


class _CompilationListener(event.Listener):
    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell = tell

    def on_start(self, event: Any) -> None:
        self._tell()

    def on_end(self, event: Any) -> None:
        """Nobody waits for the end."""
