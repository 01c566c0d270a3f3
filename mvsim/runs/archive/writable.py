"""Find out before anything is computed whether a run can be saved where it should be, and keep other processes from it meanwhile."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

from mvsim.base.echo import echo, path_text
from mvsim.base.errors import InUseError, UsageError
from mvsim.base.warn import warn
from mvsim.runs.archive.atomic import is_special, remove_stale, target_of, temporary_file
from mvsim.runs.archive.run_file import read_provenance

NO_RUN = "is no run that could be continued"
"""Of a file that is there where a run is to be saved."""


def ensure_writable(path: str | os.PathLike[str], force: bool = False, resume: bool = False) -> None:
    """Refuse a place where a run could not be saved, or could only be saved by destroying another one.

    Call it while holding `lock_run`: otherwise another process may put a finished run there between the check and the first save.
    """
    if force and resume:
        raise UsageError("force=True, resume=True: one discards the saved run and the other continues it; give only one of them")
    target = check_place(path)
    if os.path.exists(target):
        if not force and not resume:
            ways = "overwrite it (--force, force=True), or choose another file"
            if is_run(target):
                raise UsageError(f"{path_text(path)}: exists already; continue it (--resume, resume=True), {ways}")
            raise UsageError(f"{path_text(path)}: exists already and {NO_RUN}; {ways}")
        if not os.access(target, os.W_OK):
            raise UsageError(f"{path_text(path)}: is read-only; make it writable or choose another file")


def check_place(path: str | os.PathLike[str]) -> Path:
    """Return the file that ``path`` names, links followed, or raise `UsageError` if no run can be saved there."""
    if not os.fspath(path) or "\0" in os.fspath(path):
        raise UsageError(f"out={echo(os.fspath(path))}: not a file name; give the file of the run, for example run.nc")
    target = target_of(path)
    try:
        if is_special(target):
            kind = "a directory" if target.is_dir() else "not an ordinary file"
            raise UsageError(f"out={path_text(path)}: is {kind}; give the file of the run, for example run.nc")
        if not target.parent.is_dir():
            raise UsageError(f"{path_text(path)}: the directory {path_text(target.parent)} does not exist; create it or choose another file")
        with temporary_file(target):  # nothing less tells whether something can be created there
            return target
    except OSError as error:
        place = path_text(target.parent)
        raise UsageError(f"{path_text(path)}: nothing can be created in {place}: {error.strerror}; choose another file") from None


def is_run(path: str | os.PathLike[str]) -> bool:
    """Whether a file can be read as a run."""
    try:
        read_provenance(path)
    except UsageError:
        return False
    return True


NO_LOCKS = "its file system has no locks"
"""What the warning says; once for a folder, since the words are the same for all runs in it."""

_NO_LOCKS = {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP, 524}
"""Errors of file systems without locks; 524 is what some kernels say in place of ENOTSUP."""


@contextlib.contextmanager
def lock_run(path: str | os.PathLike[str]) -> Iterator[None]:
    """Hold the run ``path`` for this process alone, and clear away what killed processes left beside it.

    The lock belongs to the process and ends with it, however it ends: a lock file left by a killed process locks nothing. Reading a run
    needs no lock, because saves replace the file as a whole.
    """
    from filelock import FileLock, Timeout, UnixFileLock

    target = check_place(path)
    lock_file = target.with_name(f".{target.name}.lock")
    lock = FileLock(lock_file, blocking=False)
    try:
        lock.acquire()
    except Timeout:
        raise InUseError(f"{path_text(path)}: another process is working on this run; wait for it, stop it, or choose another file") from None
    except OSError as error:
        with contextlib.suppress(OSError):
            lock_file.unlink()
        if error.errno not in _NO_LOCKS:
            raise UsageError(f"{path_text(path)}: cannot be locked, {path_text(lock_file)}: {error.strerror}; choose another file") from None
        warn(f"{path_text(target.parent)}: {NO_LOCKS}, so that nothing keeps a second process from working on the same run; start only one")
        yield
        return
    try:
        remove_stale(target)
        yield
    finally:
        # Removed before the release: a process that opened the file earlier then finds it without a name and does not take it for the
        # lock. The substitute for file systems without flock removes its file itself.
        if isinstance(lock, UnixFileLock):
            with contextlib.suppress(OSError):
                lock_file.unlink()
        lock.release()
