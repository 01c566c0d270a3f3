"""The kernels there are, and what there is to know of each before it is made. A new kernel is a file and an entry in `KERNELS`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import NamedTuple

from mvsim.multi_view import memory
from mvsim.multi_view.data import Dataset, SharedNoiseDataset
from mvsim.multi_view.kernels.array.device import gpu
from mvsim.multi_view.kernels.base import Kernel
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
