"""What a run is, as attributes of its data set: parameters, method, seed and integrator by their names, and its provenance as JSON text.

The first are for readers who know xarray and not mvsim. The provenance has all of it and more, and is what mvsim reads itself; it is one text, since
NetCDF attributes hold neither None, bool, dict nor large integers.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from mvsim.base.echo import echo
from mvsim.base.errors import UsageError

Plain = int | float | str

_OTHERS = ("method", "seed", "status")


def plain_attributes(provenance: dict[str, Any]) -> dict[str, Plain]:
    """Return numbers and text; a law as JSON text, and an integer that no machine integer holds as a float, or as text if it is a seed."""
    attributes = {str(name): _plain(value) for name, value in provenance["parameters"].items()}
    attributes |= {name: _plain(provenance[name]) for name in _OTHERS}
    seed = provenance["seed"]
    return attributes | {"integrator": str(provenance["integrator"].get("name")), "seed": seed if _fits(seed) else str(seed)}


def _plain(value: Any) -> Plain:
    if isinstance(value, bool) or value is None or isinstance(value, dict | list | tuple):
        return json.dumps(value)
    return float(value) if isinstance(value, int) and not _fits(value) else value


def _fits(value: int) -> bool:
    return -(2**63) <= value < 2**63


def provenance_text(provenance: dict[str, Any], **layout: Any) -> str:
    """Return ``provenance`` as JSON text in plain ASCII; integers keep all their digits."""
    try:
        return json.dumps(provenance, default=_of_numpy, allow_nan=False, **layout)
    except ValueError as error:
        raise UsageError(f"the description of the run cannot be saved: {error}; give finite numbers") from None


def provenance_from_text(text: str) -> dict[str, Any]:
    """Return the provenance that ``text`` holds."""
    provenance = json.loads(text)
    if not isinstance(provenance, dict):
        raise ValueError("not a JSON object")
    return provenance


def _of_numpy(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"provenance cannot hold a {type(value).__name__}: {echo(value)}")
