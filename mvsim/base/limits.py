"""What this process may take of the machine: the least of what is free, what control groups leave, its own limits and what a batch system gave."""

from __future__ import annotations

import os
import re
import resource
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from mvsim.base.echo import echo
from mvsim.base.errors import UsageError

ROOT = Path("/")
"""Where the files of the system are."""

_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}

MEMORY = "MVSIM_MEMORY"
"""Name of the variable of the environment that says how much memory may be used, here and in worker processes."""

_MEMORY_OF_BATCH = (MEMORY, "SLURM_MEM_PER_NODE", "PBS_RESC_MEM", "PBS_RESC_TOTAL_PHYSMEM")
_CORES_OF_BATCH = ("SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE", "PBS_NCPUS", "NCPUS", "NSLOTS", "LSB_DJOB_NUMPROC")


def bytes_of_text(text: str) -> int | None:
    """Return a size as people write it, "8G", "8 GiB", "1.5e9", in bytes; None if it is none."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d*)?(?:e\+?\d{1,2})?)\s*([kmgt]?)(?:i?b)?\s*", text, re.IGNORECASE)
    return int(float(match[1]) * _UNITS[match[2].lower()]) if match else None


def limit_memory(text: str | None) -> None:
    """Let this process and those that it starts use no more memory than a text says, as "8G"; None changes nothing."""
    if text is None:
        return
    if not bytes_of_text(text):
        raise UsageError(f"memory={echo(text)}: must be a size, for example 8G or 1.5e9")
    os.environ[MEMORY] = text


def available_bytes() -> int | None:
    """Return the bytes that this process may still take; None if the system does not tell."""
    return min([*_of_machine(), *_of_groups(), *_of_process(), *_of_batch()], default=None)


def available_cores() -> int:
    """Return the cores that this process may keep busy: by its affinity, the quota of its control groups and its batch system; at least 1."""
    counts = [len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1]
    for quota, period in _quotas():
        counts.append(max(1, quota // period))
    for name in _CORES_OF_BATCH:
        if os.environ.get(name, "").isdecimal():
            counts.append(int(os.environ[name]))
            break
    return max(1, min(counts))


def allow_files(count: int) -> int:
    """Let this process open so many files, as far as its hard limit permits, and return how many of them it may open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < count:
        soft = count if hard == resource.RLIM_INFINITY else min(count, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return count if soft == resource.RLIM_INFINITY else min(count, soft)


def _of_machine() -> Iterator[int]:
    """Yield the memory that is free, or all of it where nobody says how much is."""
    fields = dict(re.findall(r"^(\w+):\s+(\d+)", _text(ROOT / "proc/meminfo"), re.MULTILINE))
    if "MemAvailable" in fields:
        yield int(fields["MemAvailable"]) * 1024
    elif "SC_PHYS_PAGES" in os.sysconf_names:
        yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _of_groups() -> Iterator[int]:
    """Yield what the limits of the process's control groups leave, of each up to the root; files that can be given back are not counted as taken."""
    for folder in _groups("", "memory"):
        for limit, used, files in (
            ("memory.max", "memory.current", "inactive_file"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
        ):
            most, taken = (_text(folder / name).strip() for name in (limit, used))
            if most.isdecimal() and taken.isdecimal():
                given_back = re.search(rf"^{files} (\d+)$", _text(folder / "memory.stat"), re.MULTILINE)
                yield max(0, int(most) - int(taken) + (int(given_back[1]) if given_back else 0))


def _of_process() -> Iterator[int]:
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    pages = _text(ROOT / "proc/self/statm").split()
    if limit != resource.RLIM_INFINITY and pages:
        yield max(0, limit - int(pages[0]) * os.sysconf("SC_PAGE_SIZE"))


def _of_batch() -> Iterator[int]:
    """Yield what a batch system says that the job may take; Slurm counts in MiB where there is no unit."""
    for name in _MEMORY_OF_BATCH:
        text = os.environ.get(name, "")
        size = bytes_of_text(f"{text}M" if name.startswith("SLURM") and text.isdecimal() else text)
        if size:
            yield size
    per_core = os.environ.get("SLURM_MEM_PER_CPU", "")
    if per_core.isdecimal() and int(per_core):
        yield int(per_core) * 2**20 * available_cores()


def _quotas() -> Iterator[tuple[int, int]]:
    """Yield the microseconds of a core, and the microseconds in which they may be used, of each control group that limits them."""
    for folder in _groups("", "cpu"):
        quota, _, period = _text(folder / "cpu.max").partition(" ")
        quota, period = (quota, period.strip()) if quota else (_text(folder / name).strip() for name in ("cpu.cfs_quota_us", "cpu.cfs_period_us"))
        if quota.isdecimal() and period.isdecimal() and int(period):
            yield int(quota), int(period)


def _groups(*controllers: str) -> Iterator[Path]:
    """Yield the folders of the process's control groups, from its own to the root: of version 2 (controller "") and of version 1."""
    for line in _text(ROOT / "proc/self/cgroup").splitlines():
        _, names, path = [*line.split(":", 2), "", ""][:3]
        if set(names.split(",")).isdisjoint(controllers):
            continue
        for top in (
            [ROOT / "sys/fs/cgroup"] if not names else [ROOT / "sys/fs/cgroup" / names, *(ROOT / "sys/fs/cgroup" / one for one in names.split(","))]
        ):
            if top.is_dir():
                relative = PurePosixPath(path.lstrip("/"))
                yield from (top / one for one in (relative, *relative.parents) if ".." not in one.parts)
                break


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, ValueError):
        return ""
