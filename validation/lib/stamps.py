"""Which code, command and machine measured a result."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

from lib.paths import ROOT

Stamp = dict[str, Any]

CODE = ("mvsim", "tests", "validation", ":(exclude)validation/results", ":(exclude)validation/RESULTS.md")
"""What a revision has to describe."""


class UncommittedCodeError(Exception):
    """The code that would be measured is not that of a revision."""


def present_stamp(command: str, committed: bool = True) -> Stamp:
    """Return the stamp of a measurement that begins now.

    Raises
    ------
    UncommittedCodeError
        If the code is to be committed and is not.
    """
    revision = git("rev-parse", "--short=7", "HEAD") or "unknown"
    changed = git("status", "--porcelain", "--", *CODE).splitlines()
    if committed and (revision == "unknown" or changed):
        why = f"{changed[0][3:]} is not committed" if changed else "there is no git revision"
        raise UncommittedCodeError(f"{why}: results are written from committed code only; commit, or try the study with --results-dir DIR")
    return {
        "revision": revision + ("-dirty" if changed else ""),
        "date": datetime.date.today().isoformat(),
        "machine": {"processor": processor(), "cores": os.cpu_count()},
        "versions": {"python": platform.python_version(), "numpy": version("numpy"), "numba": version("numba")},
        "command": command,
    }


def stamp_text(stamp: Stamp) -> str:
    """Return a stamp in words."""
    machine = stamp["machine"]
    where = ", ".join(filter(None, [machine.get("processor"), f"{machine['cores']} cores" if "cores" in machine else ""]))
    versions = ", ".join(f"{name.replace('python', 'Python')} {number}" for name, number in stamp["versions"].items())
    since = f"({commits_since(stamp['revision'])} since)"
    return f"Revision {stamp['revision']} {since}, {stamp['date']}; {where}; {versions}. Command: `{stamp['command']}`."


def commits_since(revision: str) -> str:
    """Say how many commits have touched mvsim since a revision; "?" if the clone lacks it, as a shallow one does."""
    count = git("rev-list", "--count", f"{revision}..HEAD", "--", "mvsim")
    return f"{count or '?'} {'commit' if count == '1' else 'commits'}"


def git(*words: str) -> str:
    """Return what a git command prints; nothing where it fails."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, env=environment, check=False)
    except OSError:
        return ""
    return done.stdout.rstrip() if done.returncode == 0 else ""


def processor() -> str:
    """Return the name of the processor as far as the system tells."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.processor())
