"""How many bytes a run needs, and whether they are there, before anything is allocated."""

from __future__ import annotations

import os
from pathlib import Path

from mvsim.errors import UsageError
from mvsim.kernels import entry_for_draws
from mvsim.parameters import Parameters

_LIBRARIES = 245 * 2**20
"""Bytes taken by the interpreter and the libraries."""

_LOADING = 270 * 2**20
"""Bytes taken while libraries and kernels are loaded, some of which the arrays of the run take over. Compiling the kernels, once after
installing, takes 100 MiB more."""

_FLOW = 48
"""Vectors of the size of the correlations that the solver of the gradient flow holds: past steps, Krylov space, tolerances. Careful segments have
room for 40 more in their Krylov space, most of which stays untouched."""

_SNAPSHOTS, _RECORDS, _COPIES = 20, 600, 4
"""Full states and records that a run of the flow keeps, and how often while it is saved: as recorded, as a data set, as a file in memory and as
the bytes that go to the disk."""


def required_bytes(parameters: Parameters, mixes: bool, backend: str = "auto", n_test: int = 20, integrator: str = "flow") -> int:
    """Predict the peak memory of a run.

    Parameters
    ----------
    parameters : Parameters
        Problem size.
    mixes : bool
        Whether the method mixes pairs: then all pairs at one lambda are counted, as in Midpoint Mixup.
    backend : str
        See `mvsim.objective`.
    n_test : int
        Fresh draws for each class.
    integrator : str
        See `mvsim.simulate`.

    Returns
    -------
    int
        Bytes, libraries included.
    """
    p = parameters
    flow = 0
    if integrator == "flow":  # the solver, and the stiff part of the Hessian
        stiff = entry_for_draws(p, backend).needs(p, mixes).stiff_hessian
        state, record = 2 * p.k * p.k * p.m, 2 * p.k * p.m + 20 * p.k
        flow = 8 * (_FLOW * state + stiff + _COPIES * (_SNAPSHOTS * state + _RECORDS * record))
    return max(_LOADING, _LIBRARIES + array_bytes(p, mixes, backend, n_test) + flow)


def array_bytes(parameters: Parameters, mixes: bool, backend: str = "auto", n_test: int = 20) -> int:
    """Predict the most bytes that the arrays of a run take at once; arguments as for `required_bytes`.

    That is in a Hessian-vector product, which the first record of a run takes already, or while feature learning is tested.
    """
    p = parameters
    state = 8 * 2 * p.k * p.k * p.m
    needs = entry_for_draws(p, backend).needs(p, mixes)
    test_data, test = entry_for_draws(p, "auto").needs_of_test(p, p.k * n_test)
    return 8 * (state + needs.stays + test_data + max(needs.product, test))


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


def check_memory(parameters: Parameters, mixes: bool, backend: str = "auto", n_test: int = 20, integrator: str = "flow") -> int:
    """Return the predicted bytes of a run.

    Raises
    ------
    UsageError
        If they are not there.
    """
    needed, there = required_bytes(parameters, mixes, backend, n_test, integrator), available_bytes()
    if there is not None and needed > there:
        p = parameters
        other = "" if p.noise == "codebook" else ", or use noise=codebook, whose cost does not depend on P"
        raise UsageError(
            f"k={p.k}, m={p.m}, N={p.N}, P={p.P}, noise={p.noise}: would need about {needed:.3g} bytes of memory and {there:.3g} are available; "
            f"make the problem smaller (k, m, N, G){other}"
        )
    return needed
