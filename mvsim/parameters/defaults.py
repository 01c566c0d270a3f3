"""Defaults that depend on other fields: the scalings of Assumption 4.3 in k, with measured constants."""

from __future__ import annotations

import math
from typing import Any

from mvsim.parameters.models import model_named
from mvsim.parameters.numbers import MOST_CLASSES, MOST_VIEWS, usable_number


def default_r0(k: int) -> float:
    """Return r0 = sqrt(2 ln m / d) / rho at the default d, dimensionless: the leading-order size of max_r c[y, r, y, l] over the threshold.

    It falls as a power of k, since at a fixed r0 the share of classes of which ERM learns both features, against Theorem 4.6, grows with k.
    With every other parameter at its default the share at this r0 is foretold to be at most 1.8 % for all k from 4 to 1000, and 5 of 500 classes
    were measured at k = 4 to 50 (``python validation/run.py default_regime``); at r0 = 0.3 it is a sixth of the classes at k = 20. A smaller r0
    separates better and takes longer, in proportion to r0^-(alpha - 2).
    """
    return 0.34 * k**-0.22


def dimension(r0: float, m: int, rho: float) -> int:
    """Return the d at which sqrt(2 ln m / d) / rho equals r0 (m = 1 counts as 2), rounded up."""
    return max(1, math.ceil(2.0 * math.log(max(m, 2)) / (r0 * rho) ** 2))


def with_defaults(fields: dict[str, Any]) -> dict[str, Any]:
    """Fill in the defaults that depend on other fields; leave anything malformed for the validator to name."""
    filled = {**model_named(fields.get("model")).fixed, **fields}
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
    filled.setdefault("d", max(V * k_int, dimension(default_r0(k_int), int(m), rho)))
    filled.setdefault("delta1", 0.1)
    filled.setdefault("delta2", 1.0)
    filled.setdefault("delta3", min(0.05 * k**-1.5, read if (read := usable_number(fields.get("delta4"), least=0)) is not None else math.inf))
    filled.setdefault("delta4", max(0.1 * k**-1.5, usable_number(filled["delta3"], least=0) or 0.0))
    return filled
