"""The kernels there are, what there is to know of each before it is made, and which serves what. A new one is a file and an entry in `KERNELS`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import NamedTuple

from mvsim.base.echo import echo
from mvsim.base.errors import UsageError
from mvsim.base.inputs import check_threads
from mvsim.base.options import check_choice
from mvsim.multi_view import memory
from mvsim.multi_view.activations import Activation, activation_of
from mvsim.multi_view.data import Dataset, SharedNoiseDataset
from mvsim.multi_view.kernels.array.device import free_bytes_of_gpu, gpu
from mvsim.multi_view.kernels.base import Kernel
from mvsim.multi_view.memory import KernelMemory, bytes_on_device, check_fits
from mvsim.multi_view.parameters import Parameters


class PointKind(NamedTuple):
    """Which points a kernel takes: of a data set, and of what `mvsim.sample_dataset` draws with some parameters."""

    data: Callable[[Dataset], bool]
    draws: Callable[[Parameters], bool]


ANY = PointKind(lambda data: True, lambda p: True)
SHARED_NOISE = PointKind(lambda data: isinstance(data, SharedNoiseDataset), lambda p: p.noise != "patch")
ONE_PATCH = PointKind(lambda data: data.P == 1, lambda p: p.P == 1)


@dataclass(frozen=True)
class KernelEntry:
    """One kernel."""

    backend: str  # The backend it belongs to, as users name it; ``auto`` if it is only taken where the choice is left to the program
    path: str  # Where its class is, as ``module:name``, in `mvsim.multi_view.kernels`
    takes: PointKind  # Which points it takes
    memory: memory.KernelMemory  # How much memory it takes
    automatic: bool = True  # Whether ``auto`` may take it

    @property
    def compiled(self) -> bool:
        """Whether it must be compiled."""
        return self.backend == "numba"

    @property
    def on_gpu(self) -> bool:
        """Whether it needs a GPU."""
        return self.memory.on_device is not None

    def check(self) -> None:
        """Raise `UsageError` if what it needs is not there."""
        if self.on_gpu:
            gpu()

    def load(self) -> type[Kernel]:
        """Return the class, which is imported only now: what compiles or needs a GPU is not loaded before it is used."""
        module, name = self.path.split(":")
        loaded: type[Kernel] = getattr(import_module(f"mvsim.multi_view.kernels.{module}"), name)
        return loaded


ORACLE = KernelEntry("numpy", "oracle:OracleKernel", ANY, memory.ORACLE)
"""The readable kernel. The others are tested against it, and ``auto`` is this one where nothing can be compiled."""

KERNELS = (
    KernelEntry("cupy", "array.array_kernel:GpuKernel", SHARED_NOISE, memory.GPU, automatic=False),
    KernelEntry("cupy", "array.array_kernel:GpuPatchesKernel", ANY, memory.GPU_PATCHES, automatic=False),
    KernelEntry("array", "array.array_kernel:ArrayKernel", SHARED_NOISE, memory.ARRAY, automatic=False),
    KernelEntry("array", "array.array_kernel:ArrayPatchesKernel", ANY, memory.ARRAY_PATCHES, automatic=False),
    KernelEntry("numba", "shared_noise.shared_noise_kernel:SharedNoiseKernel", SHARED_NOISE, memory.SHARED_NOISE),
    KernelEntry("auto", "one_patch.one_patch_kernel:OnePatchKernel", ONE_PATCH, memory.ONE_PATCH),
    KernelEntry("numba", "any_patches.any_patches_kernel:AnyPatchesKernel", ANY, memory.ANY_PATCHES),
    ORACLE,
)
"""All kernels, the fastest first: the first one of a backend that serves the data is taken, and for ``auto`` of all that are automatic."""

BACKENDS = ("auto", *sorted({entry.backend for entry in KERNELS} - {"auto"}, reverse=True))
"""What users may ask for."""


def usable_backend(backend: str) -> str:
    """Return ``backend``, or that of the oracle for ``auto`` where numba must not compile; a warning says so once.

    `UsageError` says that there is no such backend, or that what it needs is not there: a GPU, or numba that may compile.
    """
    check_choice("backend", backend, BACKENDS)
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
