"""Which kernel serves what."""

from __future__ import annotations

from mvsim.base.echo import echo
from mvsim.base.errors import UsageError
from mvsim.base.inputs import check_threads
from mvsim.multi_view.activations import Activation, activation_of
from mvsim.multi_view.data import Dataset
from mvsim.multi_view.kernels.array.device import free_bytes_of_gpu
from mvsim.multi_view.kernels.base import Kernel
from mvsim.multi_view.kernels.registry import BACKENDS, KERNELS, ORACLE, KernelEntry
from mvsim.multi_view.memory import KernelMemory, bytes_on_device, check_fits
from mvsim.multi_view.parameters import Parameters


def usable_backend(backend: str) -> str:
    """Return ``backend``, or that of the oracle for ``auto`` where numba must not compile; a warning says so once.

    `UsageError` says that there is no such backend, or that what it needs is not there: a GPU, or numba that may compile.
    """
    if not isinstance(backend, str) or backend not in BACKENDS:
        raise UsageError(f"backend={echo(backend)}: must be one of {', '.join(BACKENDS)}")
    for entry in KERNELS:
        if entry.backend == backend:
            entry.check()
    if not any(entry.compiled for entry in KERNELS if entry.backend == backend) and backend != "auto":
        return backend
    from mvsim.multi_view.kernels.jit.compiling import may_compile, warn_of_slow_kernel

    if may_compile():
        return backend
    if backend != "auto":
        advice = f"unset it, or give backend={ORACLE.backend}"
        raise UsageError(f"backend={echo(backend)}: its kernels must be compiled, and NUMBA_DISABLE_JIT forbids it; {advice}")
    warn_of_slow_kernel()
    return ORACLE.backend


def entry_for_draws(parameters: Parameters, backend: str) -> KernelEntry:
    """Return the kernel that serves what is drawn with these parameters."""
    return next(entry for entry in KERNELS if _may_take(entry, backend) and entry.takes.draws(parameters))


def memory_of(parameters: Parameters, backend: str) -> KernelMemory:
    """Return how much memory that kernel takes."""
    return entry_for_draws(parameters, backend).memory


def check_device_memory(parameters: Parameters, mixes: bool, backend: str) -> None:
    """Raise `UsageError` if what a run needs on a device of its own, as a GPU, is not free there; kernels without one need nothing."""
    kernel = memory_of(parameters, backend)
    if kernel.on_device:
        check_fits(parameters, lambda p: bytes_on_device(p, mixes, kernel), " on the GPU", free_bytes_of_gpu)


def _may_take(entry: KernelEntry, backend: str) -> bool:
    return entry.automatic if backend == "auto" else backend == entry.backend


def make_kernel(parameters: Parameters, data: Dataset, backend: str, threads: int | None, activation: Activation | None = None) -> Kernel:
    """Make the first kernel of a backend, or of all that are automatic for ``auto``, that serves the data.

    The activation is that of the model unless one is given. A backend or a number of threads that cannot be used here raises `UsageError`.
    """
    usable = usable_backend(backend)
    entry = next(entry for entry in KERNELS if _may_take(entry, usable) and entry.takes.data(data))
    kernel: Kernel = entry.load()(parameters, data, check_threads(threads), activation or activation_of(parameters))
    return kernel
