"""The one check that what is computed from correlations is finite.

A comparison with NaN is false, so it would count as "not learned" or "not accurate". Therefore values that are not finite raise an error here.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mvsim.base.errors import NotFiniteError
from mvsim.multi_view.kernels import Kernel
from mvsim.numerics.namespaces import namespace_of


def check_finite(what: str, c: Any, *arrays: Any, number: float = 0.0) -> None:
    """Raise `NotFiniteError` unless all arrays, of any namespace, and a number are finite, which were computed at correlations c."""
    xp = namespace_of(c)
    if not (math.isfinite(number) and all(bool(xp.all(xp.isfinite(array))) for array in arrays)):
        raise NotFiniteError(f"{what} not finite in double precision (largest correlation |c| = {float(xp.max(xp.abs(c))):.3g})")


def finite_outputs(kernel: Kernel, c: np.ndarray) -> np.ndarray:
    """Return (k, N): the outputs of a kernel at correlations c.

    Raises
    ------
    NotFiniteError
        If one of them is not finite.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # the next line says what is wrong
        outputs = kernel.outputs(c)
    check_finite("the outputs are", c, outputs)
    return outputs
