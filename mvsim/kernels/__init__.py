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

__all__ = ["BACKENDS", "AllPairs", "CrossEntropy", "Kernel", "ListedPairs", "Points", "PointwiseLoss", "Unmixed", "make_kernel"]


def make_kernel(parameters: Parameters, data: Dataset, backend: str, threads: int | None) -> Kernel:
    """Choose a kernel: ``numpy`` is the oracle, ``numba`` (and ``auto``) the compiled one that suits the structure of the data."""
    if backend not in BACKENDS:
        raise UsageError(f"backend={echo(backend)}: must be one of {', '.join(BACKENDS)}")
    if backend == "numpy":
        from mvsim.kernels.numpy_dense import NumpyDenseKernel

        return NumpyDenseKernel(parameters, data, 1)
    if isinstance(data, SharedNoiseDataset):
        from mvsim.kernels.factored import FactoredKernel

        return FactoredKernel(parameters, data, threads)
    from mvsim.kernels.numba_dense import NumbaDenseKernel

    return NumbaDenseKernel(parameters, data, threads)
