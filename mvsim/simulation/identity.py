"""Which run it is: the options that say so, each in one form, and the file name that follows from them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from mvsim.data import Dataset
from mvsim.integrators import INTEGRATORS
from mvsim.parameters import Parameters
from mvsim.parameters.model import ADDED
from mvsim.simulation.all_options import DEFAULTS, AllRunOptions
from mvsim.simulation.options import RunOptions, marks

_IN_THE_NAME = {"method", "seed"}
_INDIFFERENT = RunOptions.model_fields.keys() - {name for name, _ in marks(RunOptions)} - {"integrator"}
"""Options that change nothing about a run but where it is saved, how often, and how fast it goes."""


def canonical_options(method: str, seed: int, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what tells a run from others with the same parameters, method and seed, however it was written.

    Parameters
    ----------
    method : str
        See `mvsim.simulate`.
    seed : int
        The same.
    options : mapping
        Other options of `mvsim.simulate`; ``data`` may be among them.

    Returns
    -------
    dict
        Values in JSON types, the digest of ``data``; without what has its default value or changes nothing about a run: the file, threads, and the
        seconds between two saves.

    Raises
    ------
    UsageError
        If an option is out of its domain.
    """
    points = {name: value.digest() for name, value in options.items() if isinstance(value, Dataset)}
    asked = AllRunOptions(method=method, seed=seed, **{name: value for name, value in options.items() if name not in points})
    given = {name: getattr(asked, name) for name in sorted(asked.model_fields_set - _IN_THE_NAME - _INDIFFERENT)}
    letter = INTEGRATORS[asked.integrator].letter
    if given.get(letter) is not None:
        given[letter] = INTEGRATORS[asked.integrator].check_option(given[letter])
    return {name: _plain(value) for name, value in given.items() if value != getattr(DEFAULTS, name)} | points


def run_name(parameters: Parameters, method: str, seed: int, options: Mapping[str, Any]) -> str:
    """Return the file name of a run: what a reader looks for, and a hash of all parameters and of `canonical_options`."""
    fields = {name: value for name, value in parameters.model_dump(mode="json").items() if name not in ADDED or value != ADDED[name]}
    told = json.dumps([fields, canonical_options(method, seed, options)], sort_keys=True)
    return f"{method}-k{parameters.k}-seed{seed}-{hashlib.sha256(told.encode()).hexdigest()[:10]}.nc"


def _plain(value: Any) -> Any:
    """Return a value in JSON types; within laws 1 and 1.0 are the same number."""
    if hasattr(value, "dist"):  # a frozen distribution of scipy.stats
        return _plain({"distribution": value.dist.name, "args": list(value.args), "kwds": value.kwds})
    if isinstance(value, Mapping):
        return {str(name): _inner(one) for name, one in value.items()}
    return [_inner(one) for one in value] if isinstance(value, list | tuple) else value


def _inner(value: Any) -> Any:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else _plain(value)
