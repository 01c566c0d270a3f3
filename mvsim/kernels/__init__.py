"""Sums over neurons and patches: a readable NumPy kernel and the compiled ones, all with the same functions (`Kernel`)."""

from __future__ import annotations

from mvsim.data import Dataset, SharedNoiseDataset
from mvsim.echo import echo
from mvsim.errors import UsageError
from mvsim.kernels.base import Kernel, PointwiseLoss
from mvsim.kernels.cross_entropy import CrossEntropy
from mvsim.kernels.points import AllPairs, ListedPairs, Points, Unmixed
from mvsim.parameters import Parameters

BACKENDS = ("auto", "numpy", "numba")

__all__ = ["BACKENDS", "AllPairs", "CrossEntropy", "Kernel", "ListedPairs", "Points", "PointwiseLoss", "Unmixed", "make_kernel", "usable_backend"]


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
    from mvsim.kernels.compiling import may_compile, warn_of_slow_kernel

    if may_compile():
        return backend
    if backend == "numba":
        raise UsageError("backend='numba': its kernels must be compiled, and NUMBA_DISABLE_JIT forbids it; unset it, or give backend=numpy")
    warn_of_slow_kernel()
    return "numpy"


def make_kernel(parameters: Parameters, data: Dataset, backend: str, threads: int | None) -> Kernel:
    """Choose a kernel: ``numpy`` is the oracle, ``numba`` (and ``auto``) the compiled one that suits the structure of the data."""
    if usable_backend(backend) == "numpy":
        from mvsim.kernels.numpy_dense import NumpyDenseKernel

        return NumpyDenseKernel(parameters, data, 1)
    if isinstance(data, SharedNoiseDataset):
        from mvsim.kernels.factored import FactoredKernel

        return FactoredKernel(parameters, data, threads)
    from mvsim.kernels.numba_dense import NumbaDenseKernel

    return NumbaDenseKernel(parameters, data, threads)
