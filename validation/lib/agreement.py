"""Several studies may speak of the same run: what they say has to agree."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import mvsim


class Number(NamedTuple):
    """A number that a passage states of a run."""

    run: str
    quantity: str
    value: float


def run_name(parameters: Mapping[str, Any], method: str, seed: int = 0, rtol: float = 1e-3, t_end: float | None = None) -> str:
    """Return a name that is the same for the same run of the gradient flow, however its parameters were given.

    Parameters
    ----------
    parameters : mapping
        Fields of `mvsim.Parameters`; those left out have their defaults.
    method : str
        "erm" or "midpoint".
    seed : int
        Of data and initial weights.
    rtol : float
        Tolerance; the default is that of `mvsim.simulate`.
    t_end : float, optional
        Where the run ends; None if that is where it has settled.
    """
    fields = mvsim.Parameters(**parameters).model_dump(mode="json")
    return f"{method}, seed {seed}, rtol {rtol:g}, to {t_end or 'the settled state'}: {json.dumps(fields, sort_keys=True)}"


def contradictions(stated: Mapping[str, Iterable[Number]]) -> list[str]:
    """Return in which numbers two studies differ, given what each study states."""
    first: dict[tuple[str, str], tuple[str, float]] = {}
    different = []
    for study, numbers in stated.items():
        for number in numbers:
            other, value = first.setdefault((number.run, number.quantity), (study, number.value))
            if value != number.value:
                different.append(f"{number.quantity}: {value} in {other}, {number.value} in {study}, of the run {number.run}")
    return different
