"""Stamps: which command measured a result, on which revision of the code, when and on which machine, and which words a reader needs with it.

A stamp is an entry of ``stamps.json`` beside the results:

===============  ==================================================================================================================
``command``      what measured it
``revision``     git revision; ``-dirty`` is appended where the code of mvsim or of the studies differed from it
``date``         of the measurement
``machine``      processor, cores, versions of Python, numpy and numba, as far as they are known
``digest``       of the JSON file
``sources``      digest of the code that was measured (`lib.sources`) and of the results that it started from; None if that is not known
``note``         what else a reader has to know; empty if nothing
``older``        words that say that the result is older than the code; empty if it is not
``carried``      words that say to which later code the result was carried over (``validation/carry.py``); absent if it was not
===============  ==================================================================================================================
"""

from __future__ import annotations

import datetime
import hashlib
import io
import json
import os
import platform
import subprocess
import tarfile
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

from filelock import FileLock

import mvsim
from lib.paths import RESULTS, ROOT
from lib.sources import MissingSourceError, digest_of_sources
from lib.study import Study

Stamp = dict[str, Any]

CODE = ("mvsim", "validation/lib", "validation/studies")
"""What a revision has to describe: results and pages change without changing a measurement."""


def stamps_in(folder: Path) -> dict[str, Stamp]:
    """Return the stamps of the results in a folder, by name."""
    path = folder / "stamps.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def write_stamp(folder: Path, name: str, stamp: Stamp) -> None:
    """Write one stamp and leave the others alone; another study may write at the same time."""
    with FileLock(folder / ".stamps.lock"):
        stamps = stamps_in(folder) | {name: stamp}
        write_text(folder / "stamps.json", json.dumps(dict(sorted(stamps.items())), indent=1) + "\n")


def write_text(path: Path, text: str) -> None:
    """Replace a file at once, so that a killed study leaves the old one or the new one."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


def digest_of_file(path: Path) -> str:
    """Return the digest of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def present_sources(study: Study) -> str:
    """Return the digest of the code that a study measures and of the results that it starts from, as they are now."""
    return sources_in(Path(mvsim.__file__).parent, study)


def sources_in(package: Path, study: Study) -> str:
    """Return the digest with the code of mvsim in a folder."""
    code = digest_of_sources(package, study.sources, study.path)
    read = [digest_of_file(RESULTS / f"{name}.json") for name in study.reads]
    return hashlib.sha256(" ".join([code, *read]).encode()).hexdigest() if read else code


def present_stamp(study: Study, command: str) -> Stamp:
    """Return the stamp of a measurement that begins now, still without the digest of its results."""
    return {
        "command": command,
        "revision": present_revision(),
        "date": datetime.date.today().isoformat(),
        "machine": _machine(),
        "sources": present_sources(study),
        "note": "",
        "older": "",
    }


def stamp_at(study: Study, command: str, revision: str) -> Stamp:
    """Return the stamp of results that were measured today on this machine, with mvsim as it was at a git revision."""
    commit = _commit(revision)
    with tempfile.TemporaryDirectory() as folder:
        try:
            sources = sources_in(extracted(commit, Path(folder)), study)
        except MissingSourceError:  # the parts had other names then
            sources = None
    return present_stamp(study, command) | {"revision": commit[:7], "sources": sources}


def extracted(revision: str, folder: Path) -> Path:
    """Write mvsim as it was at a git revision to a folder, and return where it is."""
    with tarfile.open(fileobj=io.BytesIO(_git("archive", _commit(revision), "mvsim"))) as archive:
        archive.extractall(folder, filter="data")
    return folder / "mvsim"


def _commit(revision: str) -> str:
    return _git("rev-parse", "--verify", f"{revision}^{{commit}}").decode().strip()


def stamp_text(stamp: Stamp) -> str:
    """Return the line that stands above a passage."""
    machine = stamp["machine"]
    known = [machine.get("processor"), f"{machine['cores']} cores" if "cores" in machine else None]
    known += [f"{name} {machine[key]}" for key, name in (("python", "Python"), ("numpy", "numpy"), ("numba", "numba")) if key in machine]
    where = ", ".join(one for one in known if one)
    notes = "".join(f" {words}" for words in (stamp["note"], stamp.get("carried"), stamp["older"]) if words)
    return f"*Measured at revision {stamp['revision']}, {stamp['date']}; {where}. Command: `{stamp['command']}`.{notes}*"


def present_revision() -> str:
    """Return the git revision of the code, "unknown" where there is none."""
    try:
        commit = _git("rev-parse", "HEAD").decode().strip()[:7]
        return commit + ("-dirty" if _git("status", "--porcelain", "--", *CODE).strip() else "")
    except (OSError, subprocess.SubprocessError):
        return "unknown"


def _git(*words: str) -> bytes:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, check=True, env=environment).stdout


def _machine() -> dict[str, Any]:
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "numba": version("numba"),
    }


def processor() -> str:
    """Return the name of the processor as far as the system tells."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.processor())
