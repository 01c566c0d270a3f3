"""How many bytes a run needs, and whether they are there, before anything is allocated."""

from __future__ import annotations

import os
from pathlib import Path

from mvsim.errors import UsageError
from mvsim.parameters import Parameters

_LIBRARIES = 250 * 2**20
"""Bytes taken by the interpreter and the libraries themselves."""


def required_bytes(parameters: Parameters, mixes: bool, backend: str = "auto", n_test: int = 20) -> int:
    """Predict the peak memory of a run.

    Parameters
    ----------
    parameters : Parameters
        Problem size.
    mixes : bool
        Whether the method mixes pairs.
    backend : str
        See `mvsim.objective`.
    n_test : int
        Fresh draws for each class.

    Returns
    -------
    int
        Bytes, libraries included.
    """
    p = parameters
    correlations = 2 * p.k * p.k * p.m
    patterns = {"codebook": p.G, "point": p.N, "patch": 0}[p.noise]
    columns = p.k * (2 * p.k + patterns) * p.m
    tests = p.k * n_test
    test_patterns = {"codebook": p.G, "point": tests, "patch": 0}[p.noise]
    test = 3 * tests * p.k + p.k * test_patterns * p.m + 2 * p.k * test_patterns + (4 * p.k * tests * p.P if p.noise == "patch" else 0)
    state = 12 * correlations + 4 * columns + test
    if p.noise == "patch" or backend == "numpy":
        data = 2 * 2 * p.k * p.N * p.P
        pairs = 4 * min(p.k * p.N * p.N, 2**22 + p.k * p.N) + 2 * p.N * p.P if mixes else 0
    else:
        data = 2 * p.k * patterns + 6 * p.N * p.C_P
        pairs = 0
        if mixes:
            signals = 2 * p.C_P
            coinciding = p.N * signals + (p.N**2 // 2 * signals * (signals / p.P if p.signal_layout == "random" else 1.0))
            pairs = 2 * p.k * p.N * patterns + int(coinciding) * (3 * 2 * p.k + 30) + p.k * patterns**2
    return 8 * (state + data + pairs) + _LIBRARIES


def available_bytes() -> int | None:
    """Return the bytes this process may still take: free memory, or what a control group leaves; None if the system does not tell."""
    limits = []
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        fields = dict(line.split(":", 1) for line in meminfo.read_text().splitlines())
        if "MemAvailable" in fields:
            limits.append(int(fields["MemAvailable"].split()[0]) * 1024)
    elif "SC_PHYS_PAGES" in os.sysconf_names:
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for limit, used in (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ):
        try:
            limits.append(int(Path(limit).read_text()) - int(Path(used).read_text()))
        except (OSError, ValueError):  # no such control group, or "max": no limit
            continue
    return min(limits) if limits else None


def check_memory(parameters: Parameters, mixes: bool, backend: str = "auto", n_test: int = 20) -> int:
    """Return the predicted bytes of a run.

    Raises
    ------
    UsageError
        If they are not there.
    """
    needed, there = required_bytes(parameters, mixes, backend, n_test), available_bytes()
    if there is not None and needed > there:
        p = parameters
        raise UsageError(
            f"k={p.k}, m={p.m}, N={p.N}, P={p.P}, noise={p.noise}: would need about {needed:.3g} bytes of memory and {there:.3g} are available; "
            "make the problem smaller (k, m, N, G), or use noise=codebook, whose cost does not depend on P"
        )
    return needed
