"""Where a run comes from: versions, source revision, platform, command line."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from mvsim.version import __version__

_LIBRARIES = (
    "numpy", "scipy", "numba", "pydantic", "xarray", "h5netcdf", "h5py", "array-api-compat", "cupy-cuda12x", "cupy-cuda13x",
)  # fmt: skip


def collect_provenance(command: str | Sequence[str] | None = None) -> dict[str, Any]:
    """Describe the surroundings of a run that starts now."""
    return {
        "version": __version__,
        "git_revision": _git_revision(Path(__file__).resolve().parents[3]),
        "sources": digest_of_package(Path(__file__).resolve().parents[2]),
        "command": _command_line(command),
        "versions": {"python": platform.python_version(), **{name: _library_version(name) for name in _LIBRARIES}},
        "platform": platform.platform(),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }


@cache
def digest_of_package(folder: Path) -> str:
    """Return the SHA-256 of the names and contents of all Python files in a folder, in order: that of a checkout is that of its installed copy."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        name, content = path.relative_to(folder).as_posix().encode(), path.read_bytes()
        digest.update(b"%d %s %d " % (len(name), name, len(content)) + content)
    return digest.hexdigest()


def revision_text(provenance: Mapping[str, Any]) -> str:
    """Say in words which code made a run, by its provenance."""
    revision = provenance["git_revision"]
    return f"{f'revision {revision}' if revision else 'no git checkout'}, sources {provenance['sources'][:12]}"


def _command_line(command: str | Sequence[str] | None) -> str:
    if command is None:
        program = Path(sys.argv[0]).name if sys.argv else ""
        command = ["python", "-m", "mvsim", *sys.argv[1:]] if program == "__main__.py" else [program, *sys.argv[1:]]
    text = command if isinstance(command, str) else shlex.join(command)
    return text.encode(errors="backslashreplace").decode()  # arguments need not be valid text; what is kept has to be


@cache
def _library_version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _git_revision(root: Path) -> str | None:
    """Return the revision of the repository whose top is ``root``, or None if there is none or git cannot tell."""
    if not (root / ".git").exists():  # an installed copy may lie inside a repository of the user's, which says nothing about mvsim
        return None
    # Without git's own variables, which name another repository where mvsim is started from a hook.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | {"GIT_OPTIONAL_LOCKS": "0"}
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--exclude=*", "--abbrev=40"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True, env=environment)
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip() or None
