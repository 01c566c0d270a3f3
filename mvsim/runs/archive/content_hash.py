"""A hash over what a run file says, so that an edited or damaged file is noticed."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from mvsim.runs.archive.provenance_json import provenance_text

if TYPE_CHECKING:
    import xarray as xr


def content_hash(dataset: xr.Dataset, provenance: dict[str, Any]) -> str:
    """Return the SHA-256 of a run: of its variables and of its provenance."""
    digest = hashlib.sha256()
    rest = {key: value for key, value in provenance.items() if key != "sha256"}
    digest.update(provenance_text(rest, sort_keys=True).encode())
    for name in sorted(map(str, dataset.variables)):
        variable = dataset.variables[name]
        values = np.asarray(variable.values)
        values = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
        digest.update(f"\n{name!r} {variable.dims!r} {values.dtype.str} {variable.shape!r}\n".encode())
        digest.update(values.data.cast("B") if values.size else b"")
    return digest.hexdigest()
