"""The network evaluated on a data set: a readable NumPy kernel and the compiled ones, all with the same functions (`Kernel`).

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
from mvsim.kernels.kernel import Kernel
from mvsim.parameters import Parameters

BACKENDS = ("auto", "numpy", "numba")

__all__ = ["BACKENDS", "Kernel", "make_kernel", "usable_backend"]


def usable_backend(backend: str) -> str:
    """Return ``backend``, or ``numpy`` for ``auto`` where numba must not compile; a warning says so once.

    Raises
    ------
    UsageError
        If there is no such backend, or it is ``numba`` and must not compile.
    """
    if not isinstance(backend, str) or backend not in BACKENDS:
        raise UsageError(f"backend={echo(backend)}: must be one of {', '.join(BACKENDS)}")
    if backend == "numpy":
        return backend
    from mvsim.kernels.jit.compiling import may_compile, warn_of_slow_kernel

    if may_compile():
        return backend
    if backend == "numba":
        raise UsageError("backend='numba': its kernels must be compiled, and NUMBA_DISABLE_JIT forbids it; unset it, or give backend=numpy")
    warn_of_slow_kernel()
    return "numpy"


def make_kernel(parameters: Parameters, data: Dataset, backend: str, threads: int | None, activation: Activation | None = None) -> Kernel:
    """Choose a kernel: ``numpy`` is the oracle, ``numba`` (and ``auto``) the compiled one that suits the structure of the data."""
    activation = activation or SmoothedRelu(parameters.rho, parameters.alpha)
    if usable_backend(backend) == "numpy":
        from mvsim.kernels.oracle import NumpyDenseKernel

        return NumpyDenseKernel(parameters, data, threads, activation)
    if isinstance(data, SharedNoiseDataset):
        from mvsim.kernels.shared_noise.kernel import FactoredKernel

        return FactoredKernel(parameters, data, threads, activation)
    from mvsim.kernels.any_patches.kernel import NumbaDenseKernel

    return NumbaDenseKernel(parameters, data, threads, activation)
