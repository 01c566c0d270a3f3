"""Defaults that depend on other fields: the scalings of Assumption 4.3 in k, with measured constants."""

from __future__ import annotations

import math
from typing import Any

from mvsim.multi_view.parameters.models import model_named
from mvsim.multi_view.parameters.numbers import MOST, MOST_CLASSES, MOST_VIEWS, usable_number

PATCHES, MOST_PATCHES = 12, 4800
"""P over k^2, and the P up to which it is more than 1: that of k = 20."""

NEEDED, POINTS = 5.0, 6.0
"""N over k^1.5 at which noise above the signal keeps linear classifiers from being perfect: just enough, and the default."""

PATTERNS, SPARE_PATTERNS = 25, 4
"""G by default, and how many patterns beyond k do not yet keep linear classifiers from being perfect."""

ENOUGH, MOST_POINTS = 400, 500
"""N is not less by default, and not more for the sake of Proposition 4.4."""


def default_r0(k: int) -> float:
    """Return r0 = sqrt(2 ln m / d) / rho at the default d, dimensionless: the leading-order size of max_r c[y, r, y, l] over the threshold.

    It falls as a power of k, since at a fixed r0 the share of classes of which ERM learns both features, against Theorem 4.6, grows with k; here
    it is predicted to be at most 1.9 % up to k = 1000 (``python validation/run.py default_regime``). The time to escape grows as r0^-(alpha - 2).
    """
    return 0.34 * k**-0.22


def default_P(k: int, least: int) -> int:
    """Return the default number of patches, 12 k^2 up to 4800, k^2 where that is more, and at least as many as hold the signal.

    Assumption 4.3 has P = Theta(k^2); with this constant Proposition 4.4 holds on the sampled points up to k = 20: no linear classifier is right on
    all of them (study ``default_separability``). Beyond, where they fit the points anyway, a larger constant would only make runs of Midpoint Mixup
    longer; `mvsim.Parameters.deviations` then lists ``P delta3``.
    """
    return max(k**2, min(PATCHES * k**2, MOST_PATCHES), least)


def needed_N(k: int) -> int:
    """Return 5 k^1.5, rounded up: below it a linear classifier may be right on all points."""
    return math.ceil(NEEDED * k**1.5)


def needed_G(k: int) -> int:
    """Return k + 5: with fewer noise patterns than that a linear classifier may be right on all points."""
    return k + SPARE_PATTERNS + 1


def literal(k: int, fields: dict[str, Any]) -> dict[str, Any]:
    """Return what Assumption 4.3 asks for with every hidden constant 1, and N and G large enough for Proposition 4.4."""
    enough = {"N": min(max(ENOUGH, wanted_N(k)), MOST), "G": max(PATTERNS, needed_G(k))}
    return {"d": k**20, "P": max(k**2, signal_patches(fields)), "delta3": k**-1.5, "delta4": k**-1.5} | enough


def signal_patches(fields: dict[str, Any]) -> int:
    """Return V C_P of fields that may be wrong or missing still."""
    return _views(fields) * int(usable_number(fields.get("C_P", 2), least=1) or 1)


def _views(fields: dict[str, Any]) -> int:
    return int(min(usable_number(fields.get("V", 2), least=1) or 1, MOST_VIEWS))


def default_N(k: int) -> int:
    """Return the default number of points: 6 k^1.5 between 400 and 500, and 10 k where that is more.

    With 400 points ERM learns in every class at k = 10 a feature that suffices on all fresh draws, with fewer not (study ``choices``). Few points can
    be separated whatever the noise is: about 5 k^1.5 are needed for Proposition 4.4 to hold on them (study ``default_separability``), as there are up
    to k = 20. Beyond, they cost too much, as all N^2 pairs count: `mvsim.Parameters.deviations` then lists N.
    """
    return max(ENOUGH, min(wanted_N(k), MOST_POINTS), 10 * k)


def wanted_N(k: int) -> int:
    """Return 6 k^1.5, rounded up: so many points cannot be separated by a linear classifier."""
    return math.ceil(POINTS * k**1.5)


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
    V = _views(fields)
    filled.setdefault("P", default_P(k_int, signal_patches(filled)))
    filled.setdefault("Q", min(2, k_int - 1))
    filled.setdefault("N", default_N(k_int))
    filled.setdefault("alpha", 8.0)
    filled.setdefault("rho", 1.0 / k)
    m, rho = usable_number(filled["m"], least=1) or 1, min(usable_number(filled["rho"], least=1e-30) or 1.0, 1e6)
    filled.setdefault("d", max(V * k_int, dimension(default_r0(k_int), int(m), rho)))
    filled.setdefault("delta1", 0.1)
    filled.setdefault("delta2", 1.0)
    filled.setdefault("delta3", min(0.05 * k**-1.5, read if (read := usable_number(fields.get("delta4"), least=0)) is not None else math.inf))
    filled.setdefault("delta4", max(0.1 * k**-1.5, usable_number(filled["delta3"], least=0) or 0.0))
    return filled
