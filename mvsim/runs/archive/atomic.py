"""Replace a file as a whole or not at all, whatever interrupts the writer."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from mvsim.base.echo import path_text
from mvsim.base.errors import UsageError
from mvsim.base.warn import warn


def target_of(path: str | os.PathLike[str]) -> Path:
    """Return the absolute path of the file that ``path`` names, links followed: a link stays a link when its file is replaced."""
    try:
        return Path(os.path.realpath(path))
    except OSError as error:
        advice = "give an absolute path, or work in a directory that exists"
        raise UsageError(f"{path_text(path)}: the working directory cannot be found ({error.strerror}); {advice}") from None


def is_special(target: Path) -> bool:
    """Tell whether ``target`` exists and is no ordinary file (a directory, a device, a pipe): such a thing is never replaced."""
    return os.path.lexists(target) and not target.is_file()


@contextlib.contextmanager
def temporary_file(target: Path) -> Iterator[tuple[int, Path]]:
    """Create an empty temporary file beside ``target``, under a name that `remove_stale` recognises, and remove it at the end.

    Its name is known before it exists, so that it is removed wherever Ctrl-C strikes.
    """
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    try:
        # 0o666 leaves the permissions to the umask, as for any other file the user makes; tempfile would make it private.
        descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            yield descriptor, temporary
        finally:
            os.close(descriptor)
    finally:
        with contextlib.suppress(OSError):  # renamed, or taken for a stale one by the process that holds the lock
            temporary.unlink()


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Give an empty file, to write and to read, which becomes the file ``path`` at the end of the block; after an error ``path`` is as it was.

    Whoever opens ``path`` at any instant, even after a crash of the writer or of the machine, finds the old contents or the new ones.
    """
    target = target_of(path)
    if is_special(target):
        raise OSError(errno.EINVAL, "not an ordinary file", str(target))
    with temporary_file(target) as (descriptor, temporary):
        try:
            with open(descriptor, "w+b", closefd=False) as file:
                yield file
            os.fsync(descriptor)
            temporary.replace(target)
        except OSError as error:  # it does not say of which file
            if error.errno is None:  # one of HDF5, in words of its own
                raise
            raise OSError(error.errno, error.strerror, str(path)) from None
    _sync_directory(target.parent)


def write_atomically(path: str | os.PathLike[str], data: bytes | memoryview) -> None:
    """Make ``data`` the contents of the file ``path``, as `replacing` does."""
    with replacing(path) as file:
        file.write(data)


def remove_stale(target: Path) -> None:
    """Remove the temporary files that killed writers of ``target`` left behind; call it only while holding the lock of the run."""
    ours = re.compile(re.escape(f".{target.name}.") + r"[0-9a-f]{16}\.tmp")
    with contextlib.suppress(OSError):  # a folder may be writable and not readable
        for entry in target.parent.iterdir():
            if ours.fullmatch(entry.name):
                with contextlib.suppress(OSError):
                    entry.unlink()


_CANNOT_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.EBADF, errno.EACCES, errno.EPERM}
"""Errors of file systems that cannot sync directories, and of directories that cannot be read."""


def _sync_directory(directory: Path) -> None:
    """Make the renaming of a file in ``directory`` survive a crash of the machine, where that is possible: the file itself is there already."""
    try:
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno not in _CANNOT_SYNC:
            warn(f"{path_text(directory)}: the folder could not be written to the disk at once ({error.strerror}); a crash may undo the last save")
