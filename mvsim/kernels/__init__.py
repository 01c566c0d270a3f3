"""The network evaluated on a data set: a readable NumPy kernel and the compiled ones, all with the same functions (`Kernel`).

To add one: write a subclass of `Kernel` and list it in `KERNELS`.

kernel                  what every kernel offers
oracle                  the definitions in NumPy, on explicit patches; slow and readable
any_patches/            compiled, any data: streams over neurons, in bounded memory
kernel                  batches, threads, units
loops                   the compiled loops
shared_noise/           compiled, for noise that the patches of a point share: its cost does not depend on P
kernel                  chooses among what follows, and pulls results back to correlations
layout                  points sorted by noise pattern, which patch meets which
tables                  sums over neurons from which the outputs of all pairs are put together
sums_direct             these sums, neuron by neuron, for any power
sums_by_moments         the same by moments, for integer powers
single_outputs          outputs on the training points
listed_outputs          outputs on given mixed points
pair_softmax            cross-entropy of all pairs from the tables
fused                   loss and gradient of all pairs in one compiled call
stiff_hessian           the stiff part of the Hessian
loops/                  the compiled loops behind each of these
jit/                    compiling and its cache, threads, compiled functions that both compiled kernels call
"""

from __future__ import annotations

from mvsim.activations import Activation, SmoothedRelu
from mvsim.data import Dataset, SharedNoiseDataset
from mvsim.echo import echo
from mvsim.errors import UsageError
from mvsim.kernels.any_patches import memory as any_patches_memory
from mvsim.kernels.kernel import Kernel
from mvsim.kernels.registry import KernelEntry
from mvsim.kernels.shared_noise import memory as shared_noise_memory
from mvsim.parameters import Parameters


def _shared_noise() -> type[Kernel]:
    from mvsim.kernels.shared_noise.kernel import SharedNoiseKernel

    return SharedNoiseKernel


def _any_patches() -> type[Kernel]:
    from mvsim.kernels.any_patches.kernel import AnyPatchesKernel

    return AnyPatchesKernel


def _oracle() -> type[Kernel]:
    from mvsim.kernels.oracle import OracleKernel

    return OracleKernel


KERNELS = (
    KernelEntry(
        backend="numba",
        compiled=True,
        serves=lambda data: isinstance(data, SharedNoiseDataset),
        serves_draws=lambda p: p.noise != "patch",
        needs=shared_noise_memory.needs,
        needs_of_test=shared_noise_memory.needs_of_test,
        load=_shared_noise,
    ),
    KernelEntry(
        backend="numba",
        compiled=True,
        serves=lambda data: True,
        serves_draws=lambda p: True,
        needs=any_patches_memory.needs,
        needs_of_test=any_patches_memory.needs_of_test,
        load=_any_patches,
    ),
    KernelEntry(
        backend="numpy",
        compiled=False,
        serves=lambda data: True,
        serves_draws=lambda p: True,
        needs=any_patches_memory.needs_of_readable,
        needs_of_test=any_patches_memory.needs_of_test_of_readable,
        load=_oracle,
    ),
)
"""All kernels, the fastest first: the first one of a backend that serves the data is taken, and of all backends for ``auto``."""

BACKENDS = ("auto", *sorted({entry.backend for entry in KERNELS}, reverse=True))

__all__ = ["BACKENDS", "KERNELS", "Kernel", "entry_for_draws", "make_kernel", "usable_backend"]


def usable_backend(backend: str) -> str:
    """Return ``backend``, or ``numpy`` for ``auto`` where numba must not compile; a warning says so once.

    Raises
    ------
    UsageError
        If there is no such backend, or it is ``numba`` and must not compile.
    """
    if not isinstance(backend, str) or backend not in BACKENDS:
        raise UsageError(f"backend={echo(backend)}: must be one of {', '.join(BACKENDS)}")
    if not any(entry.compiled for entry in KERNELS if entry.backend == backend) and backend != "auto":
        return backend
    from mvsim.kernels.jit.compiling import may_compile, warn_of_slow_kernel

    if may_compile():
        return backend
    if backend == "numba":
        raise UsageError("backend='numba': its kernels must be compiled, and NUMBA_DISABLE_JIT forbids it; unset it, or give backend=numpy")
    warn_of_slow_kernel()
    return "numpy"


def entry_for_draws(parameters: Parameters, backend: str) -> KernelEntry:
    """Return the kernel that serves what is drawn with these parameters."""
    return next(entry for entry in KERNELS if backend in ("auto", entry.backend) and entry.serves_draws(parameters))


def make_kernel(parameters: Parameters, data: Dataset, backend: str, threads: int | None, activation: Activation | None = None) -> Kernel:
    """Make the first kernel of a backend that serves the data; the activation is by default that of Definition 4.2."""
    usable = usable_backend(backend)
    entry = next(entry for entry in KERNELS if usable in ("auto", entry.backend) and entry.serves(data))
    kernel: Kernel = entry.load()(parameters, data, threads, activation or SmoothedRelu(parameters.rho, parameters.alpha))
    return kernel
