"""Lines on stderr about work that may take long: what begins, and how far it is."""

from __future__ import annotations

import sys
import time

from mvsim.cli.progress import LOG_INTERVAL
from mvsim.cli.remarks import note

LIVE_INTERVAL = 2.0
"""Seconds between two lines about the same work on a terminal; elsewhere `LOG_INTERVAL`."""


class Notices:
    """Says what is being done."""

    def __init__(self, quiet: bool = False) -> None:
        self._quiet = quiet
        self._interval = LIVE_INTERVAL if sys.stderr.isatty() else LOG_INTERVAL
        self._last = time.monotonic()

    def begin(self, what: str) -> None:
        """Say what begins, and may take long without another word."""
        if not self._quiet:
            self._last = time.monotonic()
            note(what)

    def count(self, what: str, before: int, of: int) -> None:
        """Say how far some work is, if nothing has been said for a while."""
        if time.monotonic() - self._last >= self._interval:
            self.begin(f"{what}, {before + 1} of {of}")
