"""The one check that what is computed from correlations is finite.

A comparison with NaN is false, so it would count as "not learned" or "not accurate". Therefore values that are not finite raise an error here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from mvsim.base.errors import NotFiniteError
from mvsim.multi_view.kernels import Kernel
from mvsim.numerics.blas_threads import one_blas_thread


@contextmanager
def evaluating() -> Iterator[None]:
    """Compute without threads of BLAS, on whose number bits would depend, and leave what overflows to `check_finite`."""
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        yield


def check_finite(what: str, c: np.ndarray, *arrays: np.ndarray, number: float = 0.0) -> None:
    """Raise `NotFiniteError` unless all arrays and a number are finite, which were computed at correlations c."""
    if not (math.isfinite(number) and all(np.isfinite(array).all() for array in arrays)):
        raise NotFiniteError(f"{what} not finite in double precision (largest correlation |c| = {np.abs(c).max(initial=0.0):.3g})")


def finite_outputs(kernel: Kernel, c: np.ndarray) -> np.ndarray:
    """Return (k, N): the outputs of a kernel at correlations c; `NotFiniteError` if one of them is not finite."""
    with evaluating():
        outputs = kernel.outputs(c)
    check_finite("the outputs are", c, outputs)
    return outputs
