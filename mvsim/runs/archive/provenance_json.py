"""Provenance as JSON text: the one attribute of a run file, since NetCDF attributes hold neither None, bool, dict nor large integers."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from mvsim.base.echo import echo
from mvsim.base.errors import UsageError


def provenance_text(provenance: dict[str, Any], **layout: Any) -> str:
    """Return ``provenance`` as JSON text in plain ASCII; integers keep all their digits."""
    try:
        return json.dumps(provenance, default=_plain, allow_nan=False, **layout)
    except ValueError as error:
        raise UsageError(f"the description of the run cannot be saved: {error}; give finite numbers") from None


def provenance_from_text(text: str) -> dict[str, Any]:
    """Return the provenance that ``text`` holds."""
    provenance = json.loads(text)
    if not isinstance(provenance, dict):
        raise ValueError("not a JSON object")
    return provenance


def _plain(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"provenance cannot hold a {type(value).__name__}: {echo(value)}")
