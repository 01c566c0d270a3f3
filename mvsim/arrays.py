"""Reading arrays that a user gives."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mvsim.echo import shortened
from mvsim.errors import UsageError


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
        return np.asarray(array, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        raise UsageError(f"{name}: must be an array of real numbers ({shortened(' '.join(str(error).split()))})") from None
