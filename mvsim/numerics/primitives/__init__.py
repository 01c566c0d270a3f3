"""The few operations of linear algebra that NumPy has functions of its own for and the array API standard does not.

NumPy writes at an index, adds at an index, and has the factors and least squares of LAPACK. The standard has none of these: there they are
gathers with index tables, sums in a fixed order, products of matrices and the decompositions of its linear algebra. `primitives_of` says which
serve an array.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mvsim.numerics.namespaces import namespace_of
from mvsim.numerics.primitives.base import Places, Primitives, Spread
from mvsim.numerics.primitives.numpy import OfNumPy
from mvsim.numerics.primitives.standard import OfStandard

_STANDARD = OfStandard()

_PRIMITIVES: dict[Any, Primitives] = {np: OfNumPy()}
"""Those of the namespaces that have their own."""


def primitives_of(x: Any) -> Primitives:
    """Return the operations for arrays such as x."""
    return _PRIMITIVES.get(namespace_of(x), _STANDARD)


__all__ = ["Places", "Primitives", "Spread", "primitives_of"]
