"""Reading arrays that a user gives."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mvsim.echo import shortened
from mvsim.errors import NotFiniteError, UsageError
from mvsim.parameters import Parameters


def real_array(name: str, values: ArrayLike) -> np.ndarray:
    """Return ``values`` as a contiguous float64 array.

    Raises
    ------
    UsageError
        If they are not real numbers.
    """
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "biuf":
            raise TypeError(f"{array.dtype} numbers")
        with np.errstate(over="raise"):  # long doubles
            return np.asarray(array, dtype=np.float64, order="C")
    except (TypeError, ValueError, ArithmeticError) as error:
        raise UsageError(f"{name}: must be an array of real numbers ({shortened(' '.join(str(error).split()))})") from None


def correlations_array(name: str, c: ArrayLike, parameters: Parameters) -> np.ndarray:
    """Return correlations (k, m, k, 2) as a contiguous float64 array.

    Raises
    ------
    UsageError
        If they have another shape or are not real numbers.
    NotFiniteError
        If one of them is NaN or infinite.
    """
    array, expected = real_array(name, c), (parameters.k, parameters.m, parameters.k, 2)
    if array.shape != expected:
        raise UsageError(f"{name} has shape {array.shape}: must be (k, m, k, 2) = {expected}")
    wrong = ~np.isfinite(array)
    if wrong.any():
        place = ", ".join(str(i) for i in np.argwhere(wrong)[0])
        raise NotFiniteError(f"{name}[{place}]={array[wrong][0]}: must be finite, like every correlation; {int(wrong.sum())} of {array.size} are not")
    return array
