"""Which run it is: the options that say so, each in one form, and the file name that follows from them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from mvsim.flow import INTEGRATORS
from mvsim.multi_view.data import Dataset
from mvsim.multi_view.parameters import Parameters
from mvsim.multi_view.parameters.models import NETWORK
from mvsim.runs.simulation.auto import AUTO, integrator_of
from mvsim.runs.simulation.options import DEFAULTS, FREE, OF_THE_FILE, RunOptions

_LONGEST_REST = 60
"""Characters of the part of a readable name that says how a run differs from the default."""


def canonical_options(parameters: Parameters, method: str, seed: int, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what tells a run from others with the same parameters, method and seed, however it was written.

    The integrator is among it where "auto" would take another.
    """
    checked, points = _checked(method, seed, options)
    explicit = {name: getattr(checked, name) for name in sorted(checked.model_fields_set.difference(("method", "seed"), OF_THE_FILE))}
    integrator = INTEGRATORS[integrator_of(parameters, checked, bool(points))]
    if explicit.get(integrator.letter) is not None:
        explicit[integrator.letter] = integrator.check_option(explicit[integrator.letter])
    if explicit.get(integrator.letter) == integrator.usual:
        explicit.pop(integrator.letter, None)
    unasked = checked.model_copy(update={"integrator": AUTO, "rtol": explicit.get("rtol")})
    explicit["integrator"] = AUTO if integrator.name == integrator_of(parameters, unasked, bool(points)) else integrator.name
    return {name: _plain(value) for name, value in explicit.items() if value != getattr(DEFAULTS, name)} | points


def _checked(method: str, seed: int, options: Mapping[str, Any]) -> tuple[RunOptions, dict[str, str]]:
    """Return options of a run, and the digest of points that are given."""
    points = {name: value.digest() for name, value in options.items() if isinstance(value, Dataset)}
    return RunOptions(method=method, seed=seed, **{name: value for name, value in options.items() if name not in points}), points


def run_name(parameters: Parameters, method: str, seed: int, options: Mapping[str, Any]) -> str:
    """Return the file name of a run: what a reader looks for, and a hash of all parameters and of `canonical_options`."""
    text = json.dumps([parameters.model_dump(mode="json"), canonical_options(parameters, method, seed, options)], sort_keys=True)
    return f"{method}-k{parameters.k}-seed{seed}-{hashlib.sha256(text.encode()).hexdigest()[:10]}.nc"


def readable_name(parameters: Parameters, method: str, seed: int, options: Mapping[str, Any]) -> str:
    """Return the file name of a run without ``out``: k, method, seed and all else that is not the default, so that other runs have other names.

    What only says where the run ends is left out, because the same file goes on to a later end. Where the rest is long, or more than letters and
    numbers, a hash stands in its place.
    """
    p, network = parameters, NETWORK.name
    usual = Parameters(k=p.k, model=p.model).model_dump(mode="json")
    fields = {name: value for name, value in p.model_dump(mode="json").items() if value != usual[name]}
    canonical = {name: value for name, value in canonical_options(p, method, seed, options).items() if name not in FREE}
    integrator = canonical.pop("integrator", "")
    rest = "".join(f"-{name}{value}" for name, value in (fields | canonical).items())
    if len(rest) > _LONGEST_REST or not re.fullmatch(r"[\w.+-]*", rest, re.ASCII):
        rest = f"-{hashlib.sha256(json.dumps([fields, canonical], sort_keys=True).encode()).hexdigest()[:10]}"
    parts = ["mvsim", *([] if p.model == network else [p.model]), f"k{p.k}", method, *([integrator] if integrator else []), f"seed{seed}"]
    return f"{'-'.join(parts)}{rest}.nc"


def what_differs(provenance: Mapping[str, Any], parameters: Parameters, method: str, seed: int, options: Mapping[str, Any]) -> str | None:
    """Return in what a run file differs from what is asked for, or None if it holds this run, or goes on from it to a later end.

    The name of a file alone does not show it.
    """
    canonical, stepping = canonical_options(parameters, method, seed, options), provenance["integrator"]
    checked, points = _checked(method, seed, options)
    chosen = INTEGRATORS.get(stepping["name"])
    if chosen is None or chosen.name != integrator_of(parameters, checked, bool(points), chosen.name):
        return "integrator"
    if checked.integrator == AUTO and not chosen.follows_flow:
        return "integrator"
    regularisation = {name: getattr(DEFAULTS, name) for name in ("weight_decay", "label_smoothing")}  # a file has those that are not 0
    kept = {**regularisation, **provenance["options"], chosen.letter: stepping.get(chosen.option)}
    expected = {name: canonical.get(name, getattr(DEFAULTS, name)) for name in RunOptions.model_fields if name in kept and name not in FREE}
    pairs = {
        "parameters": (Parameters(**provenance["parameters"]), parameters),
        "method": (provenance["method"], method),
        "seed": (provenance["seed"], seed),
        "data": (kept.get("data"), canonical.get("data")),
        **{name: (_written(kept[name]), _written(value)) for name, value in expected.items() if value is not None},
    }
    for name, (saved, requested) in pairs.items():
        if saved != requested:
            return name
    end, until = stepping.get("t_end"), canonical.get("t_end")
    return None if until is None or (end is not None and end >= until) else "t_end"


def _written(value: Any) -> Any:
    """Return an option in the one form in which it is compared."""
    plain = _plain(value)
    return {name: inner for name, inner in plain.items() if inner != {}} if isinstance(plain, dict) else plain


LARGEST_INTEGER = 10**300
"""Integers up to this have a float."""


def _plain(value: Any) -> Any:
    """Return a value in JSON types; within laws 1 and 1.0 are the same number."""
    if hasattr(value, "dist"):  # a frozen distribution of scipy.stats
        return _plain({"distribution": value.dist.name, "args": list(value.args), "kwds": value.kwds})
    if isinstance(value, Mapping):
        return {str(name): _inner(one) for name, one in value.items()}
    return [_inner(one) for one in value] if isinstance(value, list | tuple) else value


def _inner(value: Any) -> Any:
    if isinstance(value, int) and abs(value) > LARGEST_INTEGER:
        return value  # of no use in any law; whoever checks it will say so
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else _plain(value)
