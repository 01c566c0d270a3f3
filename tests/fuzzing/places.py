"""Where a command may find itself: file systems that lack locks or cannot write a folder to the disk, and the environment of others."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from hypothesis import strategies as st

from fuzzing.breach import Breach
from fuzzing.command import Command, words_of
from fuzzing.configs import MADE, configs
from fuzzing.laws import laws
from fuzzing.words import SMALL, right, words

ENVIRONMENTS: tuple[dict[str, str], ...] = (
    {"MPLBACKEND": "module://matplotlib_inline.backend_inline"},
    {"MPLBACKEND": "nonsense"},
    {"MPLCONFIGDIR": "/proc/none"},
    {"PYTHONWARNINGS": "error"},
    {"NUMBA_CACHE_DIR": "/proc/none"},
    {"NUMBA_NUM_THREADS": "1"},
    {"NUMBA_NUM_THREADS": "0"},
    {"NUMBA_NUM_THREADS": "999", "NUMBA_THREADING_LAYER": "nonsense"},
    {"HDF5_DRIVER": "nonsense", "HDF5_PLUGIN_PATH": "/nonexistent"},
    {"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "nonsense", "DASK_TEMPORARY_DIRECTORY": "/proc/none"},
    {"OMP_NUM_THREADS": "nonsense"},
    {"HDF5_USE_FILE_LOCKING": "TRUE"},
    {"DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "True"},
    {"HOME": "/nonexistent", "TMPDIR": "/nonexistent"},
    {"LC_ALL": "C", "PYTHONUTF8": "0"},
    {"TERM": "dumb", "COLUMNS": "0"},
)
"""What others leave in an environment."""

NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP, 524)
NO_FOLDERS = (errno.EBADF, errno.EACCES, errno.EPERM, errno.ENOSYS, errno.EINVAL)


@dataclass(frozen=True)
class Mounted(Command):
    """A command on a file system that answers flock, or fsync of a folder, with an error."""

    lacks: str = "locks"
    number: int = errno.ENOLCK

    def breaches(self, folder: Path) -> list[Breach]:
        with _lacking(self.lacks, self.number):
            return super().breaches(folder)


@contextlib.contextmanager
def _lacking(what: str, number: int) -> Iterator[None]:
    fsync = os.fsync

    def flock(*_: Any) -> None:
        raise OSError(number, os.strerror(number))

    def fsync_of_files(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(number, os.strerror(number))
        fsync(descriptor)

    with mock.patch("fcntl.flock", flock) if what == "locks" else mock.patch("os.fsync", fsync_of_files):
        yield


@st.composite
def mounted(draw: st.DrawFn) -> Mounted:
    """Return a run on such a file system: one that must be made, or one with any right values."""
    what, numbers = draw(st.sampled_from((("locks", NO_LOCKS), ("folders", NO_FOLDERS))))
    plain = Command(("simulate", *words_of(SMALL), "--out", "run.nc"), "a run on a mount", refused=False, makes=MADE)
    return Mounted(**vars(draw(st.one_of(st.just(plain), right()))), lacks=what, number=draw(st.sampled_from(numbers)))


@st.composite
def apart(draw: st.DrawFn) -> Command:
    """Return an argument vector that is tried in a process of its own, in the environment of others."""
    environment = draw(st.one_of(st.just({}), st.sampled_from(ENVIRONMENTS)))
    return dataclasses.replace(draw(st.one_of(right(), words(), laws(), configs())), apart=True, environment=tuple(environment.items()))
