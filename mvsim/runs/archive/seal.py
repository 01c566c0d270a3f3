"""A checksum behind the end of an HDF5 file, so that the HDF5 library does not meet damaged bytes, on which it can loop for ever.

Of 600 small run files with 16 bytes replaced at random, HDF5 2.0 hung on 9.

HDF5 ignores what follows the end that it recorded, and drops it when a file is opened for editing: a file without a seal is no
sign of damage, a seal that does not match is.
"""

from __future__ import annotations

import hashlib
import os
import re
from typing import IO

_SEAL = re.compile(rb"\nmvsim sha256 ([0-9a-f]{64})\n")
_LENGTH = len(b"\nmvsim sha256 \n") + 64
_CHUNK = 1 << 20


def seal(data: bytes | memoryview) -> bytes:
    """Return ``data`` with its seal behind it."""
    return b"".join([data, b"\nmvsim sha256 ", hashlib.sha256(data).hexdigest().encode(), b"\n"])


def is_broken(file: IO[bytes]) -> bool:
    """Tell whether the open ``file`` has a seal that does not match its contents; leave it at its beginning."""
    return _matches(file) is False


def is_intact(file: IO[bytes]) -> bool:
    """Tell whether the open ``file`` has a seal that matches its contents; leave it at its beginning."""
    return _matches(file) is True


def _matches(file: IO[bytes]) -> bool | None:
    """Return whether the seal matches the contents, None if there is no seal."""
    size = file.seek(0, os.SEEK_END) - _LENGTH
    file.seek(max(size, 0))
    match = _SEAL.fullmatch(file.read())
    file.seek(0)
    if match is None:
        return None
    digest = hashlib.sha256()
    while size > 0:
        chunk = file.read(min(size, _CHUNK))
        digest.update(chunk)
        size -= len(chunk) or size  # a file that shrinks meanwhile has no more to give
    file.seek(0)
    return digest.hexdigest().encode() == match[1]
