"""Defaults that depend on other fields: the scalings of Assumption 4.3 in k, with measured constants."""

from __future__ import annotations

import math
from typing import Any

from mvsim.parameters.numbers import MOST_CLASSES, MOST_VIEWS, usable_number

DEFAULT_R0 = 0.3
"""r0 = sqrt(2 ln m / d) / rho at the default d, dimensionless: the leading-order size of max_r c[y, r, y, l] over the threshold.

Measured with it: at k = 10 ERM leaves one feature of nearly every class unlearned, at k = 50 about a tenth of the classes learn both; a smaller
r0 separates better and takes longer, in proportion to r0^-(alpha - 2).
"""


def default_dimension(m: int, rho: float) -> int:
    """Return the d at which r0 = sqrt(2 ln m / d) / rho equals `DEFAULT_R0` (m = 1 counts as 2)."""
    return max(1, math.ceil(2.0 * math.log(max(m, 2)) / (DEFAULT_R0 * rho) ** 2))


def with_defaults(fields: dict[str, Any]) -> dict[str, Any]:
    """Fill in the defaults that depend on other fields; leave anything malformed for the validator to name."""
    filled = dict(fields)
    k = usable_number(fields.get("k"), least=2)
    if k is None or k > MOST_CLASSES:
        k = 2.0  # any legal value: the validator reports k itself, and the other fields still get checked
    k_int = int(k)
    filled.setdefault("m", k_int)
    filled.setdefault("C_P", 2)
    C_P = usable_number(filled["C_P"], least=1) or 1
    V = int(min(usable_number(fields.get("V", 2), least=1) or 1, MOST_VIEWS))
    filled.setdefault("P", max(k_int**2, V * int(C_P)))
    filled.setdefault("Q", min(2, k_int - 1))
    filled.setdefault("N", max(200, 10 * k_int))
    filled.setdefault("alpha", 8.0)
    filled.setdefault("rho", 1.0 / k)
    m, rho = usable_number(filled["m"], least=1) or 1, min(usable_number(filled["rho"], least=1e-30) or 1.0, 1e6)
    filled.setdefault("d", max(V * k_int, default_dimension(int(m), rho)))
    filled.setdefault("delta1", 0.1)
    filled.setdefault("delta2", 1.0)
    filled.setdefault("delta3", min(0.05 * k**-1.5, read if (read := usable_number(fields.get("delta4"), least=0)) is not None else math.inf))
    filled.setdefault("delta4", max(0.1 * k**-1.5, usable_number(filled["delta3"], least=0) or 0.0))
    return filled
