"""One process at a time works on a run."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator

from mvsim.base.echo import path_text
from mvsim.base.errors import InUseError, UsageError
from mvsim.base.warn import warn
from mvsim.runs.archive.atomic import remove_stale
from mvsim.runs.archive.writable import check_place

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
