"""What a run is, as plain attributes of its data set: parameters, method, seed and integrator by their names.

They are for readers who know xarray and not mvsim. The provenance, one JSON text, has all of it and more, and is what mvsim reads itself.
"""

from __future__ import annotations

import json
from typing import Any

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
