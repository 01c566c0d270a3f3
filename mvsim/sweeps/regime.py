"""Parameters from values that are given for them: d itself, r0 in its place, or the regime that fixes it."""

from __future__ import annotations

from collections.abc import Mapping

from mvsim.base.echo import echo
from mvsim.base.errors import UsageError
from mvsim.base.inputs import check_positive
from mvsim.multi_view.parameters import Parameters, dimension
from mvsim.sweeps.values import Value

R0 = "r0"
"""Stands for the d that makes the largest initial correlation about this part of the threshold."""

REGIMES = ("scaled", "literal")


def parameters_of(fields: Mapping[str, Value], r0: Value | None, regime: str) -> Parameters:
    """Return the parameters that some values stand for."""
    if regime == "literal":
        if r0 is not None or "d" in fields:
            name, value = ("d", fields["d"]) if "d" in fields else (R0, r0)
            raise UsageError(f"regime='literal', {name}={echo(value)}: the literal regime has d = k^20; give only one of them")
        return Parameters.literal(**fields)
    if r0 is None:
        return Parameters(**fields)
    if "d" in fields:
        raise UsageError(f"d={echo(fields['d'])}, {R0}={echo(r0)}: each follows from the other; give only one of them")
    size = check_positive(R0, r0, most=1e6)
    p = Parameters(**fields)
    try:
        return p.replace(d=max(p.features, dimension(size, p.m, p.rho)))
    except (OverflowError, ZeroDivisionError):
        raise UsageError(f"{R0}={echo(r0)}: is so small that d = 2 ln m / (r0 rho)^2 is no double; give a larger one") from None
