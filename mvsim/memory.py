"""How many bytes a run needs, and whether they are there, before anything is allocated."""

from __future__ import annotations

import os
from pathlib import Path

from mvsim.errors import UsageError
from mvsim.parameters import Parameters

_LIBRARIES = 245 * 2**20
"""Bytes taken by the interpreter and the libraries."""

_LOADING = 270 * 2**20
"""Bytes taken while libraries and kernels are loaded, some of which the arrays of the run take over. Compiling the kernels, once after
installing, takes 100 MiB more."""

_BATCH = 2**22
"""Doubles in one (k, n) array of a batch of mixed points with arbitrary patches."""

_CACHED = 2**17
"""Doubles in the pre-activations of a neuron on arbitrary patches, of which the compiled loops take some at a time."""

_FLOW = 48
"""Vectors of the size of the correlations that the solver of the gradient flow holds: past steps, Krylov space, tolerances. Careful segments have
room for 40 more in their Krylov space, most of which stays untouched."""

_STIFF = 14
"""Doubles for each ordered pair of points in the stiff part of the Hessian, for rates and probabilities; on top come five tables."""

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
    if integrator == "flow":  # the solver, and the stiff part of the Hessian with two neurons escaped in a class
        tables = _STIFF * p.N * p.N + 5 * p.k * p.N * _patterns(p, p.N)
        stiff = tables if mixes and p.noise != "patch" and backend != "numpy" else 0
        state, record = 2 * p.k * p.k * p.m, 2 * p.k * p.m + 20 * p.k
        flow = 8 * (_FLOW * state + stiff + _COPIES * (_SNAPSHOTS * state + _RECORDS * record))
    return max(_LOADING, _LIBRARIES + array_bytes(p, mixes, backend, n_test) + flow)


def array_bytes(parameters: Parameters, mixes: bool, backend: str = "auto", n_test: int = 20) -> int:
    """Predict the most bytes that the arrays of a run take at once; arguments as for `required_bytes`.

    That is in a Hessian-vector product, which the first record of a run takes already, or while feature learning is tested.
    """
    p = parameters
    state = 8 * 2 * p.k * p.k * p.m
    if p.noise == "patch" or backend == "numpy":
        data, product = _dense(p, p.N, mixes, backend)
    else:
        data, product = _all_pairs(p) if mixes else (_layout(p, p.N), _product(p))
    tests = p.k * n_test
    if p.noise == "patch":  # what stays of the fresh draws is once with each view alone; both are there while these are made
        test_data, test = 2 * (_features(p) - 1) * tests * p.P, _features(p) * tests * p.P
    else:
        test_data, test = _layout(p, tests), 5 * p.k * tests + 2 * _columns(p, tests) + 2 * 2 * p.k * p.k * p.m
    return 8 * (state + data + test_data + max(product, test))


def _patterns(p: Parameters, points: int) -> int:
    """Return how many noise patterns that many points have."""
    return min(p.G, points) if p.noise == "codebook" else points


def _columns(p: Parameters, points: int) -> int:
    """Return the doubles in the pre-activations of features and noise patterns."""
    return p.k * (2 * p.k + _patterns(p, points)) * p.m


def _layout(p: Parameters, points: int) -> int:
    """Return the doubles that describe points with shared noise, in the data and in the kernel."""
    return 2 * 2 * p.k * _patterns(p, points) + points * (20 * p.C_P + 2 * int(p.alpha) + 10)


def _product(p: Parameters) -> int:
    """Return the doubles of a Hessian-vector product on points with shared noise: columns, their changes and derivatives, and outputs."""
    return 3 * _columns(p, p.N) + 3 * 2 * p.k * p.k * p.m + 10 * p.k * p.N


def _all_pairs(p: Parameters) -> tuple[int, int]:
    """Return the doubles that stay for all pairs of points with shared noise (`shared_noise`), and those of a Hessian-vector product."""
    patterns, signals = _patterns(p, p.N), 2 * p.C_P
    # Pairs with coinciding signal patches, and coincidences: every point meets itself in all of them.
    share, met = (min(1.0, signals**2 / p.P), signals**2 / p.P) if p.signal_layout == "random" else (1.0, signals)
    others = p.N * (p.N - 1) // 2
    extra, meetings = p.N + int(others * share), p.N * signals + int(others * met)
    blocks = patterns * (patterns + 1) // 2
    tables = p.k * patterns * p.N + p.k * (blocks + extra)
    apart = meetings - p.N * signals
    terms = 6 * (blocks + apart) if p.alpha.is_integer() else 6 * (blocks + meetings + 3 * apart)
    plan = 2 * blocks + 4 * extra + 5 * meetings + 6 * apart
    # The coefficients of the labels stay, and the memory in which values become derivatives; their changes along the direction are there in a
    # product, with the moments of one class (on each thread, of which one is counted). Before any of that, the coincidences are sorted.
    moments = 2 * patterns * ((int(p.alpha) + 1) * (2 * p.k + p.m) + p.N) if p.alpha.is_integer() else 0
    return _layout(p, p.N) + 2 * tables + terms + plan, max(_product(p) + tables + moments, 22 * apart - 2 * tables)


def _dense(p: Parameters, points: int, mixes: bool, backend: str) -> tuple[int, int]:
    """Return the same for arbitrary patches: the data, of which the readable kernel makes explicit patches, and a batch of mixed points.

    A batch has ten arrays. The compiled loops have three arrays of pre-activations on each thread, of which one thread is counted.
    """
    batch = min(points * (points + 1) // 2, max(points, _BATCH // p.k)) if mixes else min(points, max(1, _BATCH // p.k))
    data, activations = _features(p) * points * p.P, 3 * points * min(p.P, max(_CACHED // points, 64))
    if backend == "numpy":
        data, activations = data + 2 * p.k * points * p.P, 8 * max(_BATCH, p.P * p.k * (2 + p.m))
    return data, (10 * p.k + 7) * batch + activations


def _features(p: Parameters) -> int:
    """Return how many features occur in a point with noise of each patch: those of its noise classes and of its own class."""
    return 2 * (p.Q + 1)


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
