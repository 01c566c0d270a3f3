"""A fixed set of runs, and what they come to bit for bit: by that a rewrite of mvsim can be told from a change of what it computes."""

from __future__ import annotations

import hashlib
import itertools
import json
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import h5py

import mvsim

PARTS = (
    "activations", "archive", "data", "diagnostics", "initialisation", "integrators", "intervals", "kernels", "linalg", "losses", "objectives",
    "parameters", "random_streams", "recording", "simulation", "verification",
)  # fmt: skip
"""Packages and modules of mvsim that the runs below, and what `mvsim.verify` says of them, go through."""

Bits = dict[str, dict[str, str]]
"""By name of a run, the digest of each variable of its file and of the verdicts on it."""

DECIDED = ("name", "status", "measured", "bound", "margin", "violated_at", "kind", "number", "part", "count")
"""What a verdict says apart from its wording: statements and details are words."""

LATE = 5e4
"""Time after most escapes of the small runs below."""


class Case(NamedTuple):
    """One run.

    Attributes
    ----------
    parameters : dict
        Fields of `mvsim.Parameters`.
    method : str
        "erm", "midpoint" or "mixup".
    options : dict
        Of `mvsim.simulate`.
    """

    parameters: dict[str, Any]
    method: str
    options: dict[str, Any]


def cases() -> dict[str, Case]:
    """Return all runs by name: each method, kernel and integrator, with and without neurons at rest, at moderate d and at d = k^20."""
    small: dict[str, Any] = {"k": 3, "m": 4, "d": 60, "N": 24, "P": 27}
    found = {
        "erm, k = 4": Case({"k": 4}, "erm", {}),
        "midpoint, k = 4": Case({"k": 4}, "midpoint", {}),
        "erm, k = 4, d = k^20": Case({"k": 4, "d": 4**20}, "erm", {}),
        "midpoint, k = 4, d = k^20": Case({"k": 4, "d": 4**20}, "midpoint", {"t_end": 3e34}),
        "erm, k = 12": Case({"k": 12}, "erm", {}),
        "erm, k = 20": Case({"k": 20}, "erm", {}),
        "midpoint, k = 20, several escapes": Case({"k": 20}, "midpoint", {"t_end": 3e6}),
        "erm, k = 26, neurons at rest": Case({"k": 26}, "erm", {"t_end": 2e5}),
        "midpoint, k = 10, two escapes": Case({"k": 10}, "midpoint", {"t_end": 1e7}),
        "erm, linear": Case({"k": 3, "model": "linear", "d": 60, "N": 24}, "erm", {"t_end": 1e6}),
        "midpoint, linear": Case({"k": 3, "model": "linear", "d": 60, "N": 24}, "midpoint", {"t_end": 1e6}),
        "mixup": Case(small, "mixup", {"nodes": 3, "t_end": LATE}),
        "mixup, drawn once": Case(small, "mixup", {"nodes": 3, "pairs": 50, "t_end": LATE}),
        "mixup, drawn each step": Case(small, "mixup", {"integrator": "gd", "pairs": 50, "redraw": "each step", "eta": 5.0, "t_end": 2e4}),
        "erm, numpy": Case(small, "erm", {"backend": "numpy", "t_end": LATE}),
        "midpoint, array": Case(small, "midpoint", {"backend": "array", "t_end": LATE}),
    }
    for method in ("erm", "midpoint"):
        found[f"{method}, to a time"] = Case(small, method, {"t_end": 2.5e4, "rtol": 1e-5})
        found[f"{method}, gradient descent"] = Case(small, method, {"integrator": "gd", "eta": 3.0, "t_end": 6e3})
        found[f"{method}, cvode"] = Case(small, method, {"integrator": "cvode"})
        for noise, layout in itertools.product(("point", "patch"), ("fixed", "random")):
            data = {"noise": noise, "signal_layout": layout}
            found[f"{method}, noise of each {noise}, {layout}"] = Case({**small, **data}, method, {"t_end": LATE})
        for alpha, t_end in ((1.0, 0.05), (2.0, 20.0), (3.3, 500.0)):
            found[f"{method}, alpha = {alpha:g}"] = Case({**small, "alpha": alpha}, method, {"t_end": t_end})
    return found


def bits(case: Case) -> dict[str, str]:
    """Make a run, judge it, and return the digest of each variable that was saved and of the verdicts, whatever their wording."""
    with tempfile.TemporaryDirectory() as folder:
        file, ended = Path(folder) / "run.nc", "at its end"
        try:
            mvsim.simulate(mvsim.Parameters(**case.parameters), case.method, out=file, threads=1, **case.options)
        except (mvsim.DivergedError, mvsim.StalledError) as error:
            ended = type(error).__name__
        if ended != "at its end":
            return {"ended": ended} | variables_of(file)
        said = json.dumps([{name: verdict.as_dict()[name] for name in DECIDED} for verdict in mvsim.verify(file)], sort_keys=True)
        told = json.dumps([mvsim.open_run(file).provenance[name] for name in ("settled", "faithful_eta")])
        return {"ended": ended, "verdicts": _digest(said.encode()), "provenance": _digest(told.encode())} | variables_of(file)


def different(one: Bits, other: Bits) -> list[str]:
    """Return where two sets of digests differ, each run with the variables that do."""
    found = []
    for run in sorted(one.keys() | other.keys()):
        first, second = one.get(run, {}), other.get(run, {})
        parts = [name for name in sorted(first.keys() | second.keys()) if first.get(name) != second.get(name)]
        found += [f"{run}: {', '.join(parts)}"] if parts else []
    return found


def variables_of(file: Path) -> dict[str, str]:
    """Return the digest of each variable of a run file."""
    found: dict[str, str] = {}

    def look(name: str, one: Any) -> None:
        if isinstance(one, h5py.Dataset):
            found[name] = _digest(f"{one.dtype} {one.shape}".encode() + one[()].tobytes())

    if file.exists():
        with h5py.File(file, "r") as opened:
            opened.visititems(look)
    return found


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
