"""The kernels there are, and what there is to know of each before it is made. A new kernel is a file and an entry in `KERNELS`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from mvsim.multi_view.data import Dataset, SharedNoiseDataset
from mvsim.multi_view.kernels.any_patches import memory as any_patches_memory
from mvsim.multi_view.kernels.array import memory as array_memory
from mvsim.multi_view.kernels.base import Kernel
from mvsim.multi_view.kernels.devices import free_bytes_of_gpu, gpu, gpu_is_there
from mvsim.multi_view.kernels.needs import Needs, NeedsOfTest, bytes_on_device
from mvsim.multi_view.kernels.one_patch import memory as one_patch_memory
from mvsim.multi_view.kernels.shared_noise import memory as shared_noise_memory
from mvsim.multi_view.parameters import Parameters


@dataclass(frozen=True)
class KernelEntry:
    """One kernel.

    Attributes
    ----------
    backend : str
        The backend it belongs to, as users name it; ``auto`` if it is only taken where the choice is left to the program.
    compiled : bool
        Whether it must be compiled.
    pays : callable
        Whether ``auto`` may take it for these parameters: whether that is the fastest way; by default always.
    device_needs : callable or None
        (parameters, mixes) -> the memory that a run takes on a device of its own; None if all arrays are in that of the machine.
    check : callable
        Raises `UsageError` if what it needs is not there; by default it needs nothing.
    free : callable
        Returns the bytes that are free on its device.
    serves : callable
        Whether it takes a data set; by default any.
    serves_draws : callable
        Whether it takes what `mvsim.sample_dataset` draws with these parameters; by default always.
    needs : callable
        (parameters, mixes) -> the memory that it takes for a run.
    needs_of_test : callable
        (parameters, points) -> the memory that it takes for outputs on that many fresh draws with each view alone.
    path : str
        Where its class is, as ``module:name``.
    """

    backend: str
    compiled: bool
    needs: Callable[[Parameters, bool], Needs]
    needs_of_test: Callable[[Parameters, int], NeedsOfTest]
    path: str
    pays: Callable[[Parameters], bool] = lambda parameters: True
    device_needs: Callable[[Parameters, bool], Needs] | None = None
    check: Callable[[], object] = lambda: None
    free: Callable[[], int | None] = lambda: None
    serves: Callable[[Dataset], bool] = lambda data: True
    serves_draws: Callable[[Parameters], bool] = lambda parameters: True

    def load(self) -> type[Kernel]:
        """Return the class, which is imported only now: what compiles or needs a GPU is not loaded before it is used."""
        module, name = self.path.split(":")
        loaded: type[Kernel] = getattr(import_module(module), name)
        return loaded


ORACLE = KernelEntry(
    backend="numpy",
    compiled=False,
    needs=any_patches_memory.needs_of_readable,
    needs_of_test=any_patches_memory.needs_of_test_of_readable,
    path="mvsim.multi_view.kernels.oracle:OracleKernel",
)
"""The readable kernel. The others are tested against it, and ``auto`` is this one where nothing can be compiled."""

GPU_PAYS_FROM = math.inf
"""N^2 k from which on ``auto`` takes a GPU: pairs times classes, the size of a loss and gradient of all pairs. It is to be measured
(`python validation/run.py gpu`); until then it is infinite, and ``auto`` never takes one. It looks at sizes alone, not at the loss."""


def _never(parameters: Parameters) -> bool:
    return False


def _gpu_pays(p: Parameters) -> bool:
    """Whether it is large enough for a GPU, there is one, and a run of any loss fits into what is free on it."""
    if p.N**2 * p.k < GPU_PAYS_FROM or not gpu_is_there():
        return False
    return bytes_on_device(array_memory.needs_on_gpu(p, True), p) <= free_bytes_of_gpu()


KERNELS = (
    KernelEntry(
        backend="cupy",
        compiled=False,
        pays=_gpu_pays,
        check=gpu,
        free=free_bytes_of_gpu,
        serves=lambda data: isinstance(data, SharedNoiseDataset),
        serves_draws=lambda p: p.noise != "patch",
        needs=array_memory.needs_beside_gpu,
        device_needs=array_memory.needs_on_gpu,
        needs_of_test=array_memory.needs_of_test,
        path="mvsim.multi_view.kernels.array.array_kernel:GpuKernel",
    ),
    KernelEntry(
        backend="cupy",
        compiled=False,
        pays=_never,
        check=gpu,
        free=free_bytes_of_gpu,
        needs=array_memory.needs_of_patches_beside_gpu,
        device_needs=array_memory.needs_of_patches_on_gpu,
        needs_of_test=array_memory.needs_of_test_of_patches,
        path="mvsim.multi_view.kernels.array.array_kernel:GpuPatchesKernel",
    ),
    KernelEntry(
        backend="array",
        compiled=False,
        pays=_never,
        serves=lambda data: isinstance(data, SharedNoiseDataset),
        serves_draws=lambda p: p.noise != "patch",
        needs=array_memory.needs,
        needs_of_test=array_memory.needs_of_test,
        path="mvsim.multi_view.kernels.array.array_kernel:ArrayKernel",
    ),
    KernelEntry(
        backend="array",
        compiled=False,
        pays=_never,
        needs=array_memory.needs_of_patches,
        needs_of_test=array_memory.needs_of_test_of_patches,
        path="mvsim.multi_view.kernels.array.array_kernel:ArrayPatchesKernel",
    ),
    KernelEntry(
        backend="numba",
        compiled=True,
        serves=lambda data: isinstance(data, SharedNoiseDataset),
        serves_draws=lambda p: p.noise != "patch",
        needs=shared_noise_memory.needs,
        needs_of_test=shared_noise_memory.needs_of_test,
        path="mvsim.multi_view.kernels.shared_noise.shared_noise_kernel:SharedNoiseKernel",
    ),
    KernelEntry(
        backend="auto",
        compiled=False,
        serves=lambda data: data.P == 1,
        serves_draws=lambda p: p.P == 1,
        needs=one_patch_memory.needs,
        needs_of_test=one_patch_memory.needs_of_test,
        path="mvsim.multi_view.kernels.one_patch.one_patch_kernel:OnePatchKernel",
    ),
    KernelEntry(
        backend="numba",
        compiled=True,
        needs=any_patches_memory.needs,
        needs_of_test=any_patches_memory.needs_of_test,
        path="mvsim.multi_view.kernels.any_patches.any_patches_kernel:AnyPatchesKernel",
    ),
    ORACLE,
)
"""All kernels, the fastest first: the first one of a backend that serves the data is taken, and for ``auto`` of all that pay."""

BACKENDS = ("auto", *sorted({entry.backend for entry in KERNELS} - {"auto"}, reverse=True))
"""What users may ask for."""
