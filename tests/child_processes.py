"""Processes that tests start: how long they are waited for, and their end with the test."""

import contextlib
import time

import psutil

PATIENCE = 900.0
"""Seconds after which something counts as hanging: on a slow machine with other work, starting and compiling alone may take minutes."""


def wait_for(what, process=None):
    """Wait until something is true, while a process runs, if one is given."""
    deadline = time.monotonic() + PATIENCE
    while not what():
        assert process is None or process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)


def end(process):
    """Kill a process and all that it has started, unless it has ended."""
    with contextlib.suppress(psutil.Error):
        family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)] if process.poll() is None else []
        for member in family:
            with contextlib.suppress(psutil.Error):
                member.kill()
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()
