"""Paths in k: which d belongs to each number of classes when a statement is looked at over several."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from mvsim.base.echo import echo
from mvsim.base.errors import UsageError
from mvsim.multi_view.parameters.defaults import dimension
from mvsim.multi_view.parameters.model import Parameters

NAMED_PATHS: dict[str, Callable[..., Parameters]] = {"literal": Parameters.literal, "default": Parameters}
"""By the word that `mvsim verify --path` takes; with the default d may be given besides."""

PATHS = "literal (d = k^20); default (the d of parameters); r0=C*k^-P with numbers C > 0 and P, as r0=0.5*k^-0.3"
"""All paths, in words."""

_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?"
_POWER = re.compile(rf"r0=({_NUMBER})(?:\*k\^(-?{_NUMBER}))?", re.IGNORECASE)


def path_in_k(text: str) -> Callable[..., Parameters]:
    """Return a function that makes the parameters at one k.

    Parameters
    ----------
    text : str
        ``literal``: d = k^20, as Assumption 4.3 has it. ``default``: the d that parameters have by themselves. ``r0=C*k^-P``: the d at which
        r0 = sqrt(2 ln m / d) / rho is C k^-P, dimensionless.
    """
    if not isinstance(text, str):
        raise UsageError(f"path={echo(text)}: must be {PATHS}")
    named, power = NAMED_PATHS.get(text), _POWER.fullmatch(text.replace(" ", ""))
    if named is None and power is None:
        raise UsageError(f"path={echo(text)}: must be {PATHS}")

    def at(k: int, **fields: Any) -> Parameters:
        if "d" in fields and text != "default":
            raise UsageError(f"path={text}, d={echo(fields['d'])}: the path says what d is; give only one of them")
        return named(k=k, **fields) if named else _at_r0(text, power, Parameters(k=k, **fields))

    return at


def _at_r0(text: str, power: re.Match[str] | None, p: Parameters) -> Parameters:
    """Return parameters with the d at which r0 is as the path says."""
    assert power is not None
    log_r0 = math.log(float(power[1]) or 1e-300) + float(power[2] or 0.0) * math.log(p.k)
    log_d = math.log(2.0 * math.log(max(p.m, 2))) - 2.0 * (log_r0 + math.log(p.rho))
    if not abs(log_d) < 300.0 * math.log(10.0) or float(power[1]) == 0.0:
        raise UsageError(f"path={text}: r0 = 10^{log_r0 / math.log(10.0):.4g} at k = {p.k}; must be > 0 and such that d is at most 10^300")
    d, least = dimension(math.exp(log_r0), p.m, p.rho), p.features
    if d < least:
        raise UsageError(
            f"path={text}: r0 = {math.exp(log_r0):.4g} at k = {p.k}; must be at most {p.replace(d=least).r0:.4g}, where d = V k = {least}"
        )
    return p.replace(d=d)


def describe_path(by_k: Mapping[int, Parameters]) -> str:
    """Say along which r0 several numbers of classes lie, and whether that is a path of the theorems, on which r0 tends to 0."""
    r0 = {k: p.r0 for k, p in sorted(by_k.items())}
    values = ", ".join(f"{value:.3g} at k = {k}" for k, value in r0.items())
    falls = all(later < 0.999 * earlier for earlier, later in zip(list(r0.values())[:-1], list(r0.values())[1:], strict=True))
    return f"r0 = {values}" + ("" if falls else "; r0 does not fall with k, so this is not a path of the theorems (Assumption 4.3: r0 -> 0)")
